// Finds a Temporal server to run, or gets one: on PATH, in the user's cache folder, by the SDK's own downloader, or by
// building the pinned version with Go. So that it works online without Go, and offline with a Go module proxy.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { acquireLock } from './lockFile.mjs';

/** The version in tools/temporal/go.mod. Newer tags carry a `replace` and cannot be built as a module. */
export const TEMPORAL_CLI_VERSION = '1.5.1';

/** The first server with the update, user metadata and worker versioning that the flows use. */
const SERVER_MINOR_MIN = 28;

/**
 * The first server whose embedded database survives calls that are given up while it works on them: before, one of them
 * could leave the only connection answering `interrupted (9)` until the server was started again.
 */
const SERVER_MINOR_STEADY = 31;

const UNSTEADY =
  'can stop working under heavy load; `npm start` then starts it again. Temporal CLI 1.7 or newer does not, nor does a build with Go.';

/** A download that brings nothing for this long is given up: offline, a start must not hang. */
const DOWNLOAD_STALLED_MS = 15_000;
const DOWNLOAD_MAX_MS = 10 * 60_000;
const PROGRESS_MS = 5_000;

const MODULE_FOLDER = fileURLToPath(new URL('../tools/temporal', import.meta.url));
const DOWNLOADER = fileURLToPath(new URL('./downloadTemporal.ts', import.meta.url));
const PROGRAM = 'temporal';

const run = promisify(execFile);

interface FindOptions {
  say: (line: string) => void;
  /** The user's cache folder unless told otherwise. */
  cacheFolder?: string;
  environment?: NodeJS.ProcessEnv;
  /** The ways to get one that is not there yet, in order. Tests bring their own. */
  ways?: { name: string; get: (target: string, options: { say: (line: string) => void }) => Promise<void> }[];
}

/** The path of a Temporal CLI that can run a server. Throws an error that names every way when there is none. */
export async function findTemporal(options: FindOptions): Promise<string> {
  const environment = options.environment ?? process.env;
  const onPath = await usableOnPath(environment, options.say);
  if (onPath !== undefined) return onPath;

  const cache = options.cacheFolder ?? userCacheFolder(environment);
  const cached = path.join(cache, cacheFolderName(), PROGRAM);
  if (isProgram(cached)) return cached;

  const giveBack = await acquireLock(path.join(cache, 'temporal.lock'), () => {
    options.say('Another command is getting Temporal; waiting for it.');
  });
  // One name, ours while we hold the lock: what a killed build left is gone before the next.
  const workshop = path.join(cache, 'temporal-unfinished');
  const removeWorkshop = () => rmSync(workshop, { recursive: true, force: true });
  process.once('exit', removeWorkshop);
  try {
    removeWorkshop();
    mkdirSync(workshop);
    if (isProgram(cached)) return cached;
    const failures: string[] = [];
    for (const way of options.ways ?? [
      { name: 'the download', get: download },
      { name: 'the build with Go', get: build },
    ]) {
      const made = path.join(workshop, PROGRAM);
      try {
        await way.get(made, { say: options.say });
        mkdirSync(path.dirname(cached), { recursive: true });
        // Appears whole or not at all, whoever looks and whenever this is killed.
        renameSync(made, cached);
        return cached;
      } catch (error) {
        const reason = (error as Error).message;
        options.say(`Temporal: ${way.name} did not work.`);
        failures.push(`  ${way.name}: ${reason}`);
      }
    }
    throw new Error(
      [
        'There is no Temporal server on this machine and none could be fetched or built:',
        ...failures,
        'Any one of these helps; then run the same command again:',
        '  - set TEMPORAL_ADDRESS to a Temporal server that runs already, such as 127.0.0.1:7233',
        '  - install the Temporal CLI, so that `temporal` is on PATH (https://docs.temporal.io/cli)',
        '  - let this machine reach https://temporal.download',
        `  - install Go 1.25 or newer with a reachable module proxy: the pinned version is then built, once, in a few minutes`,
      ].join('\n'),
    );
  } finally {
    removeWorkshop();
    process.off('exit', removeWorkshop);
    giveBack();
  }
}

/**
 * The folder of the pinned program in the cache. It changes with the version and with every pinned module, so that a build
 * of older dependencies is not used any more.
 */
export function cacheFolderName(moduleFolder = MODULE_FOLDER): string {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(path.join(moduleFolder, file)));
  const pinned = hash.digest('hex').slice(0, 12);
  return `temporal-cli-${TEMPORAL_CLI_VERSION}-${pinned}-${process.platform}-${process.arch}`;
}

