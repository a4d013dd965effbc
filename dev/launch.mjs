// The launcher of every npm script: `node dev/launch.mjs dev/start.ts`. It installs the dependencies, which include
// Node 24 on Linux, when they are missing or differ from package-lock.json, and meanwhile fetches Temporal for commands
// that run it. Then it runs the arguments with that Node. Plain JavaScript for the Node of the machine (18 or newer),
// because it runs before anything is installed.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { acquireLock } from './lockFile.mjs';
import { findTemporal, megabytesIn } from './temporalInstall.mjs';

const nodeMajorMin = 18;
// npm 9 is the first that leaves registry hosts out of package-lock.json and still installs from it.
const npmMajorMin = 9;
/** In node_modules; a third of it is downloaded. */
const installedMegabytes = (/** @type {boolean} */ withTools) => (withTools ? 850 : 600);
/** What the project runs on. */
const ownNodeMajor = 24;

/** The commands that run without the packages of tests and checks (devDependencies). */
export const needNoTools = ['dev/start.ts', 'dev/example.ts', 'dev/demo.ts', 'dev/reset.ts', 'src/cli/main.ts'];

/** The commands that run a Temporal server. */
const needTemporal = ['dev/start.ts', 'jest'];

/**
 * The Node that the project runs on: of the package for this system, or of the machine where there is none, as on
 * macOS.
 * @param {string} root
 * @returns {string | undefined}
 */
function ownNode(root) {
  const file = path.join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (existsSync(file)) return file;
  const isEnough = Number.parseInt(process.versions.node, 10) >= ownNodeMajor;
  return isEnough && process.platform !== 'linux' ? process.execPath : undefined;
}

/**
 * Returns the first package of package-lock.json that is missing or installed in another version, or undefined when all
 * that are needed are installed, with tools the devDependencies too. Compares contents, because a checkout updates the
 * modification time of an unchanged file.
 * @param {string} root
 * @param {boolean} withTools
 * @returns {string | undefined}
 */
export function reasonToInstall(root, withTools = true) {
  const installed = installedPackages(root);
  if (installed === undefined) return 'the dependencies are not installed yet';
  const { packages: wanted } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'));
  for (const [where, entry] of Object.entries(wanted)) {
    if (where === '' || (entry.dev && !withTools)) continue;
    const found = installed[where];
    // npm skips optional packages that are built for another platform, and silently one whose download was cut off.
    if (found === undefined && entry.optional && !isBuiltForHere(entry)) continue;
    if (found === undefined) return `${where} is missing`;
    if (found.version !== entry.version) return `${where} is ${found.version}, package-lock.json says ${entry.version}`;
  }
  return ownNode(root) === undefined ? `Node ${ownNodeMajor} is missing` : undefined;
}

/**
 * @param {string} root
 * @returns {Record<string, { version: string, dev?: boolean }> | undefined} undefined before the first installation
 */
