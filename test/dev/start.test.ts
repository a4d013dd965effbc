// `npm start` as a newcomer meets it, with every part real: one story, told in the order of the tests.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import postgres from 'postgres';
import { freePort } from '../../dev/freePort.ts';
import { isRunning } from '../../dev/lockFile.mjs';
import type { LockHolder, Quickstart } from '../../dev/stateFolder.ts';
import { waitFor } from '../support/waitFor.ts';
import { temporaryFolder } from './temporaryFolder.ts';

// A first start makes database files and keys, on a machine that runs other tests beside this one.
const START_MS = 240_000;
jest.setTimeout(START_MS);

const home = path.join(temporaryFolder(), '.manilla');
let ports: Record<string, string> = {};
let stack: Command;
/** The quick start and a wallet of the first start, to be found again by the second. */
let first: Quickstart;
let walletId: string;

interface Command {
  child: ChildProcess;
  output: () => string;
  ended: Promise<number | null>;
}

function run(name: 'dev/start' | 'dev/reset' | 'dev/demo' | 'src/cli/main', ...words: string[]): Command {
  const file = fileURLToPath(new URL(`../../${name}.ts`, import.meta.url));
  const env = {
    ...process.env,
    ...ports,
    TEMPORAL_STALL_SECONDS: '3',
    MANILLA_HOME: home,
    DATABASE_URL: '',
    TEMPORAL_ADDRESS: '',
  };
  const child = spawn(process.execPath, [file, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, output: () => said, ended };
}

async function start(): Promise<Command> {
  const command = run('dev/start');
  let ended = false;
  void command.ended.then(() => {
    ended = true;
  });
  await waitFor('the service is running', () => ended || command.output().includes('Manilla is running'), START_MS);
  if (ended) throw new Error(`the start ended:\n${command.output()}`);
  return command;
}

const readJson = <Content>(name: string): Content => JSON.parse(readFileSync(path.join(home, name), 'utf8'));
const runningParts = () => readJson<LockHolder>('running.json').processes;

async function call(method: string, route: string, body?: object) {
  const { sandboxBaseUrl, testApiKey } = readJson<Quickstart>('quickstart.json');
  const answer = await fetch(`${sandboxBaseUrl}${route}`, {
    method,
    headers: {
      Authorization: `Bearer ${testApiKey}`,
      'Content-Type': 'application/json',
      ...(method === 'POST' && { 'Idempotency-Key': randomUUID() }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as { statusCode: number; data: { id: string } };
}

beforeAll(async () => {
  const names = ['SANDBOX_PORT', 'LIVE_PORT', 'POSTGRES_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'];
  // Not the usual ports: somebody may be running the service beside the tests.
  ports = Object.fromEntries(await Promise.all(names.map(async (name) => [name, String(await freePort())])));
  stack = await start();
  first = readJson<Quickstart>('quickstart.json');
}, START_MS);

afterAll(async () => {
  stack.child.kill('SIGTERM');
  await stack.ended;
});

test('it writes a quick start that a program can go by, for its owner only', async () => {
  expect(first).toEqual({
    sandboxBaseUrl: `http://127.0.0.1:${ports.SANDBOX_PORT}/v1`,
    liveBaseUrl: `http://127.0.0.1:${ports.LIVE_PORT}/v1`,
    testApiKey: expect.stringMatching(/^svc_test_/),
    liveApiKey: expect.stringMatching(/^svc_live_/),
    organisationId: expect.stringMatching(/^svc_\w+_org$/),
    settlementWalletId: expect.stringMatching(/^svc_\w+_wlt$/),
    liveSettlementWalletId: expect.stringMatching(/^svc_\w+_wlt$/),
    temporalAddress: `127.0.0.1:${ports.TEMPORAL_PORT}`,
    temporalUiUrl: `http://127.0.0.1:${ports.TEMPORAL_UI_PORT}`,
    databaseUrl: expect.stringContaining(`@127.0.0.1:${ports.POSTGRES_PORT}/`),
  });
  for (const file of ['quickstart.json', 'secrets.json', 'running.json']) {
    expect(statSync(path.join(home, file)).mode & 0o777).toBe(0o600);
  }
});

test('it prints where everything is, the keys, and a first call that works', async () => {
  const output = stack.output();
  for (const shown of [
    first.sandboxBaseUrl,
    first.liveBaseUrl,
    first.temporalUiUrl,
    first.testApiKey,
    first.liveApiKey,
  ]) {
    expect(output).toContain(shown);
  }
  expect(output).toContain(`curl -sS ${first.sandboxBaseUrl}/wallets`);
  const created = await call('POST', '/wallets', { email: 'ada@example.com', fullName: 'Ada Obi' });
  expect(created.statusCode).toBe(201);
  walletId = created.data.id;
});

test('the Temporal UI answers', async () => {
  expect((await fetch(first.temporalUiUrl)).status).toBe(200);
});

test('a second start in the same folder says that it runs already, and where', async () => {
  const second = run('dev/start');
  expect(await second.ended).toBe(1);
  expect(second.output()).toContain(`already running here (process ${stack.child.pid}`);
  expect(second.output()).toContain(first.sandboxBaseUrl);
});

test('the command line finds it by its folder', async () => {
  const list = run('src/cli/main', 'organisations', 'list', '--json');
  expect(await list.ended).toBe(0);
  expect(JSON.parse(list.output())).toEqual([expect.objectContaining({ organisationId: first.organisationId })]);
});

test('the demo finds it by its folder, and every flow of it ends as it says', async () => {
  const demo = run('dev/demo');
  expect([await demo.ended, demo.output()]).toEqual([0, expect.stringContaining('The payout is partially_completed')]);
});

test('reset refuses while it runs', async () => {
  const reset = run('dev/reset');
  expect(await reset.ended).toBe(1);
  expect(reset.output()).toContain('Stop it first');
});

test('a part that is killed is said to be, and comes back', async () => {
  const api = runningParts().find(({ name }) => name === 'api');
  process.kill(api?.pid ?? 0, 'SIGKILL');
  await waitFor('the API is back', () => stack.output().includes('api is running again'), START_MS);
  expect(stack.output()).toContain('api was killed by SIGKILL; restarting it in 1 s');
  expect((await call('GET', `/wallets/${walletId}`)).statusCode).toBe(200);
});

test('a Temporal that lives but answers nothing is said to be stuck and is started again, and what waited for it starts', async () => {
  const temporal = () => runningParts().find(({ name }) => name === 'temporal');
  const stuck = temporal();
  process.kill(stuck?.pid ?? 0, 'SIGSTOP');
  const order = { method: 'bank_transfer', baseAmount: 200_000, targetWalletId: first.settlementWalletId };
  const accepted = await call('POST', '/payments', order);
  expect(accepted.statusCode).toBe(201);
  await waitFor('Temporal is back', () => stack.output().includes('temporal is running again'), START_MS);
  expect(stack.output()).toMatch(
    /Temporal is running but starts no flows; .* Restarting Temporal; its data and ports stay the same\./,
  );
  expect(temporal()?.pid).not.toBe(stuck?.pid);
  const sql = postgres(first.databaseUrl, { max: 1 });
  try {
    await waitFor('the flow of the payment is started', async () => {
      const waiting = await sql`SELECT FROM outbox WHERE message ->> 'id' = ${accepted.data.id}`;
      return waiting.length === 0;
    });
  } finally {
    await sql.end();
  }
  const missing = run('src/cli/main', 'flows', 'missing', '--age', '0', '--json');
  expect([await missing.ended, JSON.parse(missing.output())]).toEqual([0, []]);
});

test('SIGTERM ends everything it started', async () => {
  const parts = runningParts();
  expect(parts.map(({ name }) => name).toSorted()).toEqual(['api', 'postgres', 'temporal', 'worker']);
  stack.child.kill('SIGTERM');
  expect(await stack.ended).toBe(0);
  expect(parts.filter(isRunning)).toEqual([]);
  expect(existsSync(path.join(home, 'running.json'))).toBe(false);
});

test('the next start has the same keys and the same data', async () => {
  stack = await start();
  expect(readJson<Quickstart>('quickstart.json')).toEqual(first);
  expect((await call('GET', `/wallets/${walletId}`)).data.id).toBe(walletId);
});

test('when the start itself is killed with -9, its parts end all the same', async () => {
  const parts = runningParts();
  stack.child.kill('SIGKILL');
  await waitFor('the parts are gone', () => !parts.some(isRunning), START_MS);
  expect(parts).toHaveLength(4);
});

test('reset forgets everything', async () => {
  const reset = run('dev/reset');
  expect(await reset.ended).toBe(0);
  expect(existsSync(home)).toBe(false);
});

test('a port that is taken after it was chosen is replaced by another, and it is said by the name of its setting', async () => {
  const racing = run('dev/start');
  const snatcher = createServer();
  try {
    // The ports of the API are chosen by then, and it is not started before the organisation is made.
    await waitFor('the ports to be chosen', () => racing.output().includes('Making the demo organisation'), START_MS);
    await new Promise<void>((resolve) => snatcher.listen(Number(ports.SANDBOX_PORT), '127.0.0.1', resolve));
    await waitFor('the service is running', () => racing.output().includes('Manilla is running'), START_MS);
    const { sandboxBaseUrl } = readJson<Quickstart>('quickstart.json');
    expect(racing.output()).toContain(`SANDBOX_PORT=${ports.SANDBOX_PORT} is taken: the sandbox API is on`);
    expect(sandboxBaseUrl).not.toContain(`:${ports.SANDBOX_PORT}/`);
    expect((await call('GET', '/wallets')).statusCode).toBe(200);
    // The sandbox bank reports to where the API is now.
    const demo = run('dev/demo');
    expect([await demo.ended, demo.output()]).toEqual([
      0,
      expect.stringContaining('The payout is partially_completed'),
    ]);
  } finally {
    snatcher.close();
    racing.child.kill('SIGTERM');
    await racing.ended;
  }
});

test('a failure on the way is said in one line, and nothing is left running', async () => {
  ports.SANDBOX_PORT = 'eighty';
  const failing = run('dev/start');
  expect(await failing.ended).toBe(1);
  expect(failing.output()).toContain('Manilla could not start: SANDBOX_PORT is not a port: eighty');
  expect(existsSync(path.join(home, 'running.json'))).toBe(false);
});
