// The README as a stranger meets it: its requests are pasted into a shell that has curl and node and nothing else, and every
// page can be found from it.
import { execFile, execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';

const run = promisify(execFile);
const project = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(path.join(project, 'README.md'), 'utf8');

let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows();
});

afterAll(() => flows.close());

/** A PATH with these programs only: no uuidgen and no jq, as on a slim image. */
function pathWith(...programs: string[]): string {
  const folder = temporaryFolder();
  for (const program of programs) {
    const found = execFileSync('bash', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();
    symlinkSync(found, path.join(folder, program));
  }
  return folder;
}

test('its requests settle a payment when they are pasted into a shell with nothing but curl and node', async () => {
  const byHand = readme.slice(readme.indexOf('Or send the requests yourself'), readme.indexOf('## One payment'));
  const block = [...byHand.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, lines]) => lines).join('');
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, '.manilla'));
  const quickstart = { sandboxBaseUrl: flows.urls.test, testApiKey: flows.test.key };
  writeFileSync(path.join(folder, '.manilla/quickstart.json'), JSON.stringify(quickstart));
  // A person waits a second. A test waits for what the second is for, however long that takes on this machine.
  const settled =
    'until [[ $(curl -sS $API/payments/$(echo "$PAYMENT" | field data.id) -H "Authorization: Bearer $KEY") == *\'"settled"\'* ]]; do :; done';
  const script = block.replace(/^sleep 1$/m, () => settled);
  expect(script).toContain(settled);

  const env = { PATH: pathWith('bash', 'curl', 'date', 'node') };
  const { stdout, stderr } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], { cwd: folder, env });

  expect(stderr).toBe('');
  const [kyc, created, credit, payment, balance] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(kyc).toMatchObject({ statusCode: 200, data: { kycStatus: 'tier1' } });
  expect(created).toMatchObject({ statusCode: 201, data: { status: 'pending', payableAmount: 202_000 } });
  expect(credit).toMatchObject({ statusCode: 201 });
  expect(payment).toMatchObject({ statusCode: 200, data: { id: created.data.id, status: 'settled' } });
  expect(balance).toMatchObject({ statusCode: 200, data: { balance: 200_000 } });
});

test('it links every page of the documentation', () => {
  const pages = globSync(['*.md', 'docs/*.md'], { cwd: project }).filter((page) => page !== 'README.md');
  expect(pages.length).toBeGreaterThan(15);
  expect(pages.filter((page) => !readme.includes(`](${page})`))).toEqual([]);
});

test('its folder map names every folder of src', () => {
  const folders = globSync('src/*/', { cwd: project }).map((folder) => `\`${folder.replace(/\/?$/, '/')}\``);
  expect(folders.length).toBeGreaterThan(10);
  expect(folders.filter((folder) => !readme.includes(folder))).toEqual([]);
});
