// The guides, and the page of the sandbox bank, as readers follow them: all blocks for a shell, in one shell from the
// quick start on, and the TypeScript of each guide as one module; with the API, a worker and the sandbox bank. Before a
// block with curl is what its response has (`<!-- expect: path=value -->`); beside a `console.log` what it prints.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
/** In the order in which they are read: the later ones use what the quick start made. */
const GUIDES = ['quick-start', 'collect', 'pay-out', 'refund', 'reconcile', 'go-live'].map((name) => `guides/${name}`);
const PAGES = [...GUIDES, 'sandbox'];
/** Far more than they take. */
const LIMIT_MS = 200_000;

interface Block {
  language: string;
  code: string;
  expectations: string;
}

const blocksOf = (name: string): Block[] => {
  const page = readFileSync(path.join(PROJECT, `docs/${name}.md`), 'utf8');
  const found = page.matchAll(/(?:<!-- expect: (.*) -->\n)?```(\w+)\n([\s\S]*?)```/g);
  return [...found].map(([, expectations = '', language = '', code = '']) => ({ language, code, expectations }));
};
const blocks = new Map(PAGES.map((page) => [page, blocksOf(page)]));
const shellBlocks = (page: string): Block[] => (blocks.get(page) ?? []).filter(({ language }) => language !== 'ts');
const moduleOf = (guide: string): string =>
  (blocks.get(guide) ?? [])
    .filter(({ language }) => language === 'ts')
    .map(({ code }) => code)
    .join('\n');

/** Ends the output of a block, with its expectations in which the shell has replaced the variables. */
const END = '@@ ';

let flows: TestFlows;
/** The output of each block of a page, and what is expected of it. */
const shellOutput = new Map<string, { output: string; expectations: string }[]>();
const printed = new Map<string, string>();
let modules: string;

beforeAll(async () => {
  flows = await startTestFlows({ settings: { WORKER_ROLES: 'flows,payouts,relay' } });
  modules = temporaryFolder();
  writeFileSync(path.join(modules, 'package.json'), '{ "type": "module" }');
  await installClient();
  mkdirSync(path.join(modules, 'guides'));
  for (const guide of GUIDES) writeFileSync(path.join(modules, `${guide}.ts`), moduleOf(guide));
  await Promise.all([runShell(), runModules()]);
}, LIMIT_MS);

afterAll(() => flows.close());

/** Installs the package of the client, as it is published, with what it depends on from the repository. */
async function installClient(): Promise<void> {
  const source = path.join(PROJECT, 'clients/typescript');
  const installed = path.join(modules, 'node_modules/@manilla/client');
  mkdirSync(installed, { recursive: true });
  cpSync(path.join(source, 'package.json'), path.join(installed, 'package.json'));
  await run(process.execPath, [path.join(source, 'build.mjs'), path.join(installed, 'dist')]);
  for (const name of ['openapi-fetch', 'standardwebhooks']) {
    symlinkSync(path.join(PROJECT, 'node_modules', name), path.join(modules, 'node_modules', name));
  }
}

/** Runs all pages in one shell. After a block that fails there is no more output. */
async function runShell(): Promise<void> {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, '.manilla'));
  const quickstart = { sandboxBaseUrl: flows.urls.test, testApiKey: flows.test.key };
  writeFileSync(path.join(folder, '.manilla/quickstart.json'), JSON.stringify(quickstart));
  const script = PAGES.flatMap(shellBlocks).map(
    ({ code, expectations }) => `${code}\necho\necho "${END}${expectations}"\n`,
  );
  const shell = ['--norc', '-euo', 'pipefail', '-c', script.join('\n')];
  const { stdout, stderr } = await run('bash', shell, { cwd: folder, timeout: LIMIT_MS, maxBuffer: 10_000_000 }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  const ends = stdout.split(/^@@ (.*)$/m);
  let position = 0;
  for (const page of PAGES) {
    const outputs = shellBlocks(page).map(() => {
      const [output = '', expectations = `missing: ${stderr}`] = ends.slice(position, position + 2);
      position += 2;
      return { output: output.trim(), expectations };
    });
    shellOutput.set(page, outputs);
  }
}

/** Runs the modules in order, for an organisation of their own. */
async function runModules(): Promise<void> {
  const { test: caller } = await flows.createOrganisation();
  const environment: NodeJS.ProcessEnv = {
    ...process.env,
    MANILLA_URL: flows.urls.test,
    MANILLA_KEY: caller.key ?? '',
  };
  for (const guide of GUIDES) {
    const options = { env: environment, timeout: LIMIT_MS };
    const { stdout, stderr } = await run(process.execPath, [path.join(modules, `${guide}.ts`)], options).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    printed.set(guide, stdout + stderr);
    for (const [, name = '', value] of stdout.matchAll(/(WALLET|PAYMENT)=(\S+)/g)) environment[name] = value;
  }
}

const valueAt = (answer: unknown, place: string): unknown =>
  place.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], answer);

describe.each(PAGES)('docs/%s.md', (page) => {
  test('every block is run: with an expected response, or as TypeScript', () => {
    const kinds = blocks.get(page)?.map(({ language, expectations }) => `${language} ${expectations !== ''}`);
    expect(kinds?.filter((kind) => !['sh true', 'bash false', 'ts false'].includes(kind))).toEqual([]);
  });

  test.each(shellBlocks(page).map(({ code }, position) => ({ title: code.split('\n')[0], position })))(
    'the block "$title" has the expected response',
    ({ position }) => {
      const { output = '', expectations = '' } = shellOutput.get(page)?.[position] ?? {};
      const answer: unknown = JSON.parse(output.split('\n').findLast((line) => line.startsWith('{')) ?? '{}');
      const pairs = expectations.split(' ').filter((each) => each !== '');
      const found = pairs.map((pair) => {
        const [place = '', value = ''] = pair.split(/=(.*)/);
        if (place === 'text') return output.includes(value) ? pair : `${place}=${output}`;
        return `${place}=${String(valueAt(answer, place))}`;
      });
      expect({ output, found }).toEqual({ output, found: pairs });
    },
  );
});

describe.each(GUIDES)('docs/%s.md', (guide) => {
  test('the TypeScript prints what stands beside it', () => {
    expect(moduleOf(guide)).toMatch(/console\.log/);
    const logs = moduleOf(guide)
      .split('\n')
      .filter((line) => line.includes('console.log('));
    const expected = logs.map((line) => / \/\/ (.*)$/.exec(line)?.[1] ?? `nothing expected: ${line}`);
    const lines = (printed.get(guide) ?? '').trimEnd().split('\n');
    const shown = lines.map((line, index) => (matches(line, expected[index] ?? '') ? expected[index] : line));
    expect(shown).toEqual(expected);
  });
});

/** `…` stands for any text. */
function matches(line: string, pattern: string): boolean {
  const parts = pattern.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`).test(line);
}

test('the TypeScript has the types of the client', async () => {
  const options = {
    extends: path.join(PROJECT, 'tsconfig.json'),
    compilerOptions: { typeRoots: [path.join(PROJECT, 'node_modules/@types')] },
    include: ['guides/*.ts'],
  };
  writeFileSync(path.join(modules, 'tsconfig.json'), JSON.stringify(options));
  const compiler = path.join(PROJECT, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, [compiler, '--project', modules]).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe('');
});
