// Creating and reading payments: contract section 4.8, and the rulings for it. Their flows are tested in test/e2e.

import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { shiftClock } from '../../dev/chaos/clock.mjs';
import { RailRefusedError, RailUnavailableError } from '../../src/rail/errors.ts';
import { type Answer, type Client, startTestApi } from '../support/api.ts';
import { changedRail } from '../support/changedRail.ts';
import { added, written } from '../support/moneyRequests.ts';
import { expectError, expectInvalid } from '../support/refusals.ts';

const api = await startTestApi();

afterAll(() => api.close());

const create = (targetWalletId: string, more = {}, client: Client = api.test): Promise<Answer> =>
  client.money('/payments', { method: 'bank_transfer', baseAmount: 200_000, targetWalletId, ...more });

/** Runs with the clock of the API's process off by this much. */
async function withClockOff<Result>(offMs: number, work: () => Promise<Result>): Promise<Result> {
  const restoreClock = shiftClock(offMs);
  try {
    return await work();
  } finally {
    restoreClock();
  }
}

const databaseTime = async (): Promise<number> => {
  const [row] = await api.sql<{ now: Date }[]>`SELECT now() AS now`;
  return row?.now.getTime() ?? 0;
};

describe.each([300_000, -300_000])('an API whose clock is off by %i ms', (offMs) => {
  test('dates a payment and its expiry by the clock of the database', async () => {
    const targetWalletId = await api.createWallet();
    const before = await databaseTime();
    const { data } = await withClockOff(offMs, () => create(targetWalletId, { expiresIn: 60 }));
    const createdAt = Date.parse(String(data.createdAt));
    expect(createdAt).toBeGreaterThanOrEqual(before);
    expect(createdAt).toBeLessThanOrEqual(await databaseTime());
    expect(Date.parse(String(data.expiresAt)) - createdAt).toBe(60_000);
  });

  test('takes the payment of a wallet until it expires', async () => {
    const payer = await api.createWallet(api.test, { balance: 100 });
    const bill = { method: 'virtual_wallet', baseAmount: 100, expiresIn: 60 };
    const { data: payment } = await create(await api.createWallet(), bill);
    const before = await databaseTime();
    const paid = await withClockOff(offMs, () => api.test.money(`/wallets/${payer}/pay`, { paymentId: payment.id }));
    expect([paid.status, paid.data.status]).toEqual([200, 'settled']);
    expect(Date.parse(String(paid.data.settledAt))).toBeGreaterThanOrEqual(before);
    expect(Date.parse(String(paid.data.settledAt))).toBeLessThanOrEqual(await databaseTime());
  });
});

describe('POST /payments, 201 responses', () => {
  test('a bank-transfer payment is pending and has its own account number', async () => {
    const targetWalletId = await api.createWallet();
    const answer = await create(targetWalletId, { description: 'Order 7' });
    expect(answer.status).toBe(201);
    const { expiresAt } = answer.data;
    expect(answer.data).toEqual({
      id: expect.stringMatching(/^svc_[0-9a-hjkmnp-tv-z]{26}_pay$/),
      method: 'bank_transfer',
      status: 'pending',
      baseAmount: 200_000,
      fee: 2_000,
      feeBearer: 'payer',
      payableAmount: 202_000,
      amountReceived: 0,
      amountInReview: 0,
      amountRecalled: 0,
      currency: 'NGN',
      targetWalletId,
      description: 'Order 7',
      onMismatch: 'hold',
      returnUrl: null,
      reference: null,
      metadata: {},
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      settledAt: null,
      createdAt: expect.stringMatching(/Z$/),
      virtualAccount: {
        accountNumber: expect.stringMatching(/^\d{10}$/),
        bankName: 'Sandbox Bank',
        accountName: 'Ada Obi',
        expiresAt,
      },
      acceptsAmount: 'any',
      checkoutUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/checkout\/[\w-]{64}$/),
    });
    expect((await api.test.get(`/payments/${answer.data.id}`)).data).toEqual(answer.data);
    expect((await api.test.get('/payments?limit=1')).items).toEqual([answer.data]);
  });

  test('a virtual-wallet payment has an expiry, and neither a fee nor an account number', async () => {
    const answer = await create(await api.createWallet(), { method: 'virtual_wallet', description: null });
    expect(answer.data).toMatchObject({
      method: 'virtual_wallet',
      status: 'pending',
      fee: 0,
      payableAmount: 200_000,
      description: null,
      expiresAt: expect.any(String),
      virtualAccount: null,
    });
    expect((await api.test.get(`/payments/${answer.data.id}`)).data).toEqual(answer.data);
  });

  test('a new payment posts nothing to the ledger and writes one outbox message that starts its flow', async () => {
    const targetWalletId = await api.createWallet();
    const before = await written(api, api.organisation);
    const { data } = await create(targetWalletId);
    const nothing = Object.fromEntries(Object.keys(before).map((table) => [table, 0]));
    expect(added(before, await written(api, api.organisation))).toEqual({
      ...nothing,
      payments: 1,
      virtual_accounts: 1,
      outbox: 1,
    });
    const [{ message } = { message: null }] =
      await api.sql`SELECT message FROM outbox WHERE message ->> 'id' = ${data.id}`;
    // The input is stored in the workflow history, so it has ids, amounts and codes only.
    expect(message).toMatchObject({
      workflow: 'payment',
      input: { paymentId: data.id, walletId: targetWalletId, amount: 200_000, expiresAt: data.expiresAt },
    });
    expect(JSON.stringify(message)).not.toMatch(/Ada|test\.example|\b\d{10}\b/);
  });

  test('concurrent payments have distinct account numbers', async () => {
    const target = await api.createWallet();
    const answers = await Promise.all(Array.from({ length: 30 }, () => create(target)));
    const numbers = answers.map(({ data }) => (data.virtualAccount as { accountNumber: string }).accountNumber);
    expect(new Set(numbers).size).toBe(30);
  });

  test.each([
    ['by default 30 minutes', {}, 1_800],
    ['at least a second', { expiresIn: 1 }, 1],
    ['at most a day', { expiresIn: 86_400 }, 86_400],
  ])('a payment expires after %s', async (_case, more, seconds) => {
    const { data } = await create(await api.createWallet(), more);
    expect(Date.parse(String(data.expiresAt)) - Date.parse(String(data.createdAt))).toBe(seconds * 1000);
  });

  test.each([86_401, 0, -60, 60.5, '1800'])('a payment with expiresIn %p is 400', async (expiresIn) => {
    const { status, error } = await create(api.organisation.settlementWalletId, { expiresIn });
    expect([status, error.details.fields]).toEqual([400, [expect.objectContaining({ field: 'expiresIn' })]]);
  });

  test.each([
    ['method', 'cash'],
    ['method', undefined],
    ['targetWalletId', undefined],
    ['baseAmount', undefined],
  ])('a payment with %s %p is 400', async (field, value) => {
    expectInvalid(await create(api.organisation.settlementWalletId, { [field]: value }), field);
  });
});

