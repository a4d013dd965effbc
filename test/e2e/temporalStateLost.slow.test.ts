// A Temporal server that loses all state while the service runs and restarts empty on the same address, without a
// restart of the workers. The workers recreate its Schedules, and the sweep restarts the flows.
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { freePort } from '../../dev/freePort.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { startTemporal } from '../../dev/temporal.ts';
import { findTemporal } from '../../dev/temporalInstall.mjs';
import { scheduleId } from '../../src/worker/schedules.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const logFolder = path.join(temporaryFolder(), 'logs');

let temporalPort: number;
let parts: Supervisor;
let connection: Connection;
let flows: TestFlows;

/** Starts a server without a database file, which loses all state when it stops. */
async function startInMemoryTemporal(): Promise<Supervisor> {
  const started = new Supervisor({ logFolder, say: () => {} });
  const program = await findTemporal({ say: () => {} });
  const { address } = await startTemporal(started, { program, portPreferred: temporalPort });
  expect(address).toBe(`127.0.0.1:${temporalPort}`);
  return started;
}

beforeAll(async () => {
  temporalPort = await freePort();
  parts = await startInMemoryTemporal();
  connection = await Connection.connect({ address: `127.0.0.1:${temporalPort}` });
  flows = await startTestFlows({
    settings: {
      TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}`,
      WORKER_ROLES: 'flows,maintenance,relay',
      SCHEDULES: 'on',
      schedulesEveryMs: 1_000,
      sweepEveryMs: 1_000,
      sweepAgeMinMs: 0,
    },
  });
});

afterAll(async () => {
  await flows.close();
  await connection.close();
  await parts.stop();
});

const client = () => new Client({ connection });
const scheduleOf = (workflow: string) =>
  client().schedule.getHandle(scheduleId(flows.dependencies.config.temporal.taskQueue, workflow));
const runs = (id: string) =>
  client()
    .workflow.getHandle(id)
    .describe()
    .then(
      ({ status }) => status.name === 'RUNNING',
      () => false,
    );

const SCHEDULES = [
  'creditPolling',
  'dayProof',
  'failingFlows',
  'ledgerSealing',
  'ledgerVerification',
  'reconciliation',
  'retention',
  'sweep',
];

/** The names of all Schedules that the server lists, which it does a moment after they were made. */
async function scheduleNames(): Promise<string[]> {
  const names: string[] = [];
  for await (const { scheduleId } of client().schedule.list()) names.push(scheduleId.replace(/.*-/, ''));
  return names.toSorted();
}

test('the workers recreate a deleted Schedule and leave a paused one paused', async () => {
  await scheduleOf('reconciliation').pause('at the bank’s wish');
  await scheduleOf('retention').delete();
  await waitFor('the retention Schedule to be recreated', () =>
    scheduleOf('retention')
      .describe()
      .then(
        () => true,
        () => false,
      ),
  );
  expect((await scheduleOf('reconciliation').describe()).state).toMatchObject({
    paused: true,
    note: 'at the bank’s wish',
  });
});

test('an empty Temporal server gets its Schedules and flows again without a restart of the workers', async () => {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, 200_000);
  await flows.credit(payment.virtualAccount.accountNumber, 50_000);
  await flows.untilStatus(`/payments/${payment.id}`, 'partial');
  await waitFor('the flow to run', () => runs(payment.id));

  await parts.stop();
  parts = await startInMemoryTemporal();

  await waitFor('the flow to run again', () => runs(payment.id));
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount - 50_000);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  expect(await flows.balanceOf(walletId)).toBe(200_000);
  await waitFor('every Schedule', async () => (await scheduleNames()).length === SCHEDULES.length);
  expect(await scheduleNames()).toEqual(SCHEDULES);
});
