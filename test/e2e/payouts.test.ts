// Payouts to each outcome, through the API, the worker and the sandbox bank: each item is paid once or not at all,
// independently of the others. Most tests run concurrently, each with its own wallet.
import { afterAll, describe, expect, test } from '@jest/globals';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import type { Resource } from '../support/api.ts';
import { startTestFlows } from '../support/flows.ts';
import { replayEverything } from '../support/histories.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows({
  settings: { WORKER_ROLES: 'flows,payouts,relay', notVisibleForMs: 100, callLimitMs: 2_000 },
});

afterAll(async () => {
  await replayEverything(flows);
  const { findings } = await verifyBooks(flows.sql);
  const inTransit = await flows.accountBalance('in_transit:payouts');
  await flows.close();
  expect(findings).toEqual([]);
  expect(inTransit).toBe(0);
});

const FUNDS = 10_000_000;
const AMOUNT = 100_000;
const FEE = 3_000;
const COST = AMOUNT + FEE;

const toBank = (accountNumber: string, more: object = {}) => ({
  amount: AMOUNT,
  bankAccount: { accountNumber, bankCode: '058', ...more },
});
const toWallet = (destinationWalletId: string) => ({ amount: AMOUNT, destinationWalletId });

async function payOut(items: object[]) {
  const sourceWalletId = await flows.createWallet(undefined, { balance: FUNDS });
  const { data, text, status } = await flows.test.money('/payouts', { sourceWalletId, items });
  if (status !== 202) throw new Error(text);
  const itemIds = (data.items as Resource[]).map(({ id }) => id);
  return { sourceWalletId, payout: data, itemIds, path: `/payouts/${data.id}` };
}

const items = (payout: Resource) => payout.items as (Resource & { failureReason: string | null })[];

const itemOf = async (path: string, place: number) => items((await flows.test.get(path)).data)[place];

const untilItem = (path: string, place: number, status: string) =>
  waitFor(`item ${place} of ${path} to be ${status}`, async () => (await itemOf(path, place))?.status === status);

const bankEnds = (itemId: string, outcome: string) =>
  flows.test.post(`/simulations/bank-transfers/${itemId}/resolve`, { outcome });

/** How often the bank paid each of these, by its own records. */
const timesPaid = (itemIds: readonly string[]) =>
  Promise.all(
    itemIds.map(async (id) => (await flows.test.get(`/simulations/bank-transfers/${id}`)).data?.timesPaid ?? 0),
  );

const eventTypes = async (id: string): Promise<string[]> => (await flows.eventsOf(id)).map(({ type }) => type);