describe('POST /payments, refused requests', () => {
  test.each([
    ['below tier1', 'WALLET_KYC_REQUIRED', { tier1: false }],
    ['frozen', 'WALLET_FROZEN', { status: 'frozen' }],
    ['closed', 'WALLET_CLOSED', { status: 'closed' }],
  ] as const)('a payment into a wallet that is %s is 422 %s for either method', async (_how, code, options) => {
    const target = await api.createWallet(api.test, options);
    for (const method of ['bank_transfer', 'virtual_wallet']) {
      const before = await written(api, api.organisation);
      expectError(await create(target, { method }), 422, code, { walletId: target });
      expect(await written(api, api.organisation)).toEqual(before);
    }
  });

  test('a payment above the tier1 transaction limit of the target is 422, exact to the kobo', async () => {
    const target = await api.createWallet();
    expect((await create(target, { baseAmount: 5_000_000 })).status).toBe(201);
    const { status, error } = await create(target, { baseAmount: 5_000_001 });
    expect([status, error.code]).toEqual([422, 'WALLET_TIER1_LIMIT_EXCEEDED']);
    expect(error.details).toEqual({
      walletId: target,
      availableAmount: 5_000_000,
      limit: 'transaction',
      limitAmount: 5_000_000,
      attemptedAmount: 5_000_001,
    });
  });

  test('in live without a rail, a bank-transfer payment is 503 and stores nothing, and a virtual-wallet payment is 201', async () => {
    const target = await api.createWallet(api.live);
    const before = await written(api, api.organisation);
    const answer = await create(target, {}, api.live);
    expectError(answer, 503, 'SERVICE_UNAVAILABLE', { retryable: false, service: 'bank_rail' });
    expect(await written(api, api.organisation)).toEqual(before);
    expect((await create(target, { method: 'virtual_wallet' }, api.live)).status).toBe(201);
  });
});

describe('payments while the rail cannot open an account', () => {
  test('when the rail is not called, nothing is stored, and the answer says that it may be sent again', async () => {
    const openVirtualAccount = () => Promise.reject(new RailUnavailableError('open', { isNotSent: true }));
    await api.withAnother({ rails: changedRail(() => ({ openVirtualAccount })) }, async (faulty) => {
      const target = await api.createWallet();
      const body = { method: 'bank_transfer', baseAmount: 7, targetWalletId: target };
      const answer = await faulty.client(api.test.key).money('/payments', body);
      expectError(answer, 503, 'SERVICE_UNAVAILABLE', { retryable: true, service: 'bank_rail', retryAfterSeconds: 1 });
      expect((await api.test.get(`/payments?targetWalletId=${target}`)).items).toEqual([]);
    });
  });

  const faults: [string, () => Error, number, string][] = [
    ['refuses', () => new RailRefusedError('no'), 502, 'BANK_RAIL_ERROR'],
    ['is unavailable', () => new RailUnavailableError('away'), 502, 'BANK_RAIL_ERROR'],
    ['times out', () => new RailUnavailableError('late', { timedOut: true }), 504, 'BANK_RAIL_TIMEOUT'],
  ];

  test.each(faults)(
    'when the rail %s, the payment is stored as failed and the key is free',
    async (_how, fault, status, code) => {
      let isFaulty = true;
      await api.withAnother(
        {
          rails: changedRail((bank) => ({
            openVirtualAccount: (request) => (isFaulty ? Promise.reject(fault()) : bank.openVirtualAccount(request)),
          })),
        },
        async (faulty) => {
          const client = faulty.client(api.test.key);
          const target = await api.createWallet();
          const reference = randomUUID();
          const body = { method: 'bank_transfer', baseAmount: 7, targetWalletId: target, reference };
          const key = randomUUID();
          const answer = await client.money('/payments', body, key);
          expectError(answer, status, code, { retryable: true, service: 'bank_rail' });
          const listed = await api.test.get(`/payments?targetWalletId=${target}`);
          expect(listed.items).toEqual([
            expect.objectContaining({ status: 'failed', virtualAccount: null, settledAt: null }),
          ]);
          expect(await api.sql`SELECT FROM outbox WHERE message ->> 'id' = ${listed.items[0]?.id ?? ''}`).toHaveLength(
            0,
          );
          isFaulty = false;
          const retried = await client.money('/payments', body, key);
          expect([retried.status, retried.data.id === listed.items[0]?.id]).toEqual([201, false]);
        },
      );
    },
  );
});
