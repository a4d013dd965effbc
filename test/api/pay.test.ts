// Paying a `virtual_wallet` payment from a wallet: contract section 4.7, and the rulings for it.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createPaymentActivities } from '../../src/activities/payments.ts';
import { requireUuid } from '../../src/ids.ts';
import { paymentInput } from '../../src/resources/flows.ts';
import { findPayment } from '../../src/resources/payments/queries.ts';
import { type Answer, type Client, startTestApi, type TestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';

let api: TestApi;

type WalletOptions = Parameters<TestApi['createWallet']>[1];

beforeAll(async () => {
  api = await startTestApi({ callersRetry: true });
});

afterAll(() => api.close());

/** Creates a pending payment of this amount into a new wallet, unless a target is given. */
async function bill(
  baseAmount: number,
  more: { targetWalletId?: string; method?: string; splits?: object[] } = {},
): Promise<string> {
  const body = {
    method: 'virtual_wallet',
    baseAmount,
    targetWalletId: more.targetWalletId ?? (await wallet()),
    ...more,
  };
  const answer = await api.test.money('/payments', body);
  expect(answer.status).toBe(201);
  return answer.data.id;
}

const pay = (walletId: string, paymentId: string, client: Client = api.test): Promise<Answer> =>
  client.money(`/wallets/${walletId}/pay`, { paymentId });

const wallet = (balance = 0, tier1 = true): Promise<string> =>
  api.createWallet(api.test, { tier1, ...(balance > 0 && { balance }) });

const read = async (paymentId: string) => (await api.test.get(`/payments/${paymentId}`)).data;

/** Updates a payment row directly, for a state that takes long to reach. */
async function alter(
  paymentId: string,
  change: { status?: string; expiresAt?: Date; settledAt?: Date },
): Promise<void> {
  await api.sql`
    UPDATE payments SET status = coalesce(${change.status ?? null}, status),
                        expires_at = coalesce(${change.expiresAt ?? null}, expires_at),
                        settled_at = coalesce(${change.settledAt ?? null}, settled_at)
    WHERE id = ${requireUuid('payment', paymentId)}`;
}

describe('200 responses', () => {
  test('paying debits the payable amount, credits the base amount and settles the payment in one request', async () => {
    const [payer, target] = [await wallet(5_000), await wallet()];
    const paymentId = await bill(3_000, { targetWalletId: target });
    const pending = await read(paymentId);
    const answer = await pay(payer, paymentId);
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual({
      ...pending,
      status: 'settled',
      fee: 0,
      payableAmount: 3_000,
      amountReceived: 3_000,
      settledAt: expect.stringMatching(/Z$/),
    });
    expect(await read(paymentId)).toEqual(answer.data);
    expect([await api.balanceOf(payer), await api.balanceOf(target)]).toEqual([2_000, 3_000]);
  });

  test('paying emits payment.settled and payment.completed, signals the flow and records the payer', async () => {
    const payer = await wallet(100);
    const paymentId = await bill(100);
    const { checkoutUrl, ...data } = (await pay(payer, paymentId)).data;
    expect(checkoutUrl).toBeNull();
    const events = await api.sql`SELECT type, data FROM events WHERE resource = ${paymentId} ORDER BY id`;
    expect([...events]).toEqual([
      { type: 'payment.settled', data },
      { type: 'payment.completed', data },
    ]);
    const signals = await api.sql`
      SELECT message -> 'signal' AS signal FROM outbox
      WHERE topic = 'flow' AND message ->> 'id' = ${paymentId} AND message ? 'signal'`;
    const payload = { status: 'settled', amountReceived: 100 };
    expect([...signals]).toEqual([{ signal: { name: 'paymentEnded', payload } }]);
    const [row] = await api.sql`
      SELECT version, amount_credited, payer_wallet_id FROM payments WHERE id = ${requireUuid('payment', paymentId)}`;
    expect(row).toEqual({ version: 2, amountCredited: 100, payerWalletId: requireUuid('wallet', payer) });
  });
});

describe('422 responses', () => {
  test('paying a bank-transfer payment from a wallet is PAYMENT_METHOD_MISMATCH', async () => {
    const paymentId = await bill(100, { method: 'bank_transfer' });
    const answer = await pay(await wallet(10_000), paymentId);
    expectError(answer, 422, 'PAYMENT_METHOD_MISMATCH', {
      paymentId,
      method: 'bank_transfer',
      requiredMethod: 'virtual_wallet',
    });
  });

  test('paying from the target wallet is SAME_WALLET', async () => {
    const same = await wallet(100);
    const paymentId = await bill(100, { targetWalletId: same });
    const answer = await pay(same, paymentId);
    expectError(answer, 422, 'SAME_WALLET', { paymentId, walletId: same });
  });

  test('paying after expiresAt is PAYMENT_NOT_PAYABLE even before the flow has expired the payment', async () => {
    const payer = await wallet(100);
    const paymentId = await bill(100);
    const expiresAt = new Date(Date.now() - 1);
    await alter(paymentId, { expiresAt });
    const answer = await pay(payer, paymentId);
    expectError(answer, 422, 'PAYMENT_NOT_PAYABLE', {
      paymentId,
      status: 'pending',
      expiresAt: expiresAt.toISOString(),
    });
    expect(await api.balanceOf(payer)).toBe(100);
  });

  test.each(['settled', 'expired', 'cancelled', 'failed', 'refunded', 'partially_refunded'])(
    'paying a payment that is %s is PAYMENT_NOT_PAYABLE',
    async (status) => {
      const payer = await wallet(100);
      const paymentId = await bill(100);
      const isSettled = ['settled', 'refunded', 'partially_refunded'].includes(status);
      await alter(paymentId, { status, ...(isSettled && { settledAt: new Date() }) });
      const answer = await pay(payer, paymentId);
      expect(answer.error).toMatchObject({ code: 'PAYMENT_NOT_PAYABLE', details: { paymentId, status } });
      expect(await api.balanceOf(payer)).toBe(100);
    },
  );

  test.each<[string, string, payer: WalletOptions, target: WalletOptions]>([
    ['an insufficient balance', 'WALLET_INSUFFICIENT_FUNDS', { balance: 99 }, {}],
    ['a payer without KYC', 'WALLET_KYC_REQUIRED', { balance: 100, tier1: false }, {}],
    ['a frozen payer', 'WALLET_FROZEN', { balance: 100, status: 'frozen' }, {}],
    ['a target over its balance limit', 'WALLET_TIER1_LIMIT_EXCEEDED', { balance: 100 }, { balance: 29_999_901 }],
  ])('paying with %s is %s and leaves the payment payable', async (_case, code, payer, target) => {
    const targetWalletId = await wallet();
    const paymentId = await bill(100, { targetWalletId });
    if (target?.balance) await api.fund(api.organisation.organisationId, targetWalletId, target.balance);
    expectError(await pay(await api.createWallet(api.test, payer), paymentId), 422, code);
    expect((await read(paymentId)).status).toBe('pending');
    expect((await pay(await wallet(100), await bill(100))).status).toBe(200);
  });

  test('paying into a wallet that was frozen after the payment was created is WALLET_FROZEN', async () => {
    const target = await wallet();
    const paymentId = await bill(100, { targetWalletId: target });
    await api.setWalletStatus(target, 'frozen');
    const answer = await pay(await wallet(100), paymentId);
    expect(answer.error).toMatchObject({ code: 'WALLET_FROZEN', details: { walletId: target } });
  });

  test('paying more than the tier1 transaction limit is WALLET_TIER1_LIMIT_EXCEEDED', async () => {
    const paymentId = await bill(5_000_001, { targetWalletId: api.organisation.settlementWalletId });
    const payer = await wallet(6_000_000);
    const answer = await pay(payer, paymentId);
    expect(answer.error).toMatchObject({
      code: 'WALLET_TIER1_LIMIT_EXCEEDED',
      details: { walletId: payer, limit: 'transaction', limitAmount: 5_000_000, attemptedAmount: 5_000_001 },
    });
  });
});

test('the limit of a transaction is that of all that splits take of the payer together', async () => {
  const [target, other] = [await wallet(), await wallet()];
  const payer = await wallet(9_000_000);
  const splits = [{ walletId: other, amount: 4_000_000 }];
  const paymentId = await bill(8_000_000, { targetWalletId: target, splits });
  expectError(await pay(payer, paymentId), 422, 'WALLET_TIER1_LIMIT_EXCEEDED', {
    walletId: payer,
    limit: 'transaction',
    limitAmount: 5_000_000,
    attemptedAmount: 8_000_000,
    availableAmount: 5_000_000,
  });
  expect(await api.balanceOf(payer)).toBe(9_000_000);
  expect((await pay(payer, await bill(5_000_000, { targetWalletId: target, splits }))).status).toBe(200);
});

describe('races for one payment', () => {
  const codesOf = (answers: Answer[]) => answers.map(({ status, error }) => (status === 200 ? '200' : error.code));

  test('of many wallets that pay concurrently over two API processes, exactly one succeeds', async () => {
    await api.withAnother({}, async (second) => {
      const clients = [api.test, second.client(api.test.key)];
      const payers = await Promise.all(Array.from({ length: 20 }, () => wallet(100)));
      const target = await wallet();
      const paymentId = await bill(100, { targetWalletId: target });
      const answers = await Promise.all(payers.map((payer, index) => pay(payer, paymentId, clients[index % 2])));
      expect(codesOf(answers).toSorted()).toEqual(['200', ...Array(19).fill('PAYMENT_NOT_PAYABLE')]);
      const balances = await Promise.all(payers.map((payer) => api.balanceOf(payer)));
      expect(balances.filter((balance) => balance === 0)).toHaveLength(1);
      expect(balances.indexOf(0)).toBe(codesOf(answers).indexOf('200'));
      expect(await api.balanceOf(target)).toBe(100);
    });
  });

  test('of many concurrent payments by one wallet with different keys, exactly one succeeds', async () => {
    const payer = await wallet(10_000);
    const paymentId = await bill(100);
    const answers = await Promise.all(Array.from({ length: 20 }, () => pay(payer, paymentId)));
    expect(codesOf(answers).toSorted()).toEqual(['200', ...Array(19).fill('PAYMENT_NOT_PAYABLE')]);
    expect(await api.balanceOf(payer)).toBe(9_900);
  });

  test('of concurrent payment and expiry, exactly one succeeds', async () => {
    const activities = createPaymentActivities(api.dependencies);
    const book = { organisationId: api.organisation.organisationId, environment: 'test' as const };
    const payer = await wallet(3_000);
    const target = await wallet();
    const outcomes: string[] = [];
    for (let round = 0; round < 30; round += 1) {
      const paymentId = await bill(100, { targetWalletId: target });
      const payment = await findPayment(api.sql, book, requireUuid('payment', paymentId));
      if (payment === null) throw new Error('the payment is gone');
      const paying = pay(payer, paymentId);
      // Delays the expiry by some round trips, so that each side wins some races.
      for (let delay = 0; delay < round % 10; delay += 1) await api.sql`SELECT 1`;
      await api.sql`UPDATE payments SET expires_at = now() - interval '1 second' WHERE id = ${payment.id}`;
      const [paid, expiry] = await Promise.all([paying, activities.expirePayment(paymentInput(book, payment))]);
      const { status } = await read(paymentId);
      expect(expiry.status).toBe(status);
      expect(paid.status === 200 ? 'settled' : paid.error.code).toBe(
        status === 'settled' ? 'settled' : 'PAYMENT_NOT_PAYABLE',
      );
      const events = await api.sql<{ type: string }[]>`SELECT type FROM events WHERE resource = ${paymentId}`;
      expect(events.map(({ type }) => type).toSorted()).toEqual(
        status === 'settled' ? ['payment.completed', 'payment.settled'] : ['payment.expired'],
      );
      outcomes.push(status);
    }
    expect(new Set(outcomes)).toEqual(new Set(['settled', 'expired']));
    const settled = outcomes.filter((status) => status === 'settled').length;
    expect([await api.balanceOf(payer), await api.balanceOf(target)]).toEqual([3_000 - 100 * settled, 100 * settled]);
  });
});
