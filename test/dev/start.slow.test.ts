// `npm start` with real components, from the first start to the reset. The tests depend on their order.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import postgres from 'postgres';
import { FAKES } from '../../dev/chaos/fakeBank.ts';
import { freePort } from '../../dev/freePort.ts';
import { isRunning } from '../../dev/lockFile.mjs';
import type { LockHolder, Quickstart } from '../../dev/stateFolder.ts';
import type { PaymentResource } from '../support/flows.ts';
import { sendRaw } from '../support/rawHttp.ts';
import { waitFor } from '../support/waitFor.ts';
import { temporaryFolder } from './temporaryFolder.ts';

// A first start initialises databases and keys, on a machine that runs other tests at the same time.
const START_MS = 240_000;
jest.setTimeout(START_MS);

const home = path.join(temporaryFolder(), '.manilla');
let ports: Record<string, string> = {};
let stack: Command;
/** The quick start and a wallet of the first start, which the second start must have too. */
let first: Quickstart;
let walletId: string;

interface Command {
  child: ChildProcess;
  output: () => string;
  exited: Promise<number | null>;
}

function run(
  name: 'dev/start' | 'dev/reset' | 'dev/demo' | 'dev/example' | 'src/cli/main',
  ...words: string[]
): Command {
  const file = fileURLToPath(new URL(`../../${name}.ts`, import.meta.url));
  const env = {
    ...process.env,
    ...ports,
    MANILLA_HOME: home,
    DATABASE_URL: '',
    TEMPORAL_ADDRESS: '',
    MANILLA_OPERATOR_KEY: '',
  };
  const child = spawn(process.execPath, [file, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      text += chunk;
    });
  }
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, output: () => text, exited };
}

async function start(...words: string[]): Promise<Command> {
  const command = run('dev/start', ...words);
  let exited = false;
  void command.exited.then(() => {
    exited = true;
  });
  await waitFor('the service to run', () => exited || command.output().includes('Manilla is running'), START_MS);
  if (exited) throw new Error(`the start ended:\n${command.output()}`);
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
  // Not the default ports: the service may be running on the same machine.
  ports = Object.fromEntries(await Promise.all(names.map(async (name) => [name, String(await freePort())])));
  stack = await start();
  first = readJson<Quickstart>('quickstart.json');
}, START_MS);

afterAll(async () => {
  stack.child.kill('SIGTERM');
  await stack.exited;
});

test('npm start writes a machine-readable quickstart.json, readable by its owner only', async () => {
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
    databaseUrl: expect.stringMatching(new RegExp(`//manilla_service:\\w+@127.0.0.1:${ports.POSTGRES_PORT}/`)),
    ownerDatabaseUrl: expect.stringMatching(new RegExp(`//manilla:\\w+@127.0.0.1:${ports.POSTGRES_PORT}/`)),
    operatorKey: expect.stringMatching(/^svc_operator_/),
  });
  for (const file of ['quickstart.json', 'secrets.json', 'running.json']) {
    expect(statSync(path.join(home, file)).mode & 0o777).toBe(0o600);
  }
  // Temporal makes the file of its state readable for everyone.
  expect(statSync(home).mode & 0o777).toBe(0o700);
});

test('npm start prints the addresses, the keys and an example request, and a request with the key works', async () => {
  const output = stack.output();
  for (const value of [
    first.sandboxBaseUrl,
    first.liveBaseUrl,
    first.temporalUiUrl,
    first.testApiKey,
    first.liveApiKey,
  ]) {
    expect(output).toContain(value);
  }
  expect(output).toContain(`curl -sS ${first.sandboxBaseUrl}/wallets`);
  const created = await call('POST', '/wallets', { email: 'ada@example.com', fullName: 'Ada Obi' });
  expect(created.statusCode).toBe(201);
  walletId = created.data.id;
});

test('the Temporal UI responds', async () => {
  expect((await fetch(first.temporalUiUrl)).status).toBe(200);
});

