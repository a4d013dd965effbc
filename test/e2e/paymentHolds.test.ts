// Held money of payments that a bank pays: released by its timer, taken back by the bank, refunded and returned, and
// credited by a review case. The tests run concurrently, each with its own wallet.
import { afterAll, expect, test } from '@jest/globals';
import { ACCOUNTS } from '../../clients/cli/src/stage.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows({ settings: { notVisibleForMs: 100 } });

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const BASE = 200_000;
const PAYABLE = BASE + 2_000;
const MANUAL = { release: 'manual' };

const read = async (path: string) => (await flows.test.get(path)).data;
const holdsOf = async (id: string) => (await flows.test.get(`/holds?paymentId=${id}`)).items;
/** Balance, held balance and debt of a wallet. */
const standing = async (id: string) => {
  const { heldBalance, amountOwed } = await read(`/wallets/${id}`);
  return [await flows.balanceOf(id), heldBalance, amountOwed];
};

async function credited(more: object, senderAccountNumber: string = ACCOUNTS.completes, amount = PAYABLE) {
  const seller = await flows.createWallet();
  const payment = await flows.createPayment(seller, BASE, more);
  const sender = { senderName: 'Chidi Eze', senderAccountNumber, senderBankCode: '058' };
  const { sessionId } = (await flows.credit(payment.virtualAccount.accountNumber, amount, sender)).data;
  return { seller, payment, path: `/payments/${payment.id}`, sessionId: String(sessionId) };
}

async function settled(more: object, senderAccountNumber?: string) {
  const made = await credited(more, senderAccountNumber);
  await flows.untilStatus(made.path, 'settled');
  const hold = await waitFor('the hold', async () => (await holdsOf(made.payment.id))[0]?.id);
  return { ...made, hold };
}

test.concurrent('with parts and a surplus it is one hold, which its timer releases', async () => {
  const seller = await flows.createWallet();
  const releaseAt = new Date(Date.now() + 8_000).toISOString();
  const { id, virtualAccount } = await flows.createPayment(seller, BASE, { hold: { releaseAt } });
  await flows.credit(virtualAccount.accountNumber, 50_000);
  await flows.untilStatus(`/payments/${id}`, 'partial');
  await flows.credit(virtualAccount.accountNumber, PAYABLE - 50_000 + 700);
  await flows.untilStatus(`/payments/${id}`, 'settled');
  const [hold, ...others] = await holdsOf(id);
  expect([hold, others]).toEqual([
    expect.objectContaining({ amount: BASE + 700, releaseAt, sourceWalletId: null }),
    [],
  ]);
  await flows.untilStatus(`/holds/${hold?.id}`, 'released');
  expect(await standing(seller)).toEqual([BASE + 700, 0, 0]);
});

test.concurrent('what is more than one posting may credit is released in parts', async () => {
  const seller = await flows.createWallet();
  const releaseAt = new Date(Date.now() + 5_000).toISOString();
  const payment = await flows.createPayment(seller, 4_900_000, { hold: { releaseAt } });
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount + 200_000);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  const [hold] = await holdsOf(payment.id);
  expect(hold).toMatchObject({ amount: 5_100_000 });
  expect(await flows.untilStatus(`/holds/${hold?.id}`, 'released')).toMatchObject({ amountReleased: 5_100_000 });
  expect(await standing(seller)).toEqual([5_100_000, 0, 0]);
  const { items } = await flows.test.get(`/wallets/${seller}/transactions`);
  expect(items.map(({ kind, amount }) => [kind, amount])).toEqual([
    ['hold_release', 100_000],
    ['hold_release', 5_000_000],
  ]);
});

