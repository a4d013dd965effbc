// The sweeper with real servers: a resource whose flow was terminated, cancelled or deleted gets a new one within
// seconds and reaches the same outcome. The Schedules are those that the worker creates.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newUuid, requireUuid } from '../../src/ids.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { scheduleId, syncSchedules } from '../../src/worker/schedules.ts';
import { operate } from '../cli/run.ts';
import { type PaymentResource, startTestFlows, type TestFlows } from '../support/flows.ts';
import { WITHOUT_SCENARIO } from '../support/scenarios.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows({
  settings: {
    WORKER_ROLES: 'flows,payouts,maintenance,relay',
    SCHEDULES: 'on',
    sweepEveryMs: 1_000,
    sweepAgeMinMs: 0,
    notVisibleForMs: 100,
  },
});
const config: TestFlows['dependencies']['config'] = flows.dependencies.config;

afterAll(async () => {
  for (const workflow of [...WITHOUT_SCENARIO, 'dayProof']) await scheduleOf(workflow).delete();
  const { findings } = await verifyBooks(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

const scheduleOf = (workflow: string) =>
  flows.temporal.schedule.getHandle(scheduleId(config.temporal.taskQueue, workflow));
const flowOf = (id: string) => flows.temporal.workflow.getHandle(id);
const runOf = async (id: string) => {
  const { status, runId } = await flowOf(id).describe();
  return status.name === 'RUNNING' && runId;
};
const untilRuns = (id: string) => waitFor(`${id} to run`, () => runOf(id).catch(() => false as const));
const eventTypes = async (id: string) => (await flows.eventsOf(id)).map(({ type }) => type);
const untilBankHas = (reference: string) =>
  waitFor(
    `the bank to have ${reference}`,
    async () => (await flows.sql`SELECT FROM sandbox_bank.transfers WHERE reference = ${reference}`).length > 0,
  );
const bankPaid = async (reference: string) =>
  (
    await flows.sql<{ kind: string }[]>`
      SELECT kind FROM sandbox_bank.statement_lines WHERE reference = ${reference} ORDER BY id`
  ).map(({ kind }) => kind);

/** How a flow can be ended in the Temporal UI or with its command line. */
const ENDINGS = {
  terminated: (id: string) => flowOf(id).terminate('by mistake'),
  cancelled: (id: string) => flowOf(id).cancel(),
  deleted: async (id: string) => {
    await flows.temporal.workflowService.deleteWorkflowExecution({
      namespace: config.temporal.namespace,
      workflowExecution: { workflowId: id },
    });
  },
};

const HELD = '9999999003';

type Ending = keyof typeof ENDINGS;

/** Each test runs for each of them, all concurrently. */
const EACH = Object.keys(ENDINGS) as Ending[];

const PART = 50_000;

/** A payment whose flow waits for the rest. */
async function payPartly(walletId: string): Promise<PaymentResource> {
  const payment = await flows.createPayment(walletId, 200_000);
  await flows.credit(payment.virtualAccount.accountNumber, PART);
  await flows.untilStatus(`/payments/${payment.id}`, 'partial');
  return payment;
}

/** Ends the flow and waits for a new run. */
async function endAndAwait(id: string, ending: Ending): Promise<void> {
  const before = await untilRuns(id);
  await ENDINGS[ending](id);
  await waitFor(`${id} to be restarted`, async () => {
    const now = await runOf(id).catch(() => false as const);
    return now !== false && now !== before;
  });
}

test.concurrent.each(EACH)(
  'the flow of a partly paid payment that was %s is restarted within seconds, and the payment settles once',
  async (ending) => {
    const walletId = await flows.createWallet();
    const { id, virtualAccount, payableAmount } = await payPartly(walletId);
    await endAndAwait(id, ending);
    await flows.credit(virtualAccount.accountNumber, payableAmount - PART);
    await flows.untilStatus(`/payments/${id}`, 'settled');
    await flowOf(id).result();
    expect(await flows.balanceOf(walletId)).toBe(200_000);
    expect(await eventTypes(id)).toEqual(['payment.settled', 'payment.settled', 'payment.completed']);
  },
);

test.concurrent.each(EACH)(
  'the flow of a withdrawal that was %s while the bank held it is restarted within seconds, and it is paid once',
  async (ending) => {
    const { id, walletId } = await flows.withdraw(HELD, 1_000_000);
    await untilBankHas(id);
    await endAndAwait(id, ending);
    await flows.test.post(`/simulations/bank-transfers/${id}/resolve`, { outcome: 'complete' });
    await flows.untilStatus(`/withdrawals/${id}`, 'completed');
    await flowOf(id).result();
    expect(await flows.balanceOf(walletId)).toBe(897_000);
    expect(await eventTypes(id)).toEqual(['withdrawal.completed']);
    expect(await bankPaid(id)).toEqual(['sent']);
  },
);

describe('missing flows while the sweep is paused', () => {
  beforeAll(async () => {
    await scheduleOf('sweep').pause('manual inspection');
    await waitFor('no sweep to be running', async () => {
      const { info } = await scheduleOf('sweep').describe();
      return info.runningActions.length === 0;
    });
  });

  const missing = async (...words: string[]) => {
    const listed = await operate(flows, 'ada', 'flows', 'missing', '--age', '0', ...words);
    return listed as { id: string; flow: string; started: boolean }[];
  };

  test('`flows missing` lists missing flows, and `--start` starts them', async () => {
    const payment = await payPartly(await flows.createWallet());
    await untilRuns(payment.id);
    await flowOf(payment.id).terminate('by mistake');
    await waitFor('the flow to be listed', async () => (await missing()).some(({ id }) => id === payment.id));
    expect((await missing('--start')).find(({ id }) => id === payment.id)).toMatchObject({
      flow: 'payment',
      amount: 200_000,
      started: true,
    });
    await untilRuns(payment.id);
    expect((await missing()).filter(({ id }) => id === payment.id)).toEqual([]);
  });

  test.each([
    ['has no credit', 0],
    ['waits for the rest', PART],
  ])('the flow of a payment that %s gets the signal of a credit that was lost', async (_, received) => {
    const walletId = await flows.createWallet();
    const payment = received > 0 ? await payPartly(walletId) : await flows.createPayment(walletId, 200_000);
    const { id, virtualAccount } = payment;
    const payableAmount = payment.payableAmount - received;
    const { organisationId } = flows.organisation;
    // The bank and the database have the credit; only the signal is missing.
    await flows.sql`
      INSERT INTO sandbox_bank.credits (organisation_id, session_id, account_number, amount)
      VALUES (${organisationId}, ${`lost-${id}`}, ${virtualAccount.accountNumber}, ${payableAmount})`;
    await flows.sql`
      INSERT INTO inbound_credits (organisation_id, environment, id, version, rail, session_id, account_number, amount,
                                   owner_kind, owner_id, status, received_at)
      VALUES (${organisationId}, 'test', ${newUuid()}, 1, 'sandbox', ${`lost-${id}`}, ${virtualAccount.accountNumber},
              ${payableAmount}, 'payment', ${requireUuid('payment', id)}, 'received', now())`;
    await waitFor('the flow to be listed', async () => (await missing('--start')).some((one) => one.id === id));
    await flows.untilStatus(`/payments/${id}`, 'settled');
    expect(await flows.balanceOf(walletId)).toBe(200_000);
  });

  test('the flow of an ended payout is restarted for a returned item that was not rolled up', async () => {
    const sourceWalletId = await flows.createWallet(undefined, { balance: 103_000 });
    const items = [{ amount: 100_000, bankAccount: { accountNumber: '0123456789', bankCode: '058' } }];
    const { data } = await flows.test.money('/payouts', { sourceWalletId, items });
    const [{ id: itemId }] = data.items as [{ id: string }];
    await flows.untilStatus(`/payouts/${data.id}`, 'completed');
    await flows.test.post(`/simulations/bank-transfers/${itemId}/resolve`, { outcome: 'return' });
    await flows.untilStatus(`/payouts/${data.id}`, 'failed');
    await flowOf(itemId).result();
    expect((await missing()).filter(({ id }) => id === data.id)).toEqual([]);
    // The state if the item's flow had been ended between the return and the roll-up.
    await flows.sql`
      UPDATE payouts SET status = 'completed', version = version + 1 WHERE id = ${requireUuid('payout', data.id)}`;
    await flows.sql`
      UPDATE payout_items SET unreported = true, version = version + 1 WHERE id = ${requireUuid('payoutItem', itemId)}`;
    expect((await missing('--start')).find(({ id }) => id === data.id)).toMatchObject({
      flow: 'payout',
      started: true,
    });
    await flows.untilStatus(`/payouts/${data.id}`, 'failed');
    await flowOf(data.id).result();
    expect(await eventTypes(data.id)).toEqual(['payout.completed', 'payout.failed', 'payout.failed']);
    expect((await missing()).filter(({ id }) => id === data.id)).toEqual([]);
  });

  test('a starting worker leaves a paused Schedule paused', async () => {
    await syncSchedules(flows.temporal, config);
    expect((await scheduleOf('sweep').describe()).state.paused).toBe(true);
    const { spec } = await scheduleOf('ledgerVerification').describe();
    expect(spec.intervals?.[0]).toMatchObject({ every: 86_400_000, offset: 7_200_000 });
  });
});
