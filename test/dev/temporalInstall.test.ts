// Where the Temporal server comes from: the order of the sources, and clean-up after each. The programs are stubs.
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { cacheFolderName, findTemporal, TEMPORAL_CLI_VERSION } from '../../dev/temporalInstall.ts';
import { temporaryFolder } from './temporaryFolder.ts';

type Way = NonNullable<Parameters<typeof findTemporal>[0]['sources']>[number];

const NEW_ENOUGH = 'temporal version 1.7.2 (Server 1.31.1, UI 2.49.1)';
/** The embedded database of this version can lock up. */
const UNSTEADY = 'temporal version 1.6.2 (Server 1.30.2, UI 2.45.3)';
const TOO_OLD = 'temporal version 1.1.2 (Server 1.25.2, UI 2.31.2)';

function program(folder: string, output: string): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, 'temporal');
  writeFileSync(file, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });
  return file;
}

const works = (name: string, calls: string[]): Way => ({
  name,
  get: async (target) => {
    calls.push(name);
    program(path.dirname(target), name);
  },
});

const fails = (name: string, calls: string[]): Way => ({
  name,
  get: async () => {
    calls.push(name);
    throw new Error(`no ${name} here`);
  },
});

/** A search for Temporal with its own cache folder and PATH. */
function finder(options: { onPath?: string; ways?: Way[]; cacheFolder?: string } = {}) {
  const cacheFolder = options.cacheFolder ?? temporaryFolder();
  const lines: string[] = [];
  const bin = temporaryFolder();
  if (options.onPath !== undefined) program(bin, options.onPath);
  const find = () =>
    findTemporal({
      cacheFolder,
      say: (line) => lines.push(line),
      environment: { PATH: `${bin}:relative/folder` },
      sources: options.ways ?? [],
    });
  return { find, lines, bin, cacheFolder };
}

test('a `temporal` on PATH is preferred', async () => {
  const calls: string[] = [];
  const { find, bin, lines } = finder({ onPath: NEW_ENOUGH, ways: [works('download', calls)] });
  expect(await find()).toBe(path.join(bin, 'temporal'));
  expect(calls).toEqual([]);
  expect(lines).toEqual([]);
});

test('a `temporal` on PATH whose database can lock up is used with a one-line warning', async () => {
  const { find, bin, lines } = finder({ onPath: UNSTEADY });
  expect(await find()).toBe(path.join(bin, 'temporal'));
  expect(lines).toEqual([expect.stringMatching(/server 1\.30.* can stop working under heavy load.*CLI 1\.7 or newer/)]);
});

test('a `temporal` on PATH that is too old is skipped and reported', async () => {
  const { find, lines, cacheFolder } = finder({ onPath: TOO_OLD, ways: [works('download', [])] });
  expect(await find()).toContain(cacheFolder);
  expect(lines.join('\n')).toContain('is too old');
});

test('a `temporal` on PATH that does not run is skipped and reported', async () => {
  const { find, lines, bin, cacheFolder } = finder({ onPath: '', ways: [works('download', [])] });
  writeFileSync(path.join(bin, 'temporal'), '#!/bin/sh\nexit 3\n');
  expect(await find()).toContain(cacheFolder);
  expect(lines.join('\n')).toContain('does not run');
});

test('a program fetched once is found in the cache later', async () => {
  const calls: string[] = [];
  const { find } = finder({ ways: [works('download', calls)] });
  const first = await find();
  expect(await find()).toBe(first);
  expect(calls).toEqual(['download']);
});

test('the sources are tried in order until one succeeds', async () => {
  const calls: string[] = [];
  const { find } = finder({ ways: [fails('download', calls), works('build', calls)] });
  expect(readFileSync(await find(), 'utf8')).toContain('build');
  expect(calls).toEqual(['download', 'build']);
});

test('if all sources fail, one error names each source and its failure', async () => {
  const { find, cacheFolder } = finder({ ways: [fails('download', []), fails('build', [])] });
  const error = await find().catch((reason: Error) => reason);
  expect(error).toBeInstanceOf(Error);
  for (const part of [
    'no download here',
    'no build here',
    'TEMPORAL_ADDRESS',
    'on PATH',
    'temporal.download',
    'Go 1.25',
  ]) {
    expect(String(error)).toContain(part);
  }
  expect(readdirSync(cacheFolder)).toEqual([]);
});

test('concurrent searches fetch the program once', async () => {
  const calls: string[] = [];
  const cacheFolder = temporaryFolder();
  const slow: Way = {
    name: 'build',
    get: async (target, options) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      await works('build', calls).get(target, options);
    },
  };
  const finders = [1, 2].map(() => finder({ ways: [slow], cacheFolder }));
  const found = await Promise.all(finders.map(({ find }) => find()));
  expect(new Set(found).size).toBe(1);
  expect(calls).toEqual(['build']);
});

test('an unfinished build of a killed process is removed by the next search', async () => {
  const { find, cacheFolder } = finder({ ways: [works('build', [])] });
  const unfinished = path.join(cacheFolder, 'temporal-unfinished');
  mkdirSync(unfinished);
  writeFileSync(path.join(unfinished, 'half-a-program'), '');
  await find();
  expect(existsSync(unfinished)).toBe(false);
});

test.each(['go.mod', 'go.sum'])('the cache folder changes when %s changes', (changed) => {
  const pinned = fileURLToPath(new URL('../../tools/temporal', import.meta.url));
  const folder = temporaryFolder();
  for (const file of ['go.mod', 'go.sum']) copyFileSync(path.join(pinned, file), path.join(folder, file));
  expect(cacheFolderName(folder)).toBe(cacheFolderName());
  appendFileSync(path.join(folder, changed), '\n');
  expect(cacheFolderName(folder)).not.toBe(cacheFolderName());
});

test('the embedded database is a version that survives cancelled calls, with the C library it was tested with', () => {
  const goMod = readFileSync(fileURLToPath(new URL('../../tools/temporal/go.mod', import.meta.url)), 'utf8');
  const versionOf = (module: string) => new RegExp(`${module} v(\\S+)`).exec(goMod)?.[1];
  expect([versionOf('modernc.org/sqlite'), versionOf('modernc.org/libc')]).toEqual(['1.51.0', '1.72.3']);
});

test('the version that is built is the version that is searched for', () => {
  const goMod = readFileSync(fileURLToPath(new URL('../../tools/temporal/go.mod', import.meta.url)), 'utf8');
  expect(goMod).toContain(`github.com/temporalio/cli v${TEMPORAL_CLI_VERSION}`);
  expect(goMod).toContain('tool github.com/temporalio/cli/cmd/temporal');
});
