// The package of the TypeScript client as integrators install it: packed, installed from the registry with what it
// depends on into an empty folder, and used from JavaScript and from TypeScript.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { startTestFlows } from '../support/flows.ts';

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const COMPILER = path.join(PROJECT, 'node_modules/typescript/bin/tsc');

const flows = await startTestFlows();
/** An integrator's project, with the package installed. */
const project = temporaryFolder();
const archive = await pack();
writeFileSync(path.join(project, 'package.json'), '{ "type": "module" }');
await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', archive], { cwd: project });

afterAll(() => flows.close());

/** Packs a copy: packing makes dist/, which other tests would see in the repository. Returns the archive's path. */
async function pack(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const folder = temporaryFolder();
  for (const part of ['clients/typescript', 'LICENSE', 'tsconfig.json']) {
    cpSync(path.join(PROJECT, part), path.join(folder, part), {
      recursive: true,
      filter: (source) => !source.endsWith('node_modules'),
    });
  }
  symlinkSync(path.join(PROJECT, 'node_modules'), path.join(folder, 'node_modules'));
  const cwd = path.join(folder, 'clients/typescript');
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd, env });
  expect(globSync('dist', { cwd })).toEqual([]);
  return path.join(folder, globSync('*.tgz', { cwd: folder })[0] ?? '');
}

/** The newest of each major version that the package is for. */
const NODES = ['20.20.2', '22.23.3', '24.21.0'];

/** The folder of an interpreter, which is a package of the registry. */
async function installNode(version: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = path.join(PROJECT, '.cache', `node-${version}`);
  const programs = path.join(folder, 'node_modules', name, 'bin');
  if (!existsSync(path.join(programs, 'node'))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'package.json'), '{}');
    await run('npm', ['install', '--no-save', '--prefer-offline', '--no-audit', '--no-fund', `${name}@${version}`], {
      cwd: folder,
    });
  }
  return programs;
}

test.each(NODES)('Node.js %s packs it, installs it and uses it', async (version) => {
  const env = { ...process.env, PATH: `${await installNode(version)}${path.delimiter}${process.env.PATH}` };
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', await pack(env)], { cwd: folder, env });
  writeFileSync(
    path.join(folder, 'program.js'),
    `import { createManilla, dataOf, ManillaError } from '@manilla/client';
     const options = { baseUrl: process.env.MANILLA_URL, apiKey: process.env.MANILLA_KEY };
     const wallet = await dataOf(createManilla(options).POST('/wallets', { body: { email: 'ada@test.example' } }));
     const refused = await createManilla(options).POST('/wallets', { body: { email: '' } }).catch((error) => error);
     const closed = createManilla({ ...options, baseUrl: 'http://127.0.0.1:1/v1', retriesMax: 1, pauseMs: 1 });
     const failed = await closed.GET('/health').catch((error) => error);
     console.log(process.version, wallet.currency, refused instanceof ManillaError, refused.message, failed.code);`,
  );
  const manilla = { MANILLA_URL: flows.urls.test, MANILLA_KEY: flows.test.key ?? '' };
  const { stdout } = await run('node', ['program.js'], { cwd: folder, env: { ...env, ...manilla } });
  expect(stdout).toMatch(
    new RegExp(`^v${version} NGN true VALIDATION_FAILED: .* email must be .* CONNECTION_FAILED\n$`),
  );
});

test('it has JavaScript, declarations and the licence, and nothing else', () => {
  const installed = path.join(project, 'node_modules/@manilla/client');
  expect(globSync('**/*.*', { cwd: installed }).toSorted()).toEqual([
    'README.md',
    'dist/index.d.ts',
    'dist/index.js',
    'dist/operations.d.ts',
    'dist/operations.js',
    'dist/reason.d.ts',
    'dist/reason.js',
    'dist/schema.d.ts',
    'package.json',
  ]);
  expect(readFileSync(path.join(installed, 'dist/LICENSE'), 'utf8')).toContain('Apache License');
});

test('JavaScript and the example run with it', async () => {
  // Node strips the types of the integrator's own files only.
  const example = readFileSync(path.join(PROJECT, 'clients/typescript/example.ts'), 'utf8');
  const program = path.join(project, 'example.ts');
  writeFileSync(program, example.replace("'./src/index.ts'", "'@manilla/client'"));
  const plain = path.join(project, 'program.js');
  writeFileSync(
    plain,
    `import { createManilla, dataOf } from '@manilla/client';
     const client = createManilla({ baseUrl: process.env.MANILLA_URL, apiKey: process.env.MANILLA_KEY });
     console.log((await dataOf(client.GET('/health'))).environment);`,
  );
  const env = { ...process.env, MANILLA_URL: flows.urls.test, MANILLA_KEY: flows.test.key ?? '' };
  const [ofPlain, ofExample] = await Promise.all(
    [plain, program].map((file) => run(process.execPath, [file], { cwd: project, env })),
  );
  expect(ofPlain?.stdout).toBe('test\n');
  expect(ofExample?.stdout).toContain('The webhook payment.completed came, with a valid signature');
});

test.each(['nodenext', 'bundler'])(
  'its types resolve and are checked, with the module resolution %s',
  async (resolution) => {
    const folder = path.join(project, resolution);
    mkdirSync(folder);
    writeFileSync(
      path.join(folder, 'program.ts'),
      `import { createManilla, dataOf, type Event, pagesOf } from '@manilla/client';
     const client = createManilla({ baseUrl: '', apiKey: '' });
     const wallet = await dataOf(client.GET('/wallets/{id}', { params: { path: { id: '' } } }));
     export const id: string = wallet.id;
     export const settled: Event['type'] = 'payment.settled';
     for await (const each of pagesOf(() => client.GET('/wallets'))) console.log(each.kycStatus === 'tier1');
     await dataOf(client.POST('/wallets', { body: { email: 5 } }));`,
    );
    const module = resolution === 'bundler' ? 'esnext' : resolution;
    // Without skipLibCheck: the declarations themselves are checked too.
    const options = ['--noEmit', '--strict', '--target', 'esnext', '--lib', 'esnext,dom', '--module', module];
    const { stdout } = await run(
      process.execPath,
      [COMPILER, ...options, '--moduleResolution', resolution, path.join(folder, 'program.ts')],
      { cwd: project },
    ).catch((error: { stdout: string }) => error);
    expect(stdout.match(/error TS\d+: .*/g)).toEqual([
      "error TS2322: Type 'number' is not assignable to type 'string'.",
    ]);
  },
);
