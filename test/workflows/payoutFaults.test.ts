// What a payout does when something is in its way: a bank that does not answer or does not decide, a worker that dies, an
// operator who ends its flows. The money is never doubled and no item is forgotten. The tests wait much, so they do it at the
// same time, each with a wallet of its own and with accounts of its own where the bank misbehaves.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createPayoutActivities } from '../../src/activities/payouts.ts';
import { requireUuid } from '../../src/ids.ts';
import { walletAccount } from '../../src/ledger/chart.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { RailUnavailableError } from '../../src/rail/port.ts';
import { WINDOW } from '../../src/workflows/payout/decide.ts';
import type { Resource } from '../support/api.ts';
import { waitFor } from '../support/waitFor.ts';
import { type PayoutFlows, startPayoutFlows } from './payoutBank.ts';

const [GOOD, HELD, REJECTED] = ['1000000001', '1000000002', '1000000003'] as const;
/** Accounts about which the bank does not answer, each in the one test that names it. */
const [SEND_LOST, SEND_DIES, ...ENQUIRY_FAILS] = [
  '2000000001',
  '2000000002',
  '3000000001',
  '3000000002',
  '3000000003',
] as const;
const FUNDS = 10_000_000;
const AWAY = new RailUnavailableError('the bank does not answer');
const to = (accountNumber: string, more: object = {}) => ({
  amount: 100_000,
  bankAccount: { accountNumber, bankCode: '058' },
  ...more,
});

let flows: PayoutFlows;

beforeAll(async () => {
  flows = await startPayoutFlows('run once', { ATTENTION_RAIL_UNREACHABLE_SECONDS: '1' });
  flows.bank.manners.set(HELD, 'hold').set(REJECTED, 'reject');
});

afterAll(async () => {
  const { findings } = await verifyLedger(flows.api.sql);
  const [reserved, inTransit] = [await flows.balances('reserve:'), await flows.balances('in_transit:')];
  await flows.close();
  expect(findings).toEqual([]);
  expect([reserved, inTransit]).toEqual([0, 0]);
});

interface Made {
  payout: Resource;
  sourceWalletId: string;
  itemIds: string[];
}

async function createPayout(items: object[]): Promise<Made> {
  const sourceWalletId = await flows.api.createWallet(undefined, { balance: FUNDS });
  const { data, text, status } = await flows.api.test.money('/payouts', { sourceWalletId, items });
  if (status !== 202) throw new Error(text);
  return { payout: data, sourceWalletId, itemIds: (data.items as Resource[]).map(({ id }) => id) };
}

async function startPayout(items: object[]): Promise<Made> {
  const made = await createPayout(items);
  await flows.start(made.payout.id);
  return made;
}

const handle = (id: string) => flows.temporal.workflow.getHandle(id);

const itemStatuses = async (payoutId: string): Promise<string[]> =>
  ((await flows.api.test.get(`/payouts/${payoutId}`)).data.items as Resource[]).map(({ status }) => status);

const untilTaken = (itemId: string) => waitFor(`the bank to have ${itemId}`, () => flows.bank.taken.has(itemId));

/** The bank decides a held transfer, and says so. */
async function decide(itemId: string): Promise<void> {
  flows.bank.end(itemId, 'completed');
  await flows.tell(itemId);
}

const isOver = async (id: string): Promise<boolean> => (await handle(id).describe()).status.name !== 'RUNNING';

test.concurrent('a bank that does not answer delays an item and never fails it', async () => {
  flows.bank.sendFaults.set(SEND_LOST, AWAY);
  const { payout, itemIds } = await startPayout([to(SEND_LOST)]);
  await waitFor('the send whose answer was lost', () => !flows.bank.sendFaults.has(SEND_LOST));
  // It is unknown whether the bank got it. Here it had.
  const [itemId] = itemIds as [string];
  flows.bank.taken.set(itemId, { reference: itemId, status: 'completed', sessionId: 'found', reason: null });
  await flows.tell(itemId);
  await flows.untilStatus(payout.id, 'completed');
  expect(flows.bank.sends.get(itemId)).toBeUndefined();
});

