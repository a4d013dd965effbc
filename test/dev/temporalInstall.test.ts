// Where a Temporal server comes from: the order of the ways, and that each is clean. Programs are stand-ins here.
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { cacheFolderName, findTemporal, TEMPORAL_CLI_VERSION } from '../../dev/temporalInstall.ts';
import { temporaryFolder } from './temporaryFolder.ts';

type Way = NonNullable<Parameters<typeof findTemporal>[0]['sources']>[number];

const NEW_ENOUGH = 'temporal version 1.7.2 (Server 1.31.1, UI 2.49.1)';
/** Its embedded database is one that can lock up. */
const UNSTEADY = 'temporal version 1.6.2 (Server 1.30.2, UI 2.45.3)';
const TOO_OLD = 'temporal version 1.1.2 (Server 1.25.2, UI 2.31.2)';

function program(folder: string, says: string): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, 'temporal');
  writeFileSync(file, `#!/bin/sh\necho '${says}'\n`, { mode: 0o755 });
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

/** Looks for Temporal with a cache folder and a PATH of its own. */
function finder(options: { onPath?: string; ways?: Way[]; cacheFolder?: string } = {}) {
  const cacheFolder = options.cacheFolder ?? temporaryFolder();
  const said: string[] = [];
  const bin = temporaryFolder();
  if (options.onPath !== undefined) program(bin, options.onPath);
  const find = () =>
    findTemporal({
      cacheFolder,
      say: (line) => said.push(line),
      environment: { PATH: `${bin}:relative/folder` },
      sources: options.ways ?? [],
    });
  return { find, said, bin, cacheFolder };
}

test('a `temporal` on PATH comes first', async () => {
  const calls: string[] = [];
  const { find, bin, said } = finder({ onPath: NEW_ENOUGH, ways: [works('download', calls)] });
  expect(await find()).toBe(path.join(bin, 'temporal'));
  expect(calls).toEqual([]);
  expect(said).toEqual([]);
});

test('one on PATH whose database can lock up under load is used, with a warning of one line', async () => {
  const { find, bin, said } = finder({ onPath: UNSTEADY });
  expect(await find()).toBe(path.join(bin, 'temporal'));
  expect(said).toEqual([expect.stringMatching(/server 1\.30.* can stop working under heavy load.*CLI 1\.7 or newer/)]);
});

test('one on PATH that is too old is passed over, and it is said', async () => {
  const { find, said, cacheFolder } = finder({ onPath: TOO_OLD, ways: [works('download', [])] });
  expect(await find()).toContain(cacheFolder);
  expect(said.join('\n')).toContain('is too old');
});

test('one on PATH that does not run is passed over, and it is said', async () => {
  const { find, said, bin, cacheFolder } = finder({ onPath: '', ways: [works('download', [])] });
  writeFileSync(path.join(bin, 'temporal'), '#!/bin/sh\nexit 3\n');
  expect(await find()).toContain(cacheFolder);
  expect(said.join('\n')).toContain('does not run');
});

test('what was fetched once is found in the cache ever after', async () => {
  const calls: string[] = [];
  const { find } = finder({ ways: [works('download', calls)] });
  const first = await find();
  expect(await find()).toBe(first);
  expect(calls).toEqual(['download']);
});

test('the ways are tried in order until one works', async () => {
  const calls: string[] = [];
  const { find } = finder({ ways: [fails('download', calls), works('build', calls)] });
  expect(readFileSync(await find(), 'utf8')).toContain('build');
  expect(calls).toEqual(['download', 'build']);
});

test('when none works, one error names each way and why it failed', async () => {
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

test('two that look at once fetch once', async () => {
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

test('what a killed build left is swept away by the next', async () => {
  const { find, cacheFolder } = finder({ ways: [works('build', [])] });
  const unfinished = path.join(cacheFolder, 'temporal-unfinished');
  mkdirSync(unfinished);
  writeFileSync(path.join(unfinished, 'half-a-program'), '');
  await find();
  expect(existsSync(unfinished)).toBe(false);
});

test.each(['go.mod', 'go.sum'])('the cached program is another one when %s pins something else', (changed) => {
  const pinned = fileURLToPath(new URL('../../tools/temporal', import.meta.url));
  const folder = temporaryFolder();
  for (const file of ['go.mod', 'go.sum']) copyFileSync(path.join(pinned, file), path.join(folder, file));
  expect(cacheFolderName(folder)).toBe(cacheFolderName());
  appendFileSync(path.join(folder, changed), '\n');
  expect(cacheFolderName(folder)).not.toBe(cacheFolderName());
});

test('the embedded database is one that survives calls that are given up, with the C library it was tested with', () => {
  const goMod = readFileSync(fileURLToPath(new URL('../../tools/temporal/go.mod', import.meta.url)), 'utf8');
  const versionOf = (module: string) => new RegExp(`${module} v(\\S+)`).exec(goMod)?.[1];
  expect([versionOf('modernc.org/sqlite'), versionOf('modernc.org/libc')]).toEqual(['1.51.0', '1.72.3']);
});

test('the version that is built is the version that is looked for', () => {
  const goMod = readFileSync(fileURLToPath(new URL('../../tools/temporal/go.mod', import.meta.url)), 'utf8');
  expect(goMod).toContain(`github.com/temporalio/cli v${TEMPORAL_CLI_VERSION}`);
  expect(goMod).toContain('tool github.com/temporalio/cli/cmd/temporal');
});
