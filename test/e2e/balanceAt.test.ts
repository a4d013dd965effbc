// Every time at which a resource says that money moved, as a table: the balance of the wallet at that time includes the
// movement, a millisecond before it does not, and its lines in the statement have that time.
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows();

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

interface Moved {
  walletId: string;
  /** As the resource shows it. */
  at: unknown;
  change: number;
}

const BALANCE = 1_000_000;
const RETURNED = '9999999002';
const REFUSED = '9999999001';
const bankAccount = (accountNumber: string) => ({ accountNumber, bankCode: '058' });

const rich = () => flows.createWallet(undefined, { balance: BALANCE });
const withdraw = async (walletId: string, accountNumber = '0123456789') =>
  (await flows.test.money(`/wallets/${walletId}/withdraw`, { amount: 10_000, ...bankAccount(accountNumber) })).data;

async function settled(walletId: string) {
  const { id, virtualAccount, payableAmount } = await flows.createPayment(walletId, 100_000);
  await flows.credit(virtualAccount.accountNumber, Number(payableAmount), {
    senderName: 'Chidi Eze',
    senderAccountNumber: '1111111111',
    senderBankCode: '058',
  });
  return await flows.untilStatus(`/payments/${id}`, 'settled');
}

async function paidByWallet(payer: string, walletId: string) {
  const { id } = await flows.createPayment(walletId, 100_000, { method: 'virtual_wallet' });
  return (await flows.test.money(`/wallets/${payer}/pay`, { paymentId: id })).data;
}

const WAYS: Record<string, () => Promise<Moved>> = {
  'a transfer, to its destination': async () => {
    const [source, walletId] = [await rich(), await flows.createWallet()];
    const body = { destinationWalletId: walletId, amount: 700 };
    const { data } = await flows.test.money(`/wallets/${source}/transfer`, body);
    return { walletId, at: data.createdAt, change: 700 };
  },
  'a transfer, from its source': async () => {
    const walletId = await rich();
    const body = { destinationWalletId: await flows.createWallet(), amount: 700 };
    const { data } = await flows.test.money(`/wallets/${walletId}/transfer`, body);
    return { walletId, at: data.createdAt, change: -700 };
  },
  'a payment by bank transfer that is settled': async () => {
    const walletId = await flows.createWallet();
    return { walletId, at: (await settled(walletId)).settledAt, change: 100_000 };
  },
  'a payment from a wallet, to its target': async () => {
    const walletId = await flows.createWallet();
    return { walletId, at: (await paidByWallet(await rich(), walletId)).settledAt, change: 100_000 };
  },
  'a payment from a wallet, from the payer': async () => {
    const walletId = await rich();
    const { settledAt } = await paidByWallet(walletId, await flows.createWallet());
    return { walletId, at: settledAt, change: -100_000 };
  },
  'a withdrawal': async () => {
    const walletId = await rich();
    const { createdAt, totalAmount } = await withdraw(walletId);
    return { walletId, at: createdAt, change: -Number(totalAmount) };
  },
  'a withdrawal that the bank refuses': async () => {
    const walletId = await rich();
    const { id, totalAmount } = await withdraw(walletId, REFUSED);
    const { completedAt } = await flows.untilStatus(`/withdrawals/${id}`, 'failed');
    return { walletId, at: completedAt, change: Number(totalAmount) };
  },
  'a withdrawal that is returned': async () => {
    const walletId = await rich();
    const { id, totalAmount } = await withdraw(walletId, RETURNED);
    const { completedAt } = await flows.untilStatus(`/withdrawals/${id}`, 'returned');
    return { walletId, at: completedAt, change: Number(totalAmount) };
  },
  'a payout': async () => {
    const walletId = await rich();
    const items = [{ amount: 10_000, bankAccount: bankAccount('0123456789') }];
    const { data } = await flows.test.money('/payouts', { sourceWalletId: walletId, items });
    return { walletId, at: data.createdAt, change: -Number(data.totalAmount) - Number(data.totalFee) };
  },
  'a refund to a bank': async () => {
    const walletId = await flows.createWallet();
    const { data } = await flows.test.money(`/payments/${(await settled(walletId)).id}/refund`, { amount: 300 });
    return { walletId, at: data.createdAt, change: -300 };
  },
  'a refund to a bank that fails': async () => {
    const walletId = await flows.createWallet();
    const { id } = await settled(walletId);
    const body = { amount: 300, bankAccount: bankAccount(REFUSED) };
    const { data } = await flows.test.money(`/payments/${id}/refund`, body);
    const { completedAt } = await flows.untilStatus(`/refunds/${data.id}`, 'failed');
    return { walletId, at: completedAt, change: 300 };
  },
  'a refund to a wallet': async () => {
    const [walletId, target] = [await rich(), await flows.createWallet()];
    const { id } = await paidByWallet(walletId, target);
    const { data } = await flows.test.money(`/payments/${id}/refund`, { amount: 300 });
    return { walletId, at: data.completedAt, change: 300 };
  },
  'a review case that is credited': async () => {
    const walletId = await flows.createWallet();
    await flows.setWalletStatus(walletId, 'frozen');
    await flows.credit(await flows.depositAccount(walletId), 700, { sessionId: randomUUID() });
    const id = await waitFor('the case', async () => {
      const { items } = await flows.test.get(`/review-cases?walletId=${walletId}`);
      return items[0]?.id ?? false;
    });
    await flows.setWalletStatus(walletId, 'active');
    const body = { action: 'credit', reason: 'unfrozen' };
    const { data } = await flows.test.money(`/review-cases/${id}/resolve`, body);
    return { walletId, at: data.resolvedAt, change: 700 };
  },
};

test.each(Object.entries(WAYS))('%s', async (_way, move) => {
  const { walletId, at, change } = await move();
  const time = Date.parse(String(at));
  const balanceAt = async (ms: number): Promise<number> =>
    Number((await flows.test.get(`/wallets/${walletId}/balance?at=${new Date(ms).toISOString()}`)).data.balance);
  expect((await balanceAt(time)) - (await balanceAt(time - 1))).toBe(change);
  const { items } = await flows.test.get(
    `/wallets/${walletId}/transactions?createdAtFrom=${String(at)}&createdAtTo=${new Date(time + 1).toISOString()}`,
  );
  expect(
    items.reduce((sum, { direction, amount }) => sum + (direction === 'credit' ? 1 : -1) * Number(amount), 0),
  ).toBe(change);
  expect((await flows.test.get(`/transactions/${String(items[0]?.transactionId)}`)).data.createdAt).toBe(at);
});