describe('without name enquiry an item stays in the reserve and its flow parks', () => {
  async function parked(
    accountNumber: string,
  ): Promise<Made & { itemId: string; resolve: (action: string, operator: string) => Promise<unknown> }> {
    flows.bank.enquiryFaults.set(accountNumber, AWAY);
    const made = await startPayout([to(accountNumber)]);
    const [itemId] = made.itemIds as [string];
    await waitFor('the item to be parked', async () => {
      const { count } = await flows.temporal.workflow.count(
        `WorkflowId = '${itemId}' AND Attention = 'rail_unreachable'`,
      );
      return count === 1;
    });
    expect(await itemStatuses(made.payout.id)).toEqual(['pending']);
    const resolve = (action: string, operator: string) =>
      handle(itemId).executeUpdate('resolve', { args: [{ action, operator, reason: 'the bank says so' }] });
    return { ...made, itemId, resolve };
  }

  test.concurrent('and goes on when it is back', async () => {
    const { payout, itemId, resolve } = await parked(ENQUIRY_FAILS[0]);
    flows.bank.enquiryFaults.delete(ENQUIRY_FAILS[0]);
    await resolve('retry', 'ngozi');
    await flows.untilStatus(payout.id, 'completed');
    expect(flows.bank.sends.get(itemId)).toBe(1);
  });

  test.concurrent.each([
    ['fail', 'failed', 0, ENQUIRY_FAILS[1]],
    ['complete', 'completed', 103_000, ENQUIRY_FAILS[2]],
  ] as const)('and two operators may %s it, out of the reserve', async (action, status, spent, accountNumber) => {
    const { payout, sourceWalletId, resolve } = await parked(accountNumber);
    await resolve(action, 'ngozi');
    await resolve(action, 'tunde');
    await flows.untilStatus(payout.id, status);
    expect(await flows.api.balanceOf(sourceWalletId)).toBe(FUNDS - spent);
  });
});

test.concurrent('a worker that dies between taking the money out of the reserve and sending it: held once, sent once', async () => {
  flows.bank.sendFaults.set(SEND_DIES, new Error('the worker died'));
  const { payout, sourceWalletId, itemIds } = await startPayout([to(SEND_DIES)]);
  await flows.untilStatus(payout.id, 'completed');
  expect(flows.bank.sends.get(itemIds[0] ?? '')).toBe(1);
  expect(await flows.api.balanceOf(sourceWalletId)).toBe(FUNDS - 103_000);
});

test.concurrent('steps that run many times at the same time move the money and tell of it once', async () => {
  const { payout, sourceWalletId, itemIds } = await createPayout([to(GOOD), to(REJECTED)]);
  const steps = createPayoutActivities(flows.api.services);
  const book = { organisationId: flows.api.organisation.organisationId, environment: 'test' as const };
  const input = { ...book, payoutId: payout.id, walletId: sourceWalletId, amount: 100_000 };
  const often = (step: () => Promise<unknown>) => Promise.all(Array.from({ length: 20 }, step));
  for (const transferId of itemIds) await often(() => steps.sendPayoutItem({ ...input, transferId }));
  await often(() => steps.rollUpPayout(input));
  expect(await itemStatuses(payout.id)).toEqual(['completed', 'failed']);
  expect(await flows.api.balanceOf(sourceWalletId)).toBe(FUNDS - 103_000);
  expect(await flows.events(payout.id)).toHaveLength(1);
});

test.concurrent('an item whose flow an operator ended is taken up again by its payout', async () => {
  const { payout, itemIds } = await startPayout([to(HELD), to(GOOD)]);
  const [held] = itemIds as [string];
  await untilTaken(held);
  await handle(held).terminate('by mistake');
  const first = (await handle(held).describe()).runId;
  await waitFor('another flow of the item', async () => (await handle(held).describe()).runId !== first);
  await decide(held);
  await flows.untilStatus(payout.id, 'completed');
  expect(flows.bank.sends.get(held)).toBe(1);
});