test.concurrent('a recall takes what is held, then the balance, and what lacks is owed', async () => {
  const { seller, hold, sessionId } = await settled({ hold: MANUAL });
  await flows.test.money(`/holds/${hold}/release`, { amount: 50_000 });
  await flows.test.post(`/simulations/inbound-credits/${sessionId}/recall`);
  await flows.untilStatus(`/holds/${hold}`, 'cancelled');
  // The fee, which the wallet never had, is what it lacks.
  expect(await standing(seller)).toEqual([0, 0, 2_000]);
  expect(await read(`/holds/${hold}`)).toMatchObject({ amountReleased: 50_000, amountCancelled: 150_000 });
});

test.concurrent('a cancelled hold is refunded to the account that paid', async () => {
  const { seller, hold, path } = await settled({ splits: [], hold: MANUAL });
  expect((await flows.test.money(`/holds/${hold}/cancel`, {})).data).toMatchObject({ status: 'cancelled' });
  await flows.untilStatus(path, 'refunded');
  expect(await standing(seller)).toEqual([0, 0, 0]);
});

test.concurrent('a refund that the bank rejects is held again', async () => {
  const { seller, hold, payment } = await settled({ hold: MANUAL }, ACCOUNTS.rejects);
  await flows.test.money(`/holds/${hold}/release`, { amount: 80_000 });
  const { data } = await flows.test.money(`/payments/${payment.id}/refund`, {});
  await flows.untilStatus(`/refunds/${data.id}`, 'failed');
  expect(await standing(seller)).toEqual([80_000, 120_000, 0]);
  const [again, first] = await holdsOf(payment.id);
  expect([again, first]).toMatchObject([
    { status: 'held', amount: 120_000, releaseAt: null },
    { status: 'cancelled', amountReleased: 80_000, amountCancelled: 120_000 },
  ]);
  expect((await flows.test.money(`/holds/${again?.id}/release`, {})).status).toBe(200);
});

test.concurrent('an operator who cancels it is told to refund', async () => {
  const { hold } = await settled({ hold: MANUAL });
  await flows.untilStarted(hold);
  expect(await flows.decide('decide', hold, { action: 'cancel' })).toMatchObject({ outcome: 'refused' });
  expect(await read(`/holds/${hold}`)).toMatchObject({ status: 'held' });
});

test.concurrent.each([
  ['the target', { hold: MANUAL }, [0, BASE, 0], [0, 0, 0]],
  ['a split', {}, [BASE - 30_000, 0, 0], [0, 30_000, 0]],
])('late money that a decision credits is held for %s', async (_what, more, ofSeller, ofSplit) => {
  const [seller, courier] = [await flows.createWallet(), await flows.createWallet()];
  const splits = 'hold' in more ? [] : [{ walletId: courier, amount: 30_000, hold: MANUAL }];
  const { id, virtualAccount } = await flows.createPayment(seller, BASE, { ...more, splits });
  await flows.test.post(`/payments/${id}/cancel`);
  await flows.credit(virtualAccount.accountNumber, PAYABLE);
  const reviewed = await waitFor('the case', async () => {
    const { items } = await flows.test.get(`/review-cases?paymentId=${id}`);
    return items[0]?.id;
  });
  const resolved = await flows.test.money(`/review-cases/${reviewed}/resolve`, { action: 'credit', reason: 'keep it' });
  expect(resolved.data).toMatchObject({ status: 'credited' });
  expect([await standing(seller), await standing(courier)]).toEqual([ofSeller, ofSplit]);
  expect(await holdsOf(id)).toMatchObject([{ status: 'held', paymentId: id }]);
});

test.concurrent('an expired part that a decision credits is held', async () => {
  const { seller, payment, path } = await credited({ hold: MANUAL }, undefined, 101_000);
  await flows.untilStatus(path, 'partial');
  await flows.test.post(`/simulations/payments/${payment.id}/expire`);
  const reviewed = await waitFor('the case', async () => {
    const { items } = await flows.test.get(`/review-cases?paymentId=${payment.id}`);
    return items[0]?.id;
  });
  await flows.test.money(`/review-cases/${reviewed}/resolve`, { action: 'credit', reason: 'keep it' });
  expect(await standing(seller)).toEqual([0, 100_000, 0]);
});
