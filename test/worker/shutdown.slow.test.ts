// A worker process that receives SIGTERM while it waits for a database lock: it exits within its own time limit, and
// the next worker continues its work. The locks are held until it has exited.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import {
  PROCESS_STOP_MAX_MS,
  RAIL_CALL_MAX_MS,
  WORKER_FORCE_MS,
  WORKER_GRACE_MS,
} from '../../src/concurrency/timeLimits.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { requireUuid } from '../../src/ids.ts';
import { walletAccount } from '../../src/ledger/chart.ts';
import { taskQueueOf } from '../../src/workflows/flows.ts';
import { startTestApi } from '../support/api.ts';
import { endProcess, killProcesses, startProcess } from '../support/processes.ts';
import { ownerOf, testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const SHUTDOWN = new URL('../../src/runtime.ts', import.meta.url).href;

const api = await startTestApi();
const connection = await Connection.connect({ address: testStack().temporalAddress });
const temporal = new Client({ connection });

afterAll(async () => {
  await killProcesses();
  await connection.close();
  await api.close();
});

const startWorkerProcess = () => startProcess('worker', api);

/** Does the work while another connection holds the lock that this statement takes. */
async function whileLocked(statement: string, work: () => Promise<void>): Promise<void> {
  const holder: Sql = connect(ownerOf(api.databaseUrl), { connectionsMax: 1, role: 'owner' });
  try {
    await holder.unsafe('BEGIN');
    await holder.unsafe(statement);
    await work();
  } finally {
    await holder.unsafe('ROLLBACK');
    await holder.end();
  }
}

const untilWaiting = (query: string) =>
  waitFor('the worker to wait for the lock', async () => {
    const found = await api.sql`
      SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE ${query}`;
    return found.length > 0;
  });

const end = (worker: ChildProcess) => endProcess(worker, 'SIGTERM');

test('a worker exits while maintenance waits for a lock, and the next worker does the maintenance', async () => {
  const worker = startWorkerProcess();
  const flow = await temporal.workflow.start('retention', {
    taskQueue: taskQueueOf(api.dependencies.config.temporal.taskQueue, 'maintenance'),
    workflowId: `retention-${randomUUID()}`,
  });
  await whileLocked('LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE', async () => {
    await untilWaiting('%idempotency_keys%');
    expect(await end(worker)).toBe(0);
  });
  const next = startWorkerProcess();
  expect(await flow.result()).toEqual({
    idempotencyKeys: 0,
    webhookAttempts: 0,
    requestLogs: 0,
    transferSends: 0,
    events: 0,
    sandboxBank: 0,
    closedDays: 0,
  });
  await end(next);
}, 300_000);

test('a worker exits while a posting waits for a locked account, and the next worker posts the money once', async () => {
  const worker = startWorkerProcess();
  const wallet = await api.createWallet();
  const body = { method: 'bank_transfer', baseAmount: 100_000, targetWalletId: wallet };
  const { data: payment } = await api.test.money('/payments', body);
  const { accountNumber } = payment.virtualAccount as { accountNumber: string };
  const code = walletAccount(requireUuid('wallet', wallet));
  await whileLocked(`SELECT FROM ledger.accounts WHERE code = '${code}' FOR UPDATE`, async () => {
    await api.test.post('/simulations/inbound-credits', { accountNumber, amount: payment.payableAmount });
    await untilWaiting('%ledger.post%');
    // An exit code: it exited rather than being killed by a signal.
    expect(await end(worker)).not.toBeNull();
  });
  const next = startWorkerProcess();
  await waitFor(
    'the payment to be settled',
    async () => (await api.test.get(`/payments/${payment.id}`)).data.status === 'settled',
  );
  expect(await api.balanceOf(wallet)).toBe(100_000);
  await end(next);
}, 300_000);

test('a process whose shutdown does not finish exits with code 1 at its time limit', async () => {
  const script = `
    import { onShutdown } from ${JSON.stringify(SHUTDOWN)};
    const log = { info() {}, error() {}, flush() {} };
    onShutdown(log, () => new Promise(() => {}), 50);
    setInterval(() => {}, 1_000_000);
    process.stdout.write('up');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  expect(await end(child)).toBe(1);
});

test('the shutdown limits are nested, and all are below 25 seconds', () => {
  expect(WORKER_GRACE_MS).toBeGreaterThanOrEqual(RAIL_CALL_MAX_MS); // no rail call is interrupted by a deployment
  expect(WORKER_FORCE_MS).toBeGreaterThan(WORKER_GRACE_MS);
  expect(PROCESS_STOP_MAX_MS).toBeGreaterThan(WORKER_FORCE_MS);
  expect(PROCESS_STOP_MAX_MS).toBeLessThan(25_000);
});
