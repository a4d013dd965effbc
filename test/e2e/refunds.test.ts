// Refunds to each outcome: never more than was credited, and a failure at the bank returns the money. The tests run
// concurrently, each with its own wallets and payment.
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { expectError } from '../support/refusals.ts';
import { waitFor } from '../support/waitFor.ts';

const flows = await startTestFlows({ settings: { notVisibleForMs: 100 } });

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const BASE = 200_000;

const PAYABLE = BASE + 2_000;

type Sender = [accountNumber: string | null, amount: number, bankCode?: string | null];

/** A payment of `BASE` that these accounts pay, one after the other; its payable amount is `BASE` plus the fee. */
async function paidBy(...senders: Sender[]) {
  const walletId = await flows.createWallet();
  const payment = await flows.createPayment(walletId, BASE);
  const path = `/payments/${payment.id}`;
  let received = 0;
  for (const [senderAccountNumber, amount, senderBankCode = '058'] of senders) {
    const senderName = `Payer of ${amount}`;
    await flows.dependencies.sandboxBank.receiveCredit({
      organisationId: flows.organisation.organisationId,
      sessionId: randomUUID(),
      accountNumber: payment.virtualAccount.accountNumber,
      amount,
      senderName,
      senderAccountNumber,
      senderBankCode,
    });
    received += amount;
    await waitFor(
      'the credit to be counted',
      async () => (await flows.test.get(path)).data.amountReceived === received,
    );
  }
  await flows.untilStatus(path, 'settled');
  return { walletId, path, paymentId: payment.id };
}

const settledPayment = (senderAccountNumber = '0123456789', surplus = 0) =>
  paidBy([senderAccountNumber, PAYABLE + surplus]);

/** A payment of `BASE` from a wallet. */
async function paidByWallet() {
  const [target, payer] = [await flows.createWallet(), await flows.createWallet(undefined, { balance: BASE })];
  const bill = { method: 'virtual_wallet', baseAmount: BASE, targetWalletId: target };
  const { data: payment } = await flows.test.money('/payments', bill);
  const { data: paid } = await flows.test.money(`/wallets/${payer}/pay`, { paymentId: payment.id });
  expect(paid.status).toBe('settled');
  return { target, payer, path: `/payments/${payment.id}`, paymentId: payment.id };
}

const refund = (path: string, body: object = {}) => flows.test.money(`${path}/refund`, body);
const sentFor = async (id: string) =>
  (await flows.sql`SELECT * FROM sandbox_bank.transfers WHERE reference = ${id}`)[0];
const statusOf = async (path: string) => (await flows.test.get(path)).data.status;

describe('refunds to a bank account', () => {
  test.concurrent('a refund returns everything that was credited to the payer, including a surplus, without the fee', async () => {
    const { walletId, path, paymentId } = await settledPayment('0123456789', 5_000);
    const { status, data } = await refund(path, { reason: 'Changed her mind' });
    expect(status).toBe(201);
    expect(data).toMatchObject({
      paymentId,
      amount: BASE + 5_000,
      destination: 'bank',
      status: 'processing',
      completedAt: null,
    });
    expect(await flows.balanceOf(walletId)).toBe(0);
    await flows.untilStatus(`/refunds/${data.id}`, 'completed');
    expect(await statusOf(path)).toBe('refunded');
    expect((await flows.eventsOf(data.id)).map(({ type }) => type)).toEqual(['refund.completed']);
    expect(await sentFor(data.id)).toMatchObject({
      accountNumber: '0123456789',
      bankCode: '058',
      amount: BASE + 5_000,
    });
  });

  test.concurrent('partial refunds make the payment partially_refunded, then refunded', async () => {
    const { path } = await settledPayment();
    const first = await refund(path, { amount: 50_000 });
    await flows.untilStatus(`/refunds/${first.data.id}`, 'completed');
    expect(await statusOf(path)).toBe('partially_refunded');
    const rest = await refund(path);
    expect(rest.data.amount).toBe(BASE - 50_000);
    await flows.untilStatus(`/refunds/${rest.data.id}`, 'completed');
    expect(await statusOf(path)).toBe('refunded');
    const { items } = await flows.test.get(`${path}/refunds`);
    expect(items.map(({ id }) => id)).toEqual([rest.data.id, first.data.id]);
  });

  test.concurrent.each(['9999999001', '9999999002'])(
    'a refund that fails at the bank (%s) returns the money and can be repeated',
    async (sender) => {
      const { walletId, path } = await settledPayment(sender);
      const { data } = await refund(path);
      const failed = await flows.untilStatus(`/refunds/${data.id}`, 'failed');
      expect(failed.failureReason).toEqual(expect.any(String));
      expect(await flows.balanceOf(walletId)).toBe(BASE);
      expect(await statusOf(path)).toBe('settled');
      expect((await flows.eventsOf(data.id)).map(({ type }) => type)).toEqual(['refund.failed']);
      const again = await refund(path, { bankAccount: { accountNumber: '0123456780', bankCode: '044' } });
      await flows.untilStatus(`/refunds/${again.data.id}`, 'completed');
      expect(await flows.balanceOf(walletId)).toBe(0);
    },
  );
});

