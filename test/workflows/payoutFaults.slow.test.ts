// Payouts under faults: a bank that does not respond or decide, a crashing worker, an operator who ends flows. Money is
// never paid twice and no item is lost. The tests wait for long, so they run concurrently, each with its own wallet,
// and with its own accounts where the bank misbehaves.
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { createMoneyActivities } from '../../src/activities/moneyActivities.ts';
import { RailUnavailableError } from '../../src/rail/errors.ts';
import { findProviderMessage } from '../../src/resources/rails/providerMessages.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { WINDOW } from '../../src/workflows/payout/decide.ts';
import type { Resource } from '../support/api.ts';
import { withCode } from '../support/operators.ts';
import { reportOf } from '../support/scriptedRail.ts';
import { waitFor } from '../support/waitFor.ts';
import { startPayoutFlows } from './payoutBank.ts';

const [GOOD, HELD, REJECTED] = ['1000000001', '1000000002', '1000000003'] as const;
/** Accounts for which the bank does not respond, each used by one test. */
const [SEND_LOST, SEND_DIES, ...ENQUIRY_FAILS] = [
  '2000000001',
  '2000000002',
  '3000000001',
  '3000000002',
  '3000000003',
] as const;
type HistoryEvent = NonNullable<History['events']>[number];

const FUNDS = 10_000_000;
const MESSAGE = 'Service temporarily unavailable';
const UNREACHABLE = new RailUnavailableError('the bank does not answer', { providerMessage: MESSAGE });
const to = (accountNumber: string, more: object = {}) => ({
  amount: 100_000,
  bankAccount: { accountNumber, bankCode: '058' },
  ...more,
});

const flows = await startPayoutFlows({ ATTENTION_RAIL_UNREACHABLE_SECONDS: '1' });
flows.bank.manners.set(HELD, 'hold').set(REJECTED, 'reject');

afterAll(async () => {
  const held = await flows.sql`
    SELECT code, balance FROM ledger.accounts WHERE code ~ '^(reserve|in_transit):' AND balance <> 0`;
  const { findings } = await verifyBooks(flows.sql);
  await flows.close();
  expect([findings, [...held]]).toEqual([[], []]);
});

interface Made {
  payout: Resource;
  sourceWalletId: string;
  itemIds: string[];
}

async function createPayout(items: object[]): Promise<Made> {
  const sourceWalletId = await flows.createWallet(undefined, { balance: FUNDS });
  const { data, text, status } = await flows.test.money('/payouts', { sourceWalletId, items });
  if (status !== 202) throw new Error(text);
  return { payout: data, sourceWalletId, itemIds: (data.items as Resource[]).map(({ id }) => id) };
}

const handle = (id: string) => flows.temporal.workflow.getHandle(id);

const itemStatuses = async (payoutId: string): Promise<string[]> =>
  ((await flows.test.get(`/payouts/${payoutId}`)).data.items as Resource[]).map(({ status }) => status);

const untilTaken = (itemId: string) => waitFor(`the bank to have ${itemId}`, () => flows.bank.taken.has(itemId));

/** Completes a held transfer and signals its flow. */
async function decide(itemId: string): Promise<void> {
  flows.bank.end(itemId, 'completed');
  await flows.wakeItem(itemId);
}

const hasEnded = async (id: string): Promise<boolean> => (await handle(id).describe()).status.name !== 'RUNNING';

test.concurrent('a lost response of the bank delays an item and does not fail it', async () => {
  flows.bank.sendFaults.set(SEND_LOST, UNREACHABLE);
  const { payout, itemIds } = await createPayout([to(SEND_LOST)]);
  await waitFor('the send whose response is lost', () => !flows.bank.sendFaults.has(SEND_LOST));
  // The outcome is unknown to the flow; here the bank had received the send.
  const [itemId] = itemIds as [string];
  flows.bank.taken.set(itemId, { ...reportOf(itemId, 'completed'), sessionId: 'found' });
  await flows.wakeItem(itemId);
  await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
  expect(flows.bank.sends.get(itemId)).toBeUndefined();
});

