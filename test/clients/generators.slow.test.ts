// The OpenAPI document with the generators that integrators use most: each makes a client of it, which compiles.
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, jest, test } from '@jest/globals';
import { installPythonPackages } from '../../tools/pythonPackages.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';

// The first run downloads generators and what their clients need.
jest.setTimeout(900_000);

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = path.join(PROJECT, '.cache');
const DOCUMENT = path.join(PROJECT, 'generated/openapi.json');
const TYPESCRIPT = path.join(PROJECT, 'clients/typescript');
const OPENAPI_GENERATOR = '7.25.0';
const OAPI_CODEGEN = 'v2.8.2';
const OAPI_RUNTIME = 'v1.9.0';

/** Runs a program. Returns the end of its output if it fails, and nothing if it does not. */
const failureOf = (program: string, words: readonly string[], cwd: string): Promise<string> =>
  promisify(execFile)(program, words, { cwd, maxBuffer: 2 ** 26 }).then(
    () => '',
    ({ stdout, stderr }: { stdout: string; stderr: string }) =>
      `${program} ${words.join(' ')}\n${stdout.slice(-4_000)}\n${stderr.slice(-4_000)}`,
  );

async function run(program: string, words: readonly string[], cwd: string): Promise<void> {
  const failure = await failureOf(program, words, cwd);
  if (failure !== '') throw new Error(failure);
}

/** The generators of openapi-generator, which is a jar of Maven Central. */
async function openApiGenerator(generator: string, ...options: string[]): Promise<string> {
  const jar = path.join(CACHE, `openapi-generator-cli-${OPENAPI_GENERATOR}.jar`);
  if (!existsSync(jar)) {
    const artifact = `org.openapitools:openapi-generator-cli:${OPENAPI_GENERATOR}`;
    mkdirSync(CACHE, { recursive: true });
    await run('mvn', ['-B', '-q', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${CACHE}`], CACHE);
  }
  const folder = temporaryFolder();
  await run('java', ['-jar', jar, 'generate', '-i', DOCUMENT, '-g', generator, '-o', folder, ...options], folder);
  return folder;
}

const TSC_OPTIONS = '--noEmit --strict --target es2022 --lib es2022,dom --module esnext --moduleResolution bundler';

const compileTypeScript = (folder: string, file: string): Promise<string> => {
  const compiler = path.join(PROJECT, 'node_modules/typescript/bin/tsc');
  return failureOf(process.execPath, [compiler, ...TSC_OPTIONS.split(' '), file], folder);
};

test('typescript-fetch, with an operation for each route', async () => {
  const folder = await openApiGenerator('typescript-fetch');
  expect(await compileTypeScript(folder, 'index.ts')).toBe('');
  const apis = globSync('apis/*.ts', { cwd: folder }).map((file) => readFileSync(path.join(folder, file), 'utf8'));
  const document = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const operations = Object.values(document.paths).flatMap((ofPath) => Object.values(ofPath));
  const missing = operations.filter(({ operationId }) => !apis.some((text) => text.includes(`async ${operationId}(`)));
  expect(missing).toEqual([]);
});

test('openapi-typescript', async () => {
  const folder = temporaryFolder();
  const program = path.join(TYPESCRIPT, 'node_modules/openapi-typescript/bin/cli.js');
  if (!existsSync(program)) await run('npm', ['ci', '--loglevel=warn'], TYPESCRIPT);
  await run(process.execPath, [program, DOCUMENT, '--output', path.join(folder, 'schema.ts')], folder);
  expect(await compileTypeScript(folder, 'schema.ts')).toBe('');
});

test('oapi-codegen (Go)', async () => {
  const folder = temporaryFolder();
  copyFileSync(DOCUMENT, path.join(folder, 'openapi.json'));
  await run('go', ['mod', 'init', 'example.com/manilla'], folder);
  const command = `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${OAPI_CODEGEN}`;
  const options = ['-generate', 'types,client', '-package', 'manilla', '-o', 'client.go'];
  await run('go', ['run', command, ...options, 'openapi.json'], folder);
  await run('go', ['get', `github.com/oapi-codegen/runtime@${OAPI_RUNTIME}`], folder);
  await run('go', ['mod', 'tidy'], folder);
  expect(await failureOf('go', ['vet', './...'], folder)).toBe('');
});

test('openapi-python-client, whose modules can all be imported', async () => {
  const programs = await installPythonPackages('openapiPython');
  const folder = temporaryFolder();
  const output = path.join(folder, 'client');
  // It formats with tools of its own otherwise. It says that it leaves out bodies of text/csv.
  writeFileSync(path.join(folder, 'config.yml'), 'post_hooks: []\n');
  const words = ['generate', '--path', DOCUMENT, '--output-path', output, '--config', 'config.yml'];
  await run(path.join(programs, 'openapi-python-client'), words, folder);
  const modules = globSync('manilla_api_client/**/*.py', { cwd: output }).map((file) =>
    file.replace(/(\/__init__)?\.py$/, '').replaceAll('/', '.'),
  );
  expect(modules.length).toBeGreaterThan(100);
  writeFileSync(path.join(output, 'all.py'), modules.map((name) => `import ${name}`).join('\n'));
  expect(await failureOf(path.join(programs, 'python'), ['-B', 'all.py'], output)).toBe('');
});

// Its library `native` has no code for a query parameter that is a map (`metadata[key]`).
test('Java', async () => {
  const folder = await openApiGenerator('java', '--library', 'restclient');
  expect(await failureOf('mvn', ['-B', '-q', 'compile'], folder)).toBe('');
});
