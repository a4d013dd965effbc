// The Python client: its example against the API and a worker, and its own tests.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestFlows, type TestFlows } from '../support/flows.ts';

const cwd = fileURLToPath(new URL('../../clients/python', import.meta.url));
const run = promisify(execFile);

let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows();
});

afterAll(() => flows.close());

test('the example ends with a verified webhook, the balance, the statement and a refusal', async () => {
  const { stdout } = await run('python3', ['-B', 'example.py'], {
    cwd,
    env: { ...process.env, MANILLA_URL: flows.urls.test, MANILLA_KEY: flows.test.key ?? '' },
  });
  expect(stdout).toContain('webhook: settled');
  expect(stdout).toContain('balance: 200000');
  expect(stdout).toContain('statement: credit 200000 payment_settlement');
  expect(stdout).toMatch(/refused: SAME_WALLET http:\/\/127\.0\.0\.1:\d+\/docs\/errors#same_wallet/);
});

test('its unit tests pass', async () => {
  const { stderr } = await run('python3', ['-B', '-m', 'unittest', '-v', 'test_client'], { cwd });
  expect(stderr).toMatch(/Ran 6 tests.*\n\nOK\n/);
});