describe('items without name enquiry', () => {
  async function parkedItem(
    accountNumber: string,
  ): Promise<Made & { itemId: string; resolve: (action: string, operator: string) => Promise<unknown> }> {
    flows.bank.enquiryFaults.set(accountNumber, UNREACHABLE);
    const made = await createPayout([to(accountNumber)]);
    const [itemId] = made.itemIds as [string];
    await waitFor('the item to be parked', async () => {
      const { count } = await flows.temporal.workflow.count(
        `WorkflowId = '${itemId}' AND Attention = 'rail_unreachable'`,
      );
      return count === 1;
    });
    expect(await itemStatuses(made.payout.id)).toEqual(['pending']);
    const resolve = async (action: string, operator: string) =>
      handle(itemId).executeUpdate('resolve', {
        args: [await withCode(flows.sql, itemId, { action, operator, reason: 'the bank says so' })],
      });
    return { ...made, itemId, resolve };
  }

  test.concurrent('an item without name enquiry parks in the reserve and continues when name enquiry works again', async () => {
    const { payout, itemId, resolve } = await parkedItem(ENQUIRY_FAILS[0]);
    const { organisationId } = flows.organisation;
    expect(await findProviderMessage(flows.sql, organisationId, itemId)).toMatchObject({ message: MESSAGE });
    flows.bank.enquiryFaults.delete(ENQUIRY_FAILS[0]);
    await resolve('retry', 'ngozi');
    await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
    expect(flows.bank.sends.get(itemId)).toBe(1);
  });

  test.concurrent.each([
    ['fail', 'failed', 0, ENQUIRY_FAILS[1]],
    ['complete', 'completed', 103_000, ENQUIRY_FAILS[2]],
  ] as const)(
    'two operators may %s an item without name enquiry, from the reserve',
    async (action, status, spent, accountNumber) => {
      const { payout, sourceWalletId, resolve } = await parkedItem(accountNumber);
      await resolve(action, 'ngozi');
      await resolve(action, 'tunde');
      await flows.untilStatus(`/payouts/${payout.id}`, status);
      expect(await flows.balanceOf(sourceWalletId)).toBe(FUNDS - spent);
    },
  );
});

test.concurrent('a crash between the hold and the send of an item holds its money once and sends it once', async () => {
  flows.bank.sendFaults.set(SEND_DIES, new Error('the worker died'));
  const { payout, sourceWalletId, itemIds } = await createPayout([to(SEND_DIES)]);
  await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
  expect(flows.bank.sends.get(itemIds[0] ?? '')).toBe(1);
  expect(await flows.balanceOf(sourceWalletId)).toBe(FUNDS - 103_000);
});

test.concurrent('activities that run concurrently move the money once and emit one event', async () => {
  const { payout, sourceWalletId, itemIds } = await createPayout([to(GOOD), to(REJECTED)]);
  const steps = createMoneyActivities(flows.dependencies);
  const book = { organisationId: flows.organisation.organisationId, environment: 'test' as const };
  const input = { ...book, payoutId: payout.id, walletId: sourceWalletId, amount: 100_000 };
  const often = (step: () => Promise<unknown>) => Promise.all(Array.from({ length: 20 }, step));
  for (const transferId of itemIds) await often(() => steps.sendBankTransfer({ ...input, transferId }));
  await often(() => steps.rollUpPayout(input));
  expect(await itemStatuses(payout.id)).toEqual(['completed', 'failed']);
  expect(await flows.balanceOf(sourceWalletId)).toBe(FUNDS - 103_000);
  expect(await flows.eventsOf(payout.id)).toHaveLength(1);
});

test.concurrent('the terminated flow of an item is restarted by its payout', async () => {
  const { payout, itemIds } = await createPayout([to(HELD), to(GOOD)]);
  const [held] = itemIds as [string];
  await untilTaken(held);
  await handle(held).terminate('by mistake');
  const first = (await handle(held).describe()).runId;
  await waitFor('another flow of the item', async () => (await handle(held).describe()).runId !== first);
  await decide(held);
  await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
  expect(flows.bank.sends.get(held)).toBe(1);
});

test.concurrent('terminating the flow of a payout leaves its items running, and a restarted flow completes', async () => {
  const { payout, itemIds } = await createPayout([to(HELD), to(GOOD)]);
  const [held] = itemIds as [string];
  await untilTaken(held);
  await handle(payout.id).terminate('by mistake');
  expect(await hasEnded(held)).toBe(false);
  await flows.startAgain(payout.id);
  // The flow of the item is still running, so the restarted flow waits and checks again.
  await waitFor('the payout to wait for the running item', async () => {
    const { events } = await handle(payout.id).fetchHistory();
    return events?.some((event) => event.timerStartedEventAttributes);
  });
  await decide(held);
  await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
  expect(await handle(payout.id).result()).toEqual({ status: 'completed' });
  expect(await flows.eventsOf(payout.id)).toHaveLength(1);
});

test.concurrent('cancelling the flow of a payout cancels no transfer', async () => {
  const { payout, itemIds } = await createPayout([to(HELD)]);
  const [held] = itemIds as [string];
  await untilTaken(held);
  await handle(payout.id).cancel();
  await waitFor('the payout flow to end', () => hasEnded(payout.id));
  expect(await hasEnded(held)).toBe(false);
  await decide(held);
  // Without a flow of the payout, its last item rolls it up.
  await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
  await flows.startAgain(payout.id);
  expect(await handle(payout.id).result()).toEqual({ status: 'completed' });
  expect(await flows.eventsOf(payout.id)).toHaveLength(1);
});

