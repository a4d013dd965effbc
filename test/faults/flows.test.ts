// Crashes of processes and servers do not affect money. The worker is a separate process, killed with SIGKILL; the
// second Temporal server starts only after the payments were accepted.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePort } from '../../dev/freePort.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { startTemporal } from '../../dev/temporal.ts';
import { findTemporal } from '../../dev/temporalInstall.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { ownerOf } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const WORKER = fileURLToPath(new URL('../../src/worker/main.ts', import.meta.url));

let api: TestApi;
let owner: Sql;
let workers: ChildProcess[] = [];

beforeAll(async () => {
  api = await startTestApi();
  owner = connect(ownerOf(api.databaseUrl), { connectionsMax: 2, role: 'owner' });
});

afterAll(async () => {
  await Promise.all(workers.map(kill));
  const { findings } = await verifyBooks(owner);
  await owner.end();
  await api.close();
  expect(findings).toEqual([]);
});

function startWorkerProcess(temporalAddress = api.dependencies.config.temporal.address): ChildProcess {
  const { config } = api.dependencies;
  const worker = spawn(process.execPath, [WORKER], {
    stdio: 'ignore',
    env: {
      ...process.env,
      DATABASE_URL: config.databaseUrl,
      DATABASE_CONNECTIONS_MAX: '4',
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_TASK_QUEUE: config.temporal.taskQueue,
      MANILLA_KEYS: `test:${Buffer.alloc(32, 7).toString('base64url')}`,
      SANDBOX_RAIL_CALLBACK_URL: config.sandboxRail.callbackUrl,
      SANDBOX_RAIL_DELAY_MS: '0',
      WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'sandbox',
    },
  });
  workers.push(worker);
  return worker;
}

async function kill(worker: ChildProcess): Promise<void> {
  workers = workers.filter((other) => other !== worker);
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const exited = once(worker, 'exit');
  worker.kill('SIGKILL');
  await exited;
}

async function createPayment(walletId: string) {
  const { status, data } = await api.test.money('/payments', {
    method: 'bank_transfer',
    baseAmount: 100_000,
    targetWalletId: walletId,
  });
  expect(status).toBe(201);
  return data as typeof data & { virtualAccount: { accountNumber: string }; payableAmount: number };
}

const untilSettled = (paymentId: string) =>
  waitFor(
    `${paymentId} to be settled`,
    async () => (await api.test.get(`/payments/${paymentId}`)).data.status === 'settled',
    540_000,
  );

const creditsPosted = async (): Promise<number> => {
  const [row] = await owner<{ posted: number }[]>`
    SELECT count(*)::int AS posted FROM ledger.transactions WHERE key LIKE 'credit/sandbox/%'`;
  return row?.posted ?? 0;
};

test('after a worker is killed while posting a credit, another worker continues and the money is posted once', async () => {
  const walletId = await api.createWallet();
  const payment = await createPayment(walletId);
  const first = startWorkerProcess();

  // Lock the wallet's account row, so that the worker is inside ledger.post when it is killed.
  const holder = connect(ownerOf(api.databaseUrl), { connectionsMax: 1, role: 'owner' });
  const code = `wallet:${walletId}`;
  await holder.unsafe('BEGIN');
  await holder`SELECT 1 FROM ledger.accounts WHERE code = ${code} FOR UPDATE`;
  await api.test.post('/simulations/inbound-credits', {
    accountNumber: payment.virtualAccount.accountNumber,
    amount: payment.payableAmount,
  });
  await waitFor('the worker to be inside ledger.post', async () => {
    const [row] = await owner<{ waiting: number }[]>`
      SELECT count(*)::int AS waiting FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%ledger.post%'`;
    return row !== undefined && row.waiting > 0;
  });
  await kill(first);
  await holder.unsafe('ROLLBACK');
  await holder.end();

  const second = startWorkerProcess();
  await untilSettled(payment.id);
  expect(await api.balanceOf(walletId)).toBe(100_000);
  expect(await creditsPosted()).toBe(1);
  const events = await owner`SELECT 1 FROM events WHERE resource = ${payment.id}`;
  expect(events).toHaveLength(1);
  await kill(second);
}, 600_000);

test('a credit that arrived while no worker was running is posted when one starts', async () => {
  const walletId = await api.createWallet();
  const payment = await createPayment(walletId);
  const before = await creditsPosted();
  await api.test.post('/simulations/inbound-credits', {
    accountNumber: payment.virtualAccount.accountNumber,
    amount: payment.payableAmount,
  });
  const worker = startWorkerProcess();
  await untilSettled(payment.id);
  expect(await creditsPosted()).toBe(before + 1);
  await kill(worker);
}, 600_000);

test('POST /payments is 201 while Temporal is down, and the flow starts when Temporal is available', async () => {
  const port = await freePort();
  const worker = startWorkerProcess(`127.0.0.1:${port}`);
  const walletId = await api.createWallet();
  const payment = await createPayment(walletId);
  await api.test.post('/simulations/inbound-credits', {
    accountNumber: payment.virtualAccount.accountNumber,
    amount: payment.payableAmount,
  });
  expect((await api.test.get(`/payments/${payment.id}`)).data.status).toBe('pending');

  const folder = await mkdtemp(path.join(tmpdir(), 'manilla-temporal-'));
  const parts = new Supervisor({ logFolder: folder, say: () => {} });
  try {
    await startTemporal(parts, { program: await findTemporal({ say: () => {} }), portPreferred: port });
    await untilSettled(payment.id);
    expect(await api.balanceOf(walletId)).toBe(100_000);
  } finally {
    await kill(worker);
    await parts.stop();
    await rm(folder, { recursive: true, force: true });
  }
}, 600_000);