test.concurrent('a refund that the bank paid after all stays in its payment when the one that replaced it fails', async () => {
  const { path } = await settledPayment();
  const bankAccount = { accountNumber: '9999999003', bankCode: '058' }; // held
  const first = String((await refund(path, { bankAccount })).data.id);
  await flows.endTransfer(first, 'reject');
  await flows.untilStatus(`/refunds/${first}`, 'failed');
  const second = String((await refund(path, { bankAccount })).data.id);
  await waitFor('the bank to have it', () => sentFor(second));
  const paid = { outcome: 'complete', contradict: true };
  expect((await flows.test.post(`/simulations/bank-transfers/${first}/resolve`, paid)).status).toBe(200);
  await flows.untilStatus(`/refunds/${first}`, 'completed');
  await flows.endTransfer(second, 'reject');
  await flows.untilStatus(`/refunds/${second}`, 'failed');
  expect((await flows.test.get(path)).data).toMatchObject({ status: 'refunded' });
  expect((await refund(path)).error).toMatchObject({ code: 'PAYMENT_NOT_REFUNDABLE' });
});

describe('refunds without a bank account', () => {
  test.concurrent('a refund of a payment by several payers is 422 with what each paid, and moves nothing', async () => {
    const { walletId, path, paymentId } = await paidBy(
      ['1111111111', PAYABLE - 100],
      ['2222222222', 60],
      ['2222222222', 40],
    );
    const { status, error, text } = await refund(path);
    expect([status, error.code]).toEqual([422, 'REFUND_DESTINATION_REQUIRED']);
    expect(error.details).toEqual({
      paymentId,
      destination: 'bank',
      reason: 'several_payers',
      payers: [
        { accountNumber: '******1111', bankCode: '058', amount: PAYABLE - 100 },
        { accountNumber: '******2222', bankCode: '058', amount: 100 },
      ],
    });
    expect(error.message).toContain('bankAccount');
    // Errors are stored with their Idempotency-Key and logged: no names and no complete account numbers.
    for (const personal of ['1111111111', '2222222222', 'Payer of']) expect(text).not.toContain(personal);
    expect(await flows.balanceOf(walletId)).toBe(BASE);
    expect((await flows.test.get(`${path}/refunds`)).items).toEqual([]);
    // With a bank account the refund is sent.
    const { data } = await refund(path, { bankAccount: { accountNumber: '1111111111', bankCode: '058' } });
    await flows.untilStatus(`/refunds/${data.id}`, 'completed');
  });

  const ONE = '1111111111';
  test.concurrent.each<[string, string, ...Sender[]]>([
    ['one account number at two banks', 'several_payers', [ONE, 1_000], [ONE, PAYABLE - 1_000, '044']],
    ['an unknown sender', 'payer_unknown', [null, PAYABLE, null]],
    ['a sender without a bank code', 'payer_unknown', [ONE, PAYABLE, null]],
    ['a known and an unknown sender', 'payer_unknown', [ONE, 1_000], [null, PAYABLE - 1_000, null]],
  ])('a refund without a bank account is refused for %s: %s', async (_what, reason, ...senders) => {
    const { path } = await paidBy(...senders);
    const refused = await refund(path, { amount: 1 });
    expectError(refused, 422, 'REFUND_DESTINATION_REQUIRED');
    expect(refused.error.details).toMatchObject({ reason });
    expect(refused.error.details.payers).toHaveLength(senders.length);
  });

  test.concurrent('a refund goes to the one account that paid in several credits, also in several refunds', async () => {
    const { path } = await paidBy([ONE, 1_000], [ONE, PAYABLE - 1_000]);
    for (const body of [{ amount: 150_000 }, {}]) {
      const { data } = await refund(path, body);
      await flows.untilStatus(`/refunds/${data.id}`, 'completed');
      expect(await sentFor(data.id)).toMatchObject({ accountNumber: '1111111111', bankCode: '058' });
    }
    expect(await statusOf(path)).toBe('refunded');
  });

  test.concurrent('a bank refund of a payment from a wallet is 422 with the reason not_paid_by_bank', async () => {
    const { path, paymentId } = await paidByWallet();
    const details = { paymentId, destination: 'bank', reason: 'not_paid_by_bank', payers: [] };
    expectError(await refund(path, { destination: 'bank' }), 422, 'REFUND_DESTINATION_REQUIRED', details);
  });
});