function installedPackages(root) {
  const file = path.join(root, 'node_modules', '.package-lock.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : undefined;
}

/** @param {string} root */
const hasTools = (root) => Object.values(installedPackages(root) ?? {}).some(({ dev }) => dev);

/** @type {string | undefined} */
let ownLibc;

function readLibc() {
  const { header } = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  return header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/**
 * Whether the package is built for this platform, and not for another one or for all.
 * @param {{ os?: string | string[], cpu?: string | string[], libc?: string | string[] }} entry of package-lock.json
 */
function isBuiltForHere({ os, cpu = process.arch, libc = [] }) {
  if (![os].flat().includes(process.platform) || ![cpu].flat().includes(process.arch)) return false;
  if (libc.length === 0) return true;
  ownLibc ??= readLibc();
  return [libc].flat().includes(ownLibc);
}

/**
 * Returns why this machine cannot install the dependencies, or undefined when it can.
 * @param {string} nodeVersion
 * @param {string | undefined} npmUserAgent the `npm_config_user_agent` of npm scripts, such as
 *   `npm/11.5.0 node/v20.20.2 …`
 * @returns {string | undefined}
 */
export function reasonNotToInstall(nodeVersion, npmUserAgent, platform = process.platform) {
  if (Number.parseInt(nodeVersion, 10) < nodeMajorMin) {
    return `Installing requires Node ${nodeMajorMin} or newer (the service then runs on its own Node 24); this is Node ${nodeVersion}.`;
  }
  if (platform === 'darwin' && Number.parseInt(nodeVersion, 10) < ownNodeMajor) {
    return `On macOS, Node ${ownNodeMajor} or newer is needed; this is Node ${nodeVersion}.`;
  }
  const npm = /\bnpm\/(\d+)\S*/.exec(npmUserAgent ?? '');
  if (npm?.[1] !== undefined && Number(npm[1]) < npmMajorMin) {
    return `npm ${npmMajorMin} or newer is needed; this is ${npm[0].replace('/', ' ')}. Run \`npm install --global npm@${npmMajorMin}\`.`;
  }
  return undefined;
}

/**
 * PATH without this project's node_modules/.bin: npm must not run on the Node binary that it is about to replace.
 * @param {string} root
 */
function pathOutside(root) {
  const own = path.join(root, 'node_modules');
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return folders.filter((folder) => !folder.startsWith(own)).join(path.delimiter);
}

/**
 * @param {string} root
 * @param {boolean} withTools
 * @returns {Promise<void>}
 */
function install(root, withTools) {
  return new Promise((resolve, reject) => {
    const started = Date.now();
    const env = { ...process.env, PATH: pathOutside(root) };
    const { npm_node_execpath: npmNode, npm_execpath: npm } = process.env;
    // Without warnings: packages run on the project's Node, not on the one that installs them.
    const flags = [...npmCommand(root, withTools), '--loglevel=error'];
    const child =
      npmNode && npm?.endsWith('npm-cli.js') && !npmNode.startsWith(path.join(root, 'node_modules'))
        ? spawn(npmNode, [npm, ...flags], { cwd: root, env, stdio: 'inherit' })
        : spawn('npm', flags, { cwd: root, env, stdio: 'inherit' });
    // Ctrl-C reaches the whole process group; a signal sent to this process only has to be passed on to npm.
    process.once('exit', () => child.kill('SIGTERM'));
    // npm shows progress only on a terminal, and a first install takes a minute: print progress elsewhere.
    const progress = setInterval(() => {
      if (process.stdout.isTTY) return;
      const megabytes = megabytesIn(path.join(root, 'node_modules'));
      const seconds = Math.round((Date.now() - started) / 1000);
      console.log(`  still installing: ${megabytes} of about ${installedMegabytes(withTools)} MB, ${seconds} s so far`);
    }, 10_000);
    child.on('error', (error) => {
      clearInterval(progress);
      reject(error);
    });
    child.on('exit', (code, signal) => {
      clearInterval(progress);
      if (code === 0) resolve();
      else reject(new Error(`npm ${flags[0]} ${signal ? `was killed by ${signal}` : `exited with code ${code}`}`));
    });
  });
}

/**
 * If only tools are missing, they are added: `npm ci` would first remove what a running `npm start` uses.
 * @param {string} root
 * @param {boolean} withTools
 */
function npmCommand(root, withTools) {
  if (!withTools) return ['ci', '--omit=dev'];
  const isAddition = !hasTools(root) && reasonToInstall(root, false) === undefined;
  return isAddition ? ['install', '--no-save'] : ['ci'];
}

/**
 * Installs with npm if that would change anything. Throws when it fails.
 * @param {string} root
 * @param {string[]} words of the command
 */
async function ensureInstalled(root, words) {
  const withTools = !needNoTools.includes(words[0] ?? '') || hasTools(root);
  if (reasonToInstall(root, withTools) === undefined) return;
  const refusal = reasonNotToInstall(process.versions.node, process.env.npm_config_user_agent);
  if (refusal) throw new Error(refusal);
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
  // `npm start` and `npm test`, run concurrently on a fresh clone, must not install into the same folder at the same
  // time.
  const releaseLock = await acquireLock(path.join(root, '.cache', 'install.lock'), () => {
    console.log('Another command is installing the dependencies; waiting for it.');
  });
  try {
    const reason = reasonToInstall(root, withTools);
    if (reason === undefined) return;
    console.log(
      `Installing dependencies (${reason}); about ${installedMegabytes(withTools)} MB, in about half a minute …`,
    );
    await Promise.all([install(root, withTools), prefetchTemporal(words)]);
    const remaining = reasonToInstall(root, withTools);
    if (remaining) {
      throw new Error(
        `npm succeeded, but ${remaining}. If optional packages are left out (npm config get omit), include them.`,
      );
    }
    console.log('Dependencies installed.');
  } finally {
    releaseLock();
  }
}

/**
 * Fetches Temporal for a command that will run it, which reports it if this fails.
 * @param {string[]} words of the command
 */
async function prefetchTemporal([command = '', ...options]) {
  if (!needTemporal.includes(command) || options.includes('--build-temporal') || process.env.TEMPORAL_ADDRESS) return;
  await findTemporal({ say: (line) => console.log(line), build: 'never' }).catch(() => {});
}

/**
 * What Jest runs with. Its many modules fill a large young generation, which one thread collects, as the other cores
 * run other test files. The old generation is not collected before it has 600 MB, which it hardly ever has.
 */
const JEST = [
  '--max-semi-space-size=64',
  '--no-parallel-scavenge',
  '--initial-heap-size=600',
  'node_modules/jest/bin/jest.js',
];

/**
 * Runs the project's Node with the arguments, in place of this process where its Node can do that, so that signals,
 * exit code and parent are those of the command. An older Node, which has just installed Node 24, runs it as a child.
 * @param {string} root
 * @param {string[]} words `jest` as the first stands for JEST
 */
function run(root, [first = '', ...rest]) {
  const node = ownNode(root) ?? process.execPath;
  const args = [...(first === 'jest' ? JEST : [first]), ...rest];
  if (typeof process.execve === 'function') process.execve(node, [node, ...args], process.env);
  const child = spawn(node, args, { stdio: 'inherit' });
  // Ctrl-C reaches both; a signal that is sent to this process only has to be passed on.
  process.on('SIGINT', () => {});
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP'])) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 128 + constants.signals[signal]));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const words = process.argv.slice(2);
  try {
    await ensureInstalled(root, words);
    if (words.length > 0) run(root, words);
  } catch (error) {
    console.error(`Cannot install the dependencies: ${/** @type {Error} */ (error).message}`);
    console.error('Check that the package registry is reachable (npm ping), then run the same command again.');
    process.exitCode = 1;
  }
}
