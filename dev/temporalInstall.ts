// Finds or installs a Temporal CLI, in this order: on PATH, in the user's cache folder, by the SDK's downloader, or by
// building the pinned version with Go. This covers machines with internet access but without Go, and machines that
// reach only a Go module proxy.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { acquireLock } from './lockFile.mjs';

/** The version in tools/temporal/go.mod. Newer tags have a `replace` directive and cannot be built as a module. */
export const TEMPORAL_CLI_VERSION = '1.5.1';

/** The first server with the workflow updates, user metadata and worker versioning that the flows use. */
const SERVER_MINOR_MIN = 28;

/**
 * The first server whose embedded SQLite survives calls that are cancelled while it executes them. In older servers a
 * cancelled call can leave the only connection in a state where it returns `interrupted (9)` until the server restarts.
 */
const SERVER_MINOR_STABLE = 31;

const UNSTABLE =
  'can stop working under heavy load; `npm start` then restarts it. Temporal CLI 1.7 or newer and a build with Go are not affected.';

/** A download without progress for this long is killed, so that a start without internet access does not hang. */
const DOWNLOAD_STALLED_MS = 15_000;
const DOWNLOAD_MAX_MS = 10 * 60_000;
const PROGRESS_MS = 5_000;

const MODULE_FOLDER = fileURLToPath(new URL('../tools/temporal', import.meta.url));
const DOWNLOADER = fileURLToPath(new URL('./downloadTemporal.ts', import.meta.url));
const PROGRAM = 'temporal';

const run = promisify(execFile);

interface FindOptions {
  say: (line: string) => void;
  /** Default: the user's cache folder. */
  cacheFolder?: string;
  environment?: NodeJS.ProcessEnv;
  /** Where to get a CLI that is not installed, in order. Set by tests. */
  sources?: { name: string; get: (target: string, options: { say: (line: string) => void }) => Promise<void> }[];
}

/**
 * Returns the path of a Temporal CLI that can run a server. Throws an error that lists every failed source and the
 * remedies.
 */
export async function findTemporal(options: FindOptions): Promise<string> {
  const environment = options.environment ?? process.env;
  const onPath = await usableOnPath(environment, options.say);
  if (onPath !== undefined) return onPath;

  const cache = options.cacheFolder ?? userCacheFolder(environment);
  const cached = path.join(cache, cacheFolderName(), PROGRAM);
  if (isProgram(cached)) return cached;

  const releaseLock = await acquireLock(path.join(cache, 'temporal.lock'), () => {
    options.say('Another command is installing Temporal; waiting for it.');
  });
  // A fixed name, used only while the lock is held: leftovers of a killed build are removed before the next one.
  const stagingFolder = path.join(cache, 'temporal-unfinished');
  const removeStagingFolder = () => rmSync(stagingFolder, { recursive: true, force: true });
  process.once('exit', removeStagingFolder);
  try {
    removeStagingFolder();
    mkdirSync(stagingFolder);
    if (isProgram(cached)) return cached;
    const failures: string[] = [];
    for (const source of options.sources ?? [
      { name: 'the download', get: download },
      { name: 'the build with Go', get: build },
    ]) {
      const staged = path.join(stagingFolder, PROGRAM);
      try {
        await source.get(staged, { say: options.say });
        mkdirSync(path.dirname(cached), { recursive: true });
        // rename(2) is atomic: the cache never contains an incomplete program.
        renameSync(staged, cached);
        return cached;
      } catch (error) {
        const reason = (error as Error).message;
        options.say(`Temporal: ${source.name} failed.`);
        failures.push(`  ${source.name}: ${reason}`);
      }
    }
    throw new Error(
      [
        'No Temporal server is installed on this machine, and none could be downloaded or built:',
        ...failures,
        'Do one of the following, then run the same command again:',
        '  - set TEMPORAL_ADDRESS to a running Temporal server, such as 127.0.0.1:7233',
        '  - install the Temporal CLI, so that `temporal` is on PATH (https://docs.temporal.io/cli)',
        '  - give this machine access to https://temporal.download',
        '  - install Go 1.25 or newer with a reachable module proxy: the pinned version is then built, once, in a few minutes',
      ].join('\n'),
    );
  } finally {
    removeStagingFolder();
    process.off('exit', removeStagingFolder);
    releaseLock();
  }
}

/**
 * The cache folder of the pinned program. The name changes with the version and with every pinned module, so that a
 * build with older dependencies is not used.
 */
export function cacheFolderName(moduleFolder = MODULE_FOLDER): string {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(path.join(moduleFolder, file)));
  const pinned = hash.digest('hex').slice(0, 12);
  return `temporal-cli-${TEMPORAL_CLI_VERSION}-${pinned}-${process.platform}-${process.arch}`;
}

export function userCacheFolder(environment: NodeJS.ProcessEnv): string {
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
    // The home directory is read-only, as on some build machines: use a folder of the project.
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
    if (Number(major) > 1 || Number(minor) >= SERVER_MINOR_STABLE) return found;
    if (Number(minor) >= SERVER_MINOR_MIN) {
      say(`${found} (server ${major}.${minor}) ${UNSTABLE}`);
      return found;
    }
    say(`${found} is too old (${stdout.trim()}); a server 1.${SERVER_MINOR_MIN} or newer is needed. Looking further.`);
  } catch (error) {
    say(`${found} does not run (${(error as Error).message.split('\n')[0]}). Looking further.`);
  }
  return undefined;
}

/** Runs the SDK's downloader as a separate process, because it cannot be cancelled otherwise. */
async function download(target: string, { say }: { say: FindOptions['say'] }): Promise<void> {
  const folder = path.dirname(target);
  say(`Temporal: downloading version ${TEMPORAL_CLI_VERSION}, once.`);
  const child = spawn(process.execPath, [DOWNLOADER, folder, `v${TEMPORAL_CLI_VERSION}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: folder,
  });
  let bytes = 0;
  let progressAt = Date.now();
  const started = Date.now();
  let stalled = false;
  const watch = setInterval(() => {
    const now = folderBytes(folder);
    if (now !== bytes) progressAt = Date.now();
    bytes = now;
    stalled = Date.now() - progressAt > DOWNLOAD_STALLED_MS || Date.now() - started > DOWNLOAD_MAX_MS;
    if (stalled) child.kill('SIGKILL');
  }, 1_000);
  const progress = setInterval(() => say(`  ${Math.round(bytes / 1e6)} MB so far`), PROGRESS_MS);
  try {
    await succeeds(child);
    const downloaded = readdirSync(folder).map((name) => path.join(folder, name));
    const program = downloaded.find((file) => path.basename(file).startsWith('temporal') && isProgram(file));
    if (program === undefined) throw new Error('the downloader wrote no program');
    renameSync(program, target);
    say(`Temporal: the downloaded version ${TEMPORAL_CLI_VERSION} ${UNSTABLE}`);
  } catch (error) {
    throw stalled ? new Error('timed out downloading from https://temporal.download') : error;
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

/**
 * Resolves when the process exits with 0, otherwise throws with the tail of its stderr. Ends it when this process
 * exits.
 */
function succeeds(child: ChildProcess): Promise<void> {
  const end = () => child.kill('SIGTERM');
  process.once('exit', end);
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-2_000);
  });
  return new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else
        reject(
          new Error(stderr.trim().split('\n').slice(-3).join('\n    ') || `ended with ${signal ?? `code ${code}`}`),
        );
    });
  }).finally(() => process.off('exit', end));
}