describe('outcomes of payouts', () => {
  test.concurrent('a payout completes when banks are paid, and a wallet is credited through its deposit account', async () => {
    const destination = await flows.createWallet();
    const { sourceWalletId, payout, itemIds, path } = await payOut([toWallet(destination), toBank('0123456789')]);
    const done = await flows.untilStatus(path, 'completed');
    expect(done).toMatchObject({ successCount: 2, failureCount: 0, totalAmount: 2 * AMOUNT, totalFee: 2 * FEE });
    expect(await flows.balanceOf(sourceWalletId)).toBe(FUNDS - 2 * COST);
    await waitFor('the money to arrive', async () => (await flows.balanceOf(destination)) === AMOUNT);
    expect(await eventTypes(destination)).toEqual(['wallet.credited']);
    expect(await eventTypes(payout.id)).toEqual(['payout.completed']);
    expect(await timesPaid(itemIds)).toEqual([1, 1]);
  });

  test.concurrent('a payout with every kind of item outcome is partially completed', async () => {
    const { sourceWalletId, payout, itemIds, path } = await payOut([
      toBank('0123456789'),
      toBank('9999999001'),
      toBank('9999999002'),
      toBank('9999999004'),
      toBank('9999999005'),
      toBank('9999999006'),
      toBank('9999999007', { accountName: 'Ada Obi' }),
      toBank('9999999007', { accountName: 'Mr Somebody Else' }),
    ]);
    const done = await flows.untilStatus(path, 'partially_completed');
    expect(items(done).map(({ status, failureCode, failureReason }) => [status, failureCode, failureReason])).toEqual([
      ['completed', null, null],
      ['failed', 'bank_refused', 'The receiving bank rejected the transfer'],
      ['failed', 'bank_returned', 'The receiving bank returned the money'],
      ['completed', null, null], // the response to its send was lost
      ['failed', 'never_received', 'The bank never received the transfer'],
      ['failed', 'account_not_resolved', 'The bank knows no account with this number'],
      ['failed', 'name_mismatch', 'The bank has this account under another name: SOMEBODY ELSE'],
      ['completed', null, null],
    ]);
    expect(done).toMatchObject({ successCount: 3, failureCount: 5 });
    expect(await flows.balanceOf(sourceWalletId)).toBe(FUNDS - 3 * COST);
    expect(await timesPaid(itemIds)).toEqual([1, 0, 1, 1, 0, 0, 0, 1]);
    const [completed, failed, returned] = ['payout.item_completed', 'payout.item_failed', 'payout.item_returned'];
    const endings = [completed, failed, returned, completed, failed, failed, failed, completed];
    const ofItems = await Promise.all(itemIds.map((id) => flows.eventsOf(id)));
    expect(ofItems).toEqual(
      endings.map((type, index) => [{ type, data: { ...items(done)[index], payoutId: payout.id, currency: 'NGN' } }]),
    );
    expect(await flows.eventsOf(payout.id)).toEqual([
      {
        type: 'payout.partially_completed',
        data: {
          id: payout.id,
          sourceWalletId,
          status: 'partially_completed',
          totalAmount: 8 * AMOUNT,
          totalFee: 8 * FEE,
          itemCount: 8,
          successCount: 3,
          failureCount: 5,
          reference: null,
          metadata: {},
          currency: 'NGN',
          createdAt: payout.createdAt,
        },
      },
    ]);
  });
});

test.concurrent('counts change as items end, and an item held by the bank keeps the payout processing', async () => {
  const { itemIds, path } = await payOut([toBank('0123456789'), toBank('9999999003'), toBank('9999999001')]);
  await Promise.all([untilItem(path, 0, 'completed'), untilItem(path, 1, 'processing'), untilItem(path, 2, 'failed')]);
  expect((await flows.test.get(path)).data).toMatchObject({ status: 'processing', successCount: 1, failureCount: 1 });
  const heldItemId = itemIds[1] ?? '';
  await waitFor('the bank to have the transfer', async () => (await bankEnds(heldItemId, 'complete')).status === 200);
  expect(await flows.untilStatus(path, 'partially_completed')).toMatchObject({ successCount: 2, failureCount: 1 });
});

test.concurrent('an item returned after completion fails, and money, payout status and event follow exactly once', async () => {
  const { sourceWalletId, payout, itemIds, path } = await payOut([toBank('0123456789'), toBank('0123456788')]);
  await flows.untilStatus(path, 'completed');
  const [first, second] = itemIds as [string, string];
  for (const _repeated of [1, 2, 3]) await bankEnds(first, 'return');
  expect(await flows.untilStatus(path, 'partially_completed')).toMatchObject({ successCount: 1, failureCount: 1 });
  expect(await itemOf(path, 0)).toMatchObject({ failureReason: 'The receiving bank returned the money' });
  await bankEnds(second, 'return');
  await flows.untilStatus(path, 'failed');
  expect(await flows.balanceOf(sourceWalletId)).toBe(FUNDS);
  expect(await eventTypes(payout.id)).toEqual(['payout.completed', 'payout.partially_completed', 'payout.failed']);
  for (const id of itemIds) expect(await eventTypes(id)).toEqual(['payout.item_completed', 'payout.item_returned']);
});

test('an item to a wallet frozen meanwhile is completed, and the money is placed in a review case', async () => {
  const destination = await flows.createWallet();
  await flows.stopWorker();
  const { path } = await payOut([toWallet(destination)]);
  await flows.setWalletStatus(destination, 'frozen');
  await flows.startWorkerAgain();
  await flows.untilStatus(path, 'completed');
  await waitFor('the review case', async () =>
    (await flows.reviewCases()).some(({ reason, amount }) => reason === 'wallet_frozen' && amount === AMOUNT),
  );
  expect(await flows.balanceOf(destination)).toBe(0);
});