function userCacheFolder(environment: NodeJS.ProcessEnv): string {
  const base =
    environment.XDG_CACHE_HOME ??
    (process.platform === 'darwin' ? path.join(homedir(), 'Library', 'Caches') : undefined) ??
    path.join(homedir(), '.cache');
  const folder = path.join(base, 'manilla');
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    // A home that cannot be written to, as in some build machines: keep it with the project.
    return fileURLToPath(new URL('../.cache', import.meta.url));
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

async function usableOnPath(environment: NodeJS.ProcessEnv, say: FindOptions['say']): Promise<string | undefined> {
  const folders = (environment.PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const found = folders.map((folder) => path.join(folder, PROGRAM)).find(isProgram);
  if (found === undefined) return undefined;
  try {
    const { stdout } = await run(found, ['--version'], { timeout: 10_000 });
    const [, major, minor] = /Server (\d+)\.(\d+)/.exec(stdout) ?? [];
    if (Number(major) > 1 || Number(minor) >= SERVER_MINOR_STEADY) return found;
    if (Number(minor) >= SERVER_MINOR_MIN) {
      say(`${found} (server ${major}.${minor}) ${UNSTEADY}`);
      return found;
    }
    say(`${found} is too old (${stdout.trim()}); a server 1.${SERVER_MINOR_MIN} or newer is needed. Looking further.`);
  } catch (error) {
    say(`${found} does not run (${(error as Error).message.split('\n')[0]}). Looking further.`);
  }
  return undefined;
}

/** The SDK's downloader, in a process of its own: it cannot be called off otherwise. */
async function download(target: string, { say }: { say: FindOptions['say'] }): Promise<void> {
  const folder = path.dirname(target);
  say(`Temporal: downloading version ${TEMPORAL_CLI_VERSION}, once.`);
  const child = spawn(process.execPath, [DOWNLOADER, folder, `v${TEMPORAL_CLI_VERSION}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: folder,
  });
  let bytes = 0;
  let movedAt = Date.now();
  const started = Date.now();
  let stalled = false;
  const watch = setInterval(() => {
    const now = folderBytes(folder);
    if (now !== bytes) movedAt = Date.now();
    bytes = now;
    stalled = Date.now() - movedAt > DOWNLOAD_STALLED_MS || Date.now() - started > DOWNLOAD_MAX_MS;
    if (stalled) child.kill('SIGKILL');
  }, 1_000);
  const progress = setInterval(() => say(`  ${Math.round(bytes / 1e6)} MB so far`), PROGRESS_MS);
  try {
    await succeeds(child);
    const made = readdirSync(folder).map((name) => path.join(folder, name));
    const program = made.find((file) => path.basename(file).startsWith('temporal') && isProgram(file));
    if (program === undefined) throw new Error('the downloader left no program');
    renameSync(program, target);
    say(`Temporal: the downloaded version ${TEMPORAL_CLI_VERSION} ${UNSTEADY}`);
  } catch (error) {
    throw stalled ? new Error('nothing came from https://temporal.download') : error;
  } finally {
    clearInterval(watch);
    clearInterval(progress);
  }
}

function folderBytes(folder: string): number {
  return readdirSync(folder).reduce(
    (sum, name) => sum + (statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

async function build(target: string, { say }: { say: FindOptions['say'] }): Promise<void> {
  const go = await run('go', ['version']).catch(() => {
    throw new Error('Go is not installed');
  });
  const started = Date.now();
  say(
    `Temporal: building version ${TEMPORAL_CLI_VERSION} with ${go.stdout.split(' ')[2]}, once; 3 to 6 minutes on two cores.`,
  );
  const version = `-X github.com/temporalio/cli/temporalcli.Version=${TEMPORAL_CLI_VERSION}`;
  const flags = ['-v', '-mod=readonly', '-buildvcs=false', `-ldflags=-s -w ${version}`];
  const child = spawn('go', ['build', ...flags, '-o', target, 'github.com/temporalio/cli/cmd/temporal'], {
    cwd: MODULE_FOLDER,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let lines = 0;
  if (child.stderr) createInterface({ input: child.stderr }).on('line', () => lines++);
  const progress = setInterval(() => {
    say(`  ${Math.round((Date.now() - started) / 1000)} s so far, ${lines} packages fetched or compiled`);
  }, PROGRESS_MS);
  try {
    await succeeds(child);
    say(`Temporal: built in ${Math.round((Date.now() - started) / 1000)} s.`);
  } finally {
    clearInterval(progress);
  }
}

/** Resolves when the process ends well; throws with the last of what it said otherwise. Ends it when we end. */
function succeeds(child: ChildProcess): Promise<void> {
  const end = () => child.kill('SIGTERM');
  process.once('exit', end);
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-2_000);
  });
  return new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else
        reject(new Error(said.trim().split('\n').slice(-3).join('\n    ') || `ended with ${signal ?? `code ${code}`}`));
    });
  }).finally(() => process.off('exit', end));
}