test.concurrent('a payout whose flow an operator ended leaves its items running, and ends when it is started again', async () => {
  const { payout, itemIds } = await startPayout([to(HELD), to(GOOD)]);
  const [held] = itemIds as [string];
  await untilTaken(held);
  await handle(payout.id).terminate('by mistake');
  expect(await isOver(held)).toBe(false);
  await flows.startAgain(payout.id);
  // Its page runs already, from before: it waits, and looks again.
  await waitFor('the payout to wait for what runs apart from it', async () => {
    const { events } = await handle(payout.id).fetchHistory();
    return events?.some((event) => event.timerStartedEventAttributes);
  });
  await decide(held);
  await flows.untilStatus(payout.id, 'completed');
  expect(await handle(payout.id).result()).toEqual({ status: 'completed' });
  expect(await flows.events(payout.id)).toHaveLength(1);
});

test.concurrent('cancelling a payout cancels no transfer', async () => {
  const { payout, itemIds } = await startPayout([to(HELD)]);
  const [held] = itemIds as [string];
  await untilTaken(held);
  await handle(payout.id).cancel();
  await waitFor('the payout flow to end', () => isOver(payout.id));
  expect(await isOver(held)).toBe(false);
  await decide(held);
  await handle(held).result();
  expect(await itemStatuses(payout.id)).toEqual(['completed']);
  await flows.startAgain(payout.id);
  await flows.untilStatus(payout.id, 'completed');
});

test.concurrent('a page that is cancelled starts no more items, cancels none, and is run again', async () => {
  const { payout, itemIds } = await startPayout(Array.from({ length: WINDOW + 1 }, () => to(HELD, { amount: 1_000 })));
  const first = itemIds.slice(0, WINDOW);
  await Promise.all(first.map(untilTaken));
  const page = handle(`${payout.id}/1-${WINDOW + 1}`);
  const { runId } = await page.describe();
  await page.cancel();
  await waitFor('the page to be run again', async () => (await page.describe()).runId !== runId);
  await Promise.all(itemIds.map(untilTaken));
  await Promise.all(itemIds.map((itemId) => decide(itemId)));
  await flows.untilStatus(payout.id, 'completed');
  expect(new Set(itemIds.map((itemId) => flows.bank.sends.get(itemId)))).toEqual(new Set([1]));
});

test.concurrent('items that the bank does not decide do not stand in front of the others', async () => {
  const many = Array.from({ length: WINDOW }, () => to(HELD, { amount: 1_000 }));
  const { payout, itemIds } = await startPayout([...many, to(GOOD), to(GOOD)]);
  await waitFor(
    'the others to be paid',
    async () => (await itemStatuses(payout.id)).slice(WINDOW).join() === 'completed,completed',
  );
  const held = itemIds.slice(0, WINDOW);
  expect(new Set((await itemStatuses(payout.id)).slice(0, WINDOW))).toEqual(new Set(['processing']));
  await Promise.all(held.map((itemId) => decide(itemId)));
  await flows.untilStatus(payout.id, 'completed');
});

test.concurrent('what comes back to a wallet that was closed meanwhile waits for a person', async () => {
  const sourceWalletId = await flows.api.createWallet(undefined, { balance: 103_000 });
  const { data: payout } = await flows.api.test.money('/payouts', { sourceWalletId, items: [to(GOOD)] });
  await flows.start(payout.id);
  await flows.untilStatus(payout.id, 'completed');
  const [itemId] = (payout.items as Resource[]).map(({ id }) => id) as [string];
  await flows.api.sql`
    UPDATE ledger.accounts SET status = 'closed' WHERE code = ${walletAccount(requireUuid('wallet', sourceWalletId))}`;
  flows.bank.end(itemId, 'returned');
  await flows.tell(itemId);
  await flows.untilStatus(payout.id, 'failed');
  expect(await flows.api.balanceOf(sourceWalletId)).toBe(0);
  const cases = await flows.api.sql`SELECT reason, amount, account_code, status FROM review_cases`;
  expect([...cases]).toEqual([
    { reason: 'wallet_closed', amount: 103_000, accountCode: 'suspense:unmatched', status: 'open' },
  ]);
});