describe('refunds to the paying wallet', () => {
  test.concurrent('a refund to the paying wallet is completed in the request', async () => {
    const { target, payer, path } = await paidByWallet();
    const { status, data } = await refund(path, { amount: 60_000 });
    expect(status).toBe(201);
    expect(data).toMatchObject({ destination: 'wallet', status: 'completed', amount: 60_000 });
    expect(data.completedAt).not.toBeNull();
    expect([await flows.balanceOf(payer), await flows.balanceOf(target)]).toEqual([60_000, BASE - 60_000]);
    expect(await statusOf(path)).toBe('partially_refunded');
    expect((await flows.eventsOf(data.id)).map(({ type }) => type)).toEqual(['refund.completed']);
  });
});

test.concurrent('twenty concurrent refunds of one payment that fit its amount all succeed', async () => {
  const { path } = await settledPayment();
  const answers = await Promise.all(Array.from({ length: 20 }, () => refund(path, { amount: 1_000 })));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
});

describe('refused refunds', () => {
  test.concurrent('concurrent refunds never exceed what was credited: exactly those that fit succeed', async () => {
    const { walletId, path } = await settledPayment();
    await flows.fund(flows.organisation.organisationId, walletId, 10 * BASE);
    const answers = await Promise.all(Array.from({ length: 20 }, () => refund(path, { amount: 45_000 })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(4);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ status, error }) => `${status} ${error.code}`))).toEqual(
      new Set(['422 REFUND_AMOUNT_EXCEEDED']),
    );
    expect(refused[0]?.error.details).toMatchObject({ refundableAmount: 20_000, attemptedAmount: 45_000 });
    await waitFor('the refunds to be completed', async () => {
      const { items } = await flows.test.get(`${path}/refunds`);
      return items.length === 4 && items.every(({ status }) => status === 'completed');
    });
    expect(await flows.balanceOf(walletId)).toBe(11 * BASE - 180_000);
  });

  test.concurrent('a wallet refund of a payment by bank transfer is REFUND_DESTINATION_REQUIRED', async () => {
    const { path, paymentId } = await settledPayment();
    const refused = await refund(path, { destination: 'wallet' });
    const details = { paymentId, destination: 'wallet', reason: 'not_paid_by_wallet', payers: [] };
    expectError(refused, 422, 'REFUND_DESTINATION_REQUIRED', details);
    expect(refused.error.message).not.toContain('not known');
  });
});
