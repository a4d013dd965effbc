// Withdrawals to each outcome, through the API, the worker and the sandbox bank: the wallet pays once or not at all,
// and the bank makes at most one transfer, whatever the order and number of its callbacks. Most tests run concurrently,
// each with its own wallet.
import { afterAll, describe, expect, test } from '@jest/globals';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows({ settings: { notVisibleForMs: 100 } });

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const AMOUNT = 100_000;
const FEE = 3_000;
const FUNDS = 1_000_000;
/** Events of a history whose first activity has completed. */
const FIRST_TRY_EVENTS = 8;

const withdraw = (accountNumber: string) => flows.withdraw(accountNumber, FUNDS);

const transfersOf = async (reference: string): Promise<number> => {
  const [row] = await flows.sql<{ made: number }[]>`
    SELECT count(*)::int AS made FROM sandbox_bank.transfers WHERE reference = ${reference}`;
  return row?.made ?? 0;
};

const eventTypes = async (id: string): Promise<string[]> => (await flows.eventsOf(id)).map(({ type }) => type);

test('a withdrawal is accepted with amount and fee held before the bank responds', async () => {
  const { walletId, path } = await withdraw('9999999003');
  const { data } = await flows.test.get(path);
  expect(data).toMatchObject({
    sourceWalletId: walletId,
    amount: AMOUNT,
    fee: FEE,
    totalAmount: AMOUNT + FEE,
    status: 'processing',
    failureReason: null,
    completedAt: null,
    counterparty: { accountNumber: '9999999003', bankCode: '058' },
  });
  expect(data.counterparty).toMatchObject({ accountName: expect.any(String), bankName: expect.any(String) });
  expect(await flows.balanceOf(walletId)).toBe(FUNDS - AMOUNT - FEE);
});

describe('outcomes of withdrawals', () => {
  test.concurrent('a completed withdrawal moves the amount through the rail and books the fee', async () => {
    const { walletId, id, path } = await withdraw('0123456789');
    const done = await flows.untilStatus(path, 'completed');
    expect(done.completedAt).not.toBeNull();
    expect(await flows.balanceOf(walletId)).toBe(FUNDS - AMOUNT - FEE);
    expect(done.sessionId).toEqual(expect.any(String));
    expect(await flows.eventsOf(id)).toEqual([{ type: 'withdrawal.completed', data: done }]);
    expect(await flows.flow(id).result()).toEqual({ status: 'completed' });
    expect(await transfersOf(id)).toBe(1);
  });

  test.concurrent('a withdrawal that the bank rejects is failed, and amount and fee are returned', async () => {
    const { walletId, id, path } = await withdraw('9999999001');
    const failed = await flows.untilStatus(path, 'failed');
    expect(failed).toMatchObject({ failureCode: 'bank_refused', failureReason: expect.any(String) });
    expect(await flows.balanceOf(walletId)).toBe(FUNDS);
    expect(await eventTypes(id)).toEqual(['withdrawal.failed']);
  });

  test.concurrent('a withdrawal returned after completion returns amount and fee once, however often the bank reports it', async () => {
    const { walletId, id, path } = await withdraw('0123456789');
    await flows.untilStatus(path, 'completed');
    await Promise.all([flows.endTransfer(id, 'return'), flows.endTransfer(id, 'return')]);
    await flows.untilStatus(path, 'returned');
    await waitFor('all callbacks to be processed', async () => {
      const [row] = await flows.sql`SELECT count(*)::int AS waiting FROM sandbox_bank.callbacks`;
      return row?.waiting === 0;
    });
    expect(await flows.balanceOf(walletId)).toBe(FUNDS);
    expect(await eventTypes(id)).toEqual(['withdrawal.completed', 'withdrawal.returned']);
    expect(await flows.accountBalance('in_transit:withdrawals')).toBeGreaterThanOrEqual(0);
  });

  test.concurrent('a late return to a wallet closed meanwhile is placed in a review case', async () => {
    const { walletId, id, path } = await withdraw('0123456789');
    await flows.untilStatus(path, 'completed');
    const left = await flows.balanceOf(walletId);
    const other = await flows.createWallet();
    await flows.test.money(`/wallets/${walletId}/transfer`, { destinationWalletId: other, amount: left });
    await flows.setWalletStatus(walletId, 'closed');
    await flows.endTransfer(id, 'return');
    await flows.untilStatus(path, 'returned');
    expect(await flows.balanceOf(walletId)).toBe(0);
    expect((await flows.reviewCases()).map(({ reason }) => reason)).toContain('wallet_closed');
  });

  test.concurrent('a withdrawal waits during an outage of the rail and completes after it', async () => {
    const { walletId, id, path } = await withdraw('9999999008');
    const flow = flows.flow(id);
    await waitFor('the first attempt of the flow', async () => {
      const described = await flow.describe().catch(() => null); // not started yet
      return described !== null && described.historyLength > FIRST_TRY_EVENTS;
    });
    expect((await flows.test.get(path)).data.status).toBe('processing');
    expect(await flows.balanceOf(walletId)).toBe(FUNDS - AMOUNT - FEE);
    await flows.setBehaviour('9999999008', 'complete');
    await flows.untilStatus(path, 'completed');
    expect(await transfersOf(id)).toBe(1);
    await flows.setBehaviour('9999999008', 'unavailable');
  });
});