test('no page of another site calls the HTTP API of Temporal, also not by a name of this machine', async () => {
  const [, port] =
    /^Temporal HTTP: +localhost:(\d+)$/m.exec(readFileSync(path.join(home, 'logs/temporal.log'), 'utf8')) ?? [];
  const statusFor = async (host: string): Promise<number> =>
    (await sendRaw(`http://127.0.0.1:${port}`, `GET /api/v1/namespaces HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).status;
  expect(await statusFor(`127.0.0.1:${port}`)).toBe(403);
  expect(await statusFor(`evil.example:${port}`)).toBe(403);
});

test('a second start in the same folder fails and reports the running one', async () => {
  const second = run('dev/start');
  expect(await second.exited).toBe(1);
  expect(second.output()).toContain(`already running here (process ${stack.child.pid}`);
  expect(second.output()).toContain(first.sandboxBaseUrl);
});

test('the command line finds the running service by its folder', async () => {
  const list = run('src/cli/main', 'organisations', 'list', '--json');
  expect(await list.exited).toBe(0);
  expect(JSON.parse(list.output())).toEqual([expect.objectContaining({ organisationId: first.organisationId })]);
});

test('the example of the TypeScript client finds the running service, and verifies the webhook of a settled payment', async () => {
  const example = run('dev/example');
  expect([await example.exited, example.output()]).toEqual([
    0,
    expect.stringContaining('The webhook payment.completed came, with a valid signature: settled'),
  ]);
});

test('the demo finds the running service by its folder and completes', async () => {
  const demo = run('dev/demo');
  expect([await demo.exited, demo.output()]).toEqual([0, expect.stringContaining('The payout is partially_completed')]);
});

test('the finance day completes: fees, costs, the proof of the day, a statement and a debt', async () => {
  const demo = run('dev/demo', 'finance-day');
  expect([await demo.exited, demo.output()]).toEqual([0, expect.stringContaining('the ledger is verified')]);
  for (const part of [
    '30 payments are settled',
    'her wallet owes ₦',
    'Income, costs and taxes',
    'not over',
    'owes ₦0.00',
    'adjustment credit ₦25.00, then ₦',
  ])
    expect(demo.output()).toContain(part);
  const unknown = run('dev/demo', 'finance-night');
  expect([await unknown.exited, unknown.output()]).toEqual([1, expect.stringContaining('the demo is finance-day')]);
});

test.each(FAKES)('the demo of %s completes, and its books and those of the provider are equal', async (rail) => {
  const demo = run('dev/demo', '--rail', `${rail}-fake`);
  expect([await demo.exited, demo.output()]).toEqual([0, expect.stringContaining('The two books are equal')]);
  expect(demo.output()).toContain('The contract is disconnected');
  const unknown = run('dev/demo', '--rail', rail);
  expect([await unknown.exited, unknown.output()]).toEqual([1, expect.stringContaining('must be monnify-fake')]);
});

test('reset refuses to run while the service is running', async () => {
  const reset = run('dev/reset');
  expect(await reset.exited).toBe(1);
  expect(reset.output()).toContain('Stop it first');
});

test('a Temporal that was killed is restarted, and the flow that waited for it starts', async () => {
  const temporal = () => runningParts().find(({ name }) => name === 'temporal');
  const killed = temporal();
  process.kill(killed?.pid ?? 0, 'SIGKILL');
  const order = { method: 'bank_transfer', baseAmount: 200_000, targetWalletId: first.settlementWalletId };
  const accepted = await call('POST', '/payments', order);
  expect(accepted.statusCode).toBe(201);
  const { virtualAccount, payableAmount } = accepted.data as unknown as PaymentResource;
  const credit = { accountNumber: virtualAccount.accountNumber, amount: payableAmount };
  expect((await call('POST', '/simulations/inbound-credits', credit)).statusCode).toBe(201);
  await waitFor('Temporal to be restarted', () => stack.output().includes('temporal is running again'), START_MS);
  expect(temporal()?.pid).not.toBe(killed?.pid);
  const sql = postgres(first.databaseUrl, { max: 1 });
  try {
    await waitFor('the flow of the payment to start', async () => {
      const waiting = await sql`SELECT FROM outbox WHERE topic = 'flow' AND message ->> 'id' = ${accepted.data.id}`;
      return waiting.length === 0;
    });
  } finally {
    await sql.end();
  }
  const missing = run('src/cli/main', 'flows', 'missing', '--age', '0', '--json');
  expect([await missing.exited, JSON.parse(missing.output())]).toEqual([0, []]);
});

test('SIGTERM ends every process of the service', async () => {
  const parts = runningParts();
  expect(parts.map(({ name }) => name).toSorted()).toEqual(['api', 'postgres', 'temporal', 'worker']);
  stack.child.kill('SIGTERM');
  expect(await stack.exited).toBe(0);
  expect(parts.filter(isRunning)).toEqual([]);
  expect(existsSync(path.join(home, 'running.json'))).toBe(false);
});

test('the next start has the same keys and the same data', async () => {
  stack = await start('--reload');
  expect(readJson<Quickstart>('quickstart.json')).toEqual(first);
  expect((await call('GET', `/wallets/${walletId}`)).data.id).toBe(walletId);
});

test('npm run dev starts API and worker again when a source changes, and keeps servers and data', async () => {
  // Of each name the first, which runs; another may wait for the next change.
  const pidsOf = () =>
    Object.fromEntries(
      runningParts()
        .map(({ name, pid }) => [name, pid] as const)
        .toReversed(),
    );
  const before = pidsOf();
  utimesSync(new URL('../../src/money.ts', import.meta.url), new Date(), new Date());
  await waitFor('the reload', () => stack.output().includes('Started API and worker again'), START_MS);
  const after = pidsOf();
  const isKept = Object.fromEntries(Object.entries(before).map(([name, pid]) => [name, after[name] === pid]));
  expect(isKept).toEqual({ postgres: true, temporal: true, api: false, worker: false });
  expect((await call('GET', `/wallets/${walletId}`)).data.id).toBe(walletId);
});

test('after kill -9 of npm start its child processes are ended', async () => {
  const parts = runningParts();
  stack.child.kill('SIGKILL');
  await waitFor('the child processes to exit', () => !parts.some(isRunning), START_MS);
  // With those that wait for the next change.
  expect(parts.map(({ name }) => name).toSorted()).toEqual(['api', 'api', 'postgres', 'temporal', 'worker', 'worker']);
});

test('reset deletes all state', async () => {
  const reset = run('dev/reset');
  expect(await reset.exited).toBe(0);
  expect(existsSync(home)).toBe(false);
});

/** Where the sandbox API was in the last start. */
let moved: string;

test('a port that is taken after its selection is replaced, and the replacement is reported with its setting', async () => {
  const racing = run('dev/start');
  const blocker = createServer();
  try {
    // The ports of the API have been selected by then; the API starts after the organisation has been created.
    await waitFor('the ports to be chosen', () => racing.output().includes('Making the demo organisation'), START_MS);
    await new Promise<void>((resolve) => blocker.listen(Number(ports.SANDBOX_PORT), '127.0.0.1', resolve));
    await waitFor('the service to run', () => racing.output().includes('Manilla is running'), START_MS);
    const { sandboxBaseUrl } = readJson<Quickstart>('quickstart.json');
    expect(racing.output()).toContain(`SANDBOX_PORT=${ports.SANDBOX_PORT} is taken: the sandbox API is on`);
    expect(sandboxBaseUrl).not.toContain(`:${ports.SANDBOX_PORT}/`);
    moved = sandboxBaseUrl;
    expect((await call('GET', '/wallets')).statusCode).toBe(200);
    // The sandbox bank sends its callbacks to the API's actual port.
    const demo = run('dev/demo');
    expect([await demo.exited, demo.output()]).toEqual([
      0,
      expect.stringContaining('The payout is partially_completed'),
    ]);
  } finally {
    blocker.close();
    racing.child.kill('SIGTERM');
    await racing.exited;
  }
});

test('a failed start is reported in one line and leaves no process running', async () => {
  ports.SANDBOX_PORT = 'eighty';
  const failing = run('dev/start');
  expect(await failing.exited).toBe(1);
  expect(failing.output()).toContain('Manilla could not start: SANDBOX_PORT is not a port: eighty');
  expect(existsSync(path.join(home, 'running.json'))).toBe(false);
});

test('the next start tries the ports of the last one first, where none is set', async () => {
  ports = { ...ports, SANDBOX_PORT: '' };
  const next = await start();
  try {
    expect(readJson<Quickstart>('quickstart.json').sandboxBaseUrl).toBe(moved);
  } finally {
    next.child.kill('SIGTERM');
    await next.exited;
  }
});
