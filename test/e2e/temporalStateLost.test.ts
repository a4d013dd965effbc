// A Temporal that loses everything while the service runs: it comes back empty, on the same address, and nobody touches
// the workers. Its Schedules come back, and the sweep that they start brings the flows back.
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { freePort } from '../../dev/freePort.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { startTemporal } from '../../dev/temporal.ts';
import { findTemporal } from '../../dev/temporalInstall.ts';
import { scheduleId } from '../../src/worker/schedules.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const logFolder = path.join(temporaryFolder(), 'logs');

let temporalPort: number;
let parts: Supervisor;
let connection: Connection;
let flows: TestFlows;

/** A server without a database file forgets everything when it ends. */
async function startForgetfulTemporal(): Promise<Supervisor> {
  const started = new Supervisor({ logFolder, say: () => {} });
  const program = await findTemporal({ say: () => {} });
  const { address } = await startTemporal(started, { program, portPreferred: temporalPort });
  expect(address).toBe(`127.0.0.1:${temporalPort}`);
  return started;
}

beforeAll(async () => {
  temporalPort = await freePort();
  parts = await startForgetfulTemporal();
  connection = await Connection.connect({ address: `127.0.0.1:${temporalPort}` });
  flows = await startTestFlows({
    settings: {
      TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}`,
      SCHEDULES: 'on',
      SCHEDULES_EVERY_SECONDS: '1',
      SWEEP_EVERY_SECONDS: '1',
      SWEEP_AGE_MIN_SECONDS: '0',
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
  client().schedule.getHandle(scheduleId(flows.services.config.temporal.taskQueue, workflow));
const runs = (id: string) =>
  client()
    .workflow.getHandle(id)
    .describe()
    .then(
      ({ status }) => status.name === 'RUNNING',
      () => false,
    );

test('a Schedule that is paused stays paused while the workers look after the others, which come back', async () => {
  await scheduleOf('reconciliation').pause('at the bank’s wish');
  await scheduleOf('housekeeping').delete();
  await waitFor('the housekeeping Schedule to be back', () =>
    scheduleOf('housekeeping')
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

test('a server that comes back empty has its Schedules and its flows again, and no worker was started anew', async () => {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, 200_000);
  await waitFor('the flow to run', () => runs(payment.id));

  await parts.stop();
  parts = await startForgetfulTemporal();

  await waitFor('the flow to run again', () => runs(payment.id));
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  expect(await flows.balanceOf(walletId)).toBe(200_000);
  const schedules: string[] = [];
  for await (const { scheduleId: id } of client().schedule.list()) schedules.push(id.replace(/.*-/, ''));
  expect(schedules.toSorted()).toEqual(['housekeeping', 'ledgerVerification', 'reconciliation', 'sweep']);
});