test.concurrent.each(['first', 'last'] as const)(
  'a payout that is reset to its %s task while an item runs completes',
  async (task) => {
    const { payout, itemIds } = await createPayout([to(HELD), to(GOOD)]);
    const [held] = itemIds as [string];
    await untilTaken(held);
    await waitFor('the other item', async () => (await itemStatuses(payout.id))[1] === 'completed');
    const { runId } = await handle(payout.id).describe();
    const { events } = await handle(payout.id).fetchHistory();
    const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
    await flows.temporal.workflowService.resetWorkflowExecution({
      namespace: flows.dependencies.config.temporal.namespace,
      workflowExecution: { workflowId: payout.id, runId },
      workflowTaskFinishEventId: tasks.at(task === 'first' ? 0 : -1)?.eventId ?? null,
      reason: 'test',
      requestId: randomUUID(),
    });
    await decide(held);
    await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
    expect(await handle(payout.id).result()).toEqual({ status: 'completed' });
    expect(itemIds.map((itemId) => flows.bank.sends.get(itemId))).toEqual([1, 1]);
    expect(await flows.eventsOf(payout.id)).toHaveLength(1);
  },
);

test.concurrent('a payout cancelled before or while it starts its items cancels none, and is run again with the others', async () => {
  const { payout, itemIds } = await createPayout(Array.from({ length: 30 }, () => to(HELD, { amount: 1_000 })));
  const eventsOfKind = async (kind: keyof HistoryEvent): Promise<number> =>
    ((await handle(payout.id).fetchHistory()).events ?? []).filter((event) => event[kind]).length;
  const untilEnded = () => waitFor('the payout flow to end', () => hasEnded(payout.id));
  await waitFor('the payout flow to be cancelled', () =>
    handle(payout.id)
      .cancel()
      .then(
        () => true,
        () => false,
      ),
  );
  await untilEnded();

  await flows.startAgain(payout.id);
  const starts = () => eventsOfKind('startChildWorkflowExecutionInitiatedEventAttributes');
  await waitFor('the items to be started', async () => (await starts()) > 0);
  await handle(payout.id).cancel();
  await untilEnded();
  // The server drops a start whose parent has ended, and may leave a flow that never gets its first task.
  const answered =
    (await eventsOfKind('childWorkflowExecutionStartedEventAttributes')) +
    (await eventsOfKind('startChildWorkflowExecutionFailedEventAttributes')); // those that run already
  expect(answered).toBe(itemIds.length);
  expect(await Promise.all(itemIds.map(hasEnded))).toEqual(itemIds.map(() => false));

  await flows.startAgain(payout.id);
  await Promise.all(itemIds.map(untilTaken));
  await Promise.all(itemIds.map((itemId) => decide(itemId)));
  await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
  expect(new Set(itemIds.map((itemId) => flows.bank.sends.get(itemId)))).toEqual(new Set([1]));
});

test.concurrent('items held by the bank do not block the others', async () => {
  const many = Array.from({ length: WINDOW }, () => to(HELD, { amount: 1_000 }));
  const { payout, itemIds } = await createPayout([...many, to(GOOD), to(GOOD)]);
  await waitFor(
    'the others to be paid',
    async () => (await itemStatuses(payout.id)).slice(WINDOW).join() === 'completed,completed',
  );
  const held = itemIds.slice(0, WINDOW);
  await Promise.all(held.map(untilTaken));
  expect(new Set((await itemStatuses(payout.id)).slice(0, WINDOW))).toEqual(new Set(['processing']));
  await Promise.all(held.map((itemId) => decide(itemId)));
  await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
});

test.concurrent('an item returned to a wallet closed meanwhile goes to suspense with a review case', async () => {
  const sourceWalletId = await flows.createWallet(undefined, { balance: 103_000 });
  const { data: payout } = await flows.test.money('/payouts', { sourceWalletId, items: [to(GOOD)] });
  await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
  const [itemId] = (payout.items as Resource[]).map(({ id }) => id) as [string];
  await flows.setWalletStatus(sourceWalletId, 'closed');
  flows.bank.end(itemId, 'returned');
  await flows.wakeItem(itemId);
  await flows.untilStatus(`/payouts/${payout.id}`, 'failed');
  expect(await flows.balanceOf(sourceWalletId)).toBe(0);
  const cases = await flows.sql`SELECT reason, amount, account_code, status FROM review_cases`;
  expect([...cases]).toEqual([
    { reason: 'wallet_closed', amount: 103_000, accountCode: 'suspense:unmatched', status: 'open' },
  ]);
});

test.concurrent('the last event counts all items that are returned late at the same time', async () => {
  const { payout, sourceWalletId, itemIds } = await createPayout(Array.from({ length: 6 }, () => to(GOOD)));
  await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
  for (const itemId of itemIds) flows.bank.end(itemId, 'returned');
  await Promise.all(itemIds.map((itemId) => flows.wakeItem(itemId)));
  await flows.untilStatus(`/payouts/${payout.id}`, 'failed');
  await Promise.all(itemIds.map((itemId) => handle(itemId).result()));
  expect(await flows.balanceOf(sourceWalletId)).toBe(FUNDS);
  const failed = (await flows.eventsOf(payout.id)).filter(({ type }) => type === 'payout.failed');
  expect(failed).toMatchObject([{ data: { successCount: 0, failureCount: 6 } }]);
});
