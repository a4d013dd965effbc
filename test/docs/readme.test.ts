// The README for a first-time reader: its requests work in a shell with curl and node only, and it links every page.
import { execFile, execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { startTestFlows } from '../support/flows.ts';

const run = promisify(execFile);
const project = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(path.join(project, 'README.md'), 'utf8');

const flows = await startTestFlows();

afterAll(() => flows.close());

/** A PATH with these programs only: neither uuidgen nor jq, as in a slim image. */
function pathWith(...programs: string[]): string {
  const folder = temporaryFolder();
  for (const program of programs) {
    const found = execFileSync('bash', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();
    symlinkSync(found, path.join(folder, program));
  }
  return folder;
}

test('the requests of the README settle a payment in a shell with only curl and node', async () => {
  const byHand = readme.slice(readme.indexOf('Or send the requests yourself'), readme.indexOf('## One payment'));
  const block = [...byHand.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, lines]) => lines).join('');
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, '.manilla'));
  const quickstart = { sandboxBaseUrl: flows.urls.test, testApiKey: flows.test.key };
  writeFileSync(path.join(folder, '.manilla/quickstart.json'), JSON.stringify(quickstart));
  // The README waits a second. The test waits for the payment to be settled instead, which is independent of the
  // machine's speed.
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

test('the README links every documentation page', () => {
  const pages = globSync(['*.md', 'docs/*.md'], { cwd: project }).filter((page) => page !== 'README.md');
  expect(pages.length).toBeGreaterThan(15);
  expect(pages.filter((page) => !readme.includes(`](${page})`))).toEqual([]);
});

test('the folder map of the README lists every folder of src', () => {
  const folders = globSync('src/*/', { cwd: project }).map((folder) => `\`${folder.replace(/\/?$/, '/')}\``);
  expect(folders.length).toBeGreaterThan(10);
  expect(folders.filter((folder) => !readme.includes(folder))).toEqual([]);
});
