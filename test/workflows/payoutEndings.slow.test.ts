// Payouts to each outcome on a real Temporal server, with every activity run twice, and again with every activity's
// first result lost: the money is the same as if each had run once. The payouts run concurrently, each in its own
// organisation.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import type { Resource, TestOrganisation } from '../support/api.ts';
import { waitFor } from '../support/waitFor.ts';
import { type PayoutFlows, startPayoutFlows } from './payoutBank.ts';

const [GOOD, REJECTED, UNKNOWN, OTHER_NAME, DENIED] = [
  '1000000001',
  '1000000002',
  '1000000003',
  '1000000004',
  '1000000005',
] as const;
const FUNDS = 10_000_000;
const to = (accountNumber: string, amount = 100_000, accountName = 'Mrs. Ada OBI') => ({
  amount,
  bankAccount: { accountNumber, bankCode: '058', accountName },
});

describe.each(['run twice', 'losing its first answer'] as const)('payouts with every activity %s', (repetition) => {
  let flows: PayoutFlows;

  beforeAll(async () => {
    flows = await startPayoutFlows(repetition);
    flows.bank.manners.set(REJECTED, 'reject').set(DENIED, 'deny');
    flows.bank.names.set(UNKNOWN, null).set(OTHER_NAME, 'CHIDI EZE');
  });

  afterAll(async () => {
    const { findings } = await verifyBooks(flows.api.sql);
    const [reserved, inTransit] = [await flows.balances('reserve:'), await flows.balances('in_transit:')];
    await flows.close();
    expect(findings).toEqual([]);
    expect([reserved, inTransit]).toEqual([0, 0]);
  });

  interface Started {
    payout: Resource;
    owner: TestOrganisation;
    sourceWalletId: string;
    itemIds: string[];
    untilStatus: (status: string) => Promise<Resource>;
    /** The total balance of the owner's accounts with this prefix. */
    balances: (codePrefix: string) => Promise<number>;
  }

  /** Creates and starts a payout in its own organisation. */
  async function startPayout(items: object[]): Promise<Started> {
    const owner = await flows.api.createOrganisation();
    const sourceWalletId = await flows.api.createWallet(owner.test, { balance: FUNDS });
    const { data, text, status } = await owner.test.money('/payouts', { sourceWalletId, items });
    if (status !== 202) throw new Error(text);
    await flows.start(data.id);
    return {
      payout: data,
      owner,
      sourceWalletId,
      itemIds: (data.items as Resource[]).map(({ id }) => id),
      untilStatus: (expected) => flows.untilStatus(data.id, expected, owner),
      balances: (codePrefix) => flows.balances(codePrefix, owner),
    };
  }

  const reportedEvents = async (payoutId: string) =>
    (await flows.events(payoutId)).map(({ type, data }) => [type, data.successCount, data.failureCount]);

  test.concurrent('a completed payout moves every amount through the rail and books every fee', async () => {
    const { payout, sourceWalletId, itemIds, untilStatus, balances } = await startPayout([
      to(GOOD),
      to(GOOD, 250_000),
      to(GOOD, 1),
    ]);
    const done = await untilStatus('completed');
    expect(done).toMatchObject({ successCount: 3, failureCount: 0 });
    for (const item of done.items as Resource[]) {
      expect(item).toMatchObject({
        status: 'completed',
        failureReason: null,
        counterparty: { accountName: 'ADA OBI' },
      });
    }
    const fees = 3_000 + 4_500 + 2_500;
    expect(await flows.api.balanceOf(sourceWalletId)).toBe(FUNDS - 350_001 - fees);
    expect(await balances('clearing:')).toBe(350_001 - FUNDS);
    expect(await balances('income:')).toBe(fees);
    expect(await flows.events(payout.id)).toEqual([
      {
        type: 'payout.completed',
        data: {
          id: payout.id,
          sourceWalletId,
          status: 'completed',
          totalAmount: 350_001,
          totalFee: fees,
          itemCount: 3,
          successCount: 3,
          failureCount: 0,
          reference: null,
          metadata: {},
          currency: 'NGN',
          createdAt: payout.createdAt,
        },
      },
    ]);
    expect(await flows.temporal.workflow.getHandle(payout.id).result()).toEqual({ status: 'completed' });
    expect(itemIds.map((id) => flows.bank.sends.get(id))).toEqual([1, 1, 1]);
  });

  test.concurrent('a partially completed payout returns each failed item, whatever its failure, and completes the others', async () => {
    const { payout, sourceWalletId, itemIds, untilStatus } = await startPayout([
      to(REJECTED),
      to(GOOD),
      to(UNKNOWN),
      to(OTHER_NAME),
      to(DENIED),
      to(GOOD, 20_000),
    ]);
    const done = await untilStatus('partially_completed');
    expect(done).toMatchObject({ successCount: 2, failureCount: 4 });
    expect(
      (done.items as Resource[]).map(({ status, failureCode, failureReason }) => [status, failureCode, failureReason]),
    ).toEqual([
      ['failed', 'bank_refused', 'Account closed'],
      ['completed', null, null],
      ['failed', 'account_not_resolved', 'The bank knows no account with this number'],
      ['failed', 'name_mismatch', 'The bank has this account under another name: CHIDI EZE'],
      ['failed', 'bank_refused', 'Transfers to this bank are suspended'],
      ['completed', null, null],
    ]);
    expect(await flows.api.balanceOf(sourceWalletId)).toBe(FUNDS - 103_000 - 22_500);
    expect(await reportedEvents(payout.id)).toEqual([['payout.partially_completed', 2, 4]]);
    // Items that failed at name enquiry were never sent.
    expect([2, 3].map((index) => flows.bank.sends.get(itemIds[index] ?? ''))).toEqual([undefined, undefined]);
  });

  test.concurrent('a failed payout returns everything to the wallet', async () => {
    const { payout, sourceWalletId, untilStatus } = await startPayout([to(REJECTED), to(UNKNOWN), to(REJECTED, 1)]);
    await untilStatus('failed');
    expect(await flows.api.balanceOf(sourceWalletId)).toBe(FUNDS);
    expect(await reportedEvents(payout.id)).toEqual([['payout.failed', 0, 3]]);
  });

  test.concurrent('items returned late are each returned to the wallet once, and status and events follow', async () => {
    const { payout, owner, sourceWalletId, itemIds, untilStatus, balances } = await startPayout([
      to(GOOD),
      to(GOOD, 50_000),
      to(GOOD, 10_000),
    ]);
    await untilStatus('completed');
    const [first, second, third] = itemIds as [string, string, string];

    flows.bank.end(second, 'returned');
    await flows.tell(second, owner);
    const after = await untilStatus('partially_completed');
    expect(after).toMatchObject({ successCount: 2, failureCount: 1 });
    expect((after.items as Resource[])[1]).toMatchObject({ status: 'failed', failureReason: 'Account dormant' });
    expect(await flows.api.balanceOf(sourceWalletId)).toBe(FUNDS - 103_000 - 12_500);

    // A repeated signal changes nothing.
    await flows.tell(second, owner);
    await flows.temporal.workflow.getHandle(second).result();
    expect(await reportedEvents(payout.id)).toHaveLength(2);

    // The status stays the same, and an event is emitted nevertheless.
    flows.bank.end(first, 'returned');
    await flows.tell(first, owner);
    await waitFor('the event of the second return', async () => (await reportedEvents(payout.id)).length === 3);

    flows.bank.end(third, 'returned');
    await flows.tell(third, owner);
    await untilStatus('failed');
    expect(await flows.api.balanceOf(sourceWalletId)).toBe(FUNDS);
    expect(await balances('income:')).toBe(0);
    expect(await reportedEvents(payout.id)).toEqual([
      ['payout.completed', 3, 0],
      ['payout.partially_completed', 2, 1],
      ['payout.partially_completed', 1, 2],
      ['payout.failed', 0, 3],
    ]);
  });

  test.concurrent('the last event counts all items that are returned late concurrently', async () => {
    const { payout, owner, sourceWalletId, itemIds, untilStatus } = await startPayout(
      Array.from({ length: 6 }, () => to(GOOD)),
    );
    await untilStatus('completed');
    for (const itemId of itemIds) flows.bank.end(itemId, 'returned');
    await Promise.all(itemIds.map((itemId) => flows.tell(itemId, owner)));
    await untilStatus('failed');
    expect(await flows.api.balanceOf(sourceWalletId)).toBe(FUNDS);
    expect((await reportedEvents(payout.id)).at(-1)).toEqual(['payout.failed', 0, 6]);
    await Promise.all(itemIds.map((itemId) => flows.temporal.workflow.getHandle(itemId).result()));
    expect((await reportedEvents(payout.id)).filter(([type]) => type === 'payout.failed')).toHaveLength(1);
  });
});
