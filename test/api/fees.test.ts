// GET /fees/quote: the fee schedule of contract sections 4.8 and 4.9, checked against independently computed values.
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startTestApi } from '../support/api.ts';
import { expectInvalid } from '../support/refusals.ts';

const api = await startTestApi();

afterAll(() => api.close());

const quote = (type: string, amount: string) => api.test.get(`/fees/quote?type=${type}&amount=${amount}`);

// 1% of the amount, rounded half up, at least 500 and at most 18,000 kobo; 2,000 more for an outgoing bank transfer.
const SERVICE_FEES = [
  [1, 500],
  [50_000, 500],
  [50_049, 500],
  [50_050, 501],
  [100_000, 1_000],
  [1_799_949, 17_999],
  [1_799_950, 18_000],
  [1_800_000, 18_000],
  [1_000_000_000_000, 18_000],
] as const;

describe('200 responses', () => {
  test.each(SERVICE_FEES)('a bank-transfer payment of %i has a fee of %i', async (amount, fee) => {
    const { status, data } = await quote('bank_transfer_payment', String(amount));
    expect(status).toBe(200);
    expect(data).toEqual({
      type: 'bank_transfer_payment',
      amount,
      fee,
      feeBearer: 'payer',
      totalAmount: amount + fee,
      currency: 'NGN',
    });
  });

  test.each(SERVICE_FEES)(
    'a withdrawal and a payout item of %i have a fee of %i plus 2000',
    async (amount, serviceFee) => {
      const fee = serviceFee + 2_000;
      for (const type of ['withdrawal', 'payout_item']) {
        const { data } = await quote(type, String(amount));
        expect(data).toEqual({ type, amount, fee, feeBearer: 'payer', totalAmount: amount + fee, currency: 'NGN' });
      }
    },
  );

  test.each(['virtual_wallet_payment', 'transfer'])('a %s has no fee', async (type) => {
    const { data } = await quote(type, '250000');
    expect(data).toEqual({ type, amount: 250_000, fee: 0, feeBearer: 'payer', totalAmount: 250_000, currency: 'NGN' });
  });

  test('a payment is charged the quoted fee', async () => {
    const targetWalletId = await api.createWallet();
    const quoted = await quote('bank_transfer_payment', '123450');
    const payment = await api.test.money('/payments', { method: 'bank_transfer', baseAmount: 123_450, targetWalletId });
    expect(payment.data).toMatchObject({ fee: quoted.data.fee, payableAmount: quoted.data.totalAmount });
  });

  test.each(['payer', 'merchant', 'split'] as const)(
    'the quote for a fee that the %s bears is what is charged',
    async (feeBearer) => {
      const [targetWalletId, walletId] = [await api.createWallet(), await api.createWallet()];
      const splits = feeBearer === 'split' ? [{ walletId, basisPoints: 9_000, bearsFee: true }] : [];
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom('bank_transfer', 'virtual_wallet'),
          fc.integer({ min: 1_000, max: 3_000_000 }),
          async (method, baseAmount) => {
            const path = `/fees/quote?type=${method}_payment&amount=${baseAmount}&feeBearer=${feeBearer}`;
            const { data: quoted } = await api.test.get(path);
            const body = { method, baseAmount, targetWalletId, feeBearer, splits };
            const { data } = await api.test.money('/payments', body);
            expect(data).toMatchObject({ feeBearer, fee: quoted.fee, payableAmount: quoted.totalAmount });
            expect(quoted.totalAmount).toBe(feeBearer === 'payer' ? baseAmount + Number(quoted.fee) : baseAmount);
          },
        ),
        { numRuns: 20 },
      );
    },
  );
});

describe('400 VALIDATION_FAILED responses', () => {
  test.each([
    ['no type', '?amount=1000', 'type'],
    ['an unknown type', '?type=refund&amount=1000', 'type'],
    ['no amount', '?type=withdrawal', 'amount'],
    ['an empty amount', '?type=withdrawal&amount=', 'amount'],
    ['two amounts', '?type=withdrawal&amount=1000&amount=2000', 'amount'],
    ['an amount of zero', '?type=withdrawal&amount=0', 'amount'],
    ['a negative amount', '?type=withdrawal&amount=-1', 'amount'],
    ['a fractional amount', '?type=withdrawal&amount=10.5', 'amount'],
    ['a zero fraction', '?type=withdrawal&amount=10.0', 'amount'],
    ['an exponent in the amount', '?type=withdrawal&amount=1e3', 'amount'],
    ['a plus sign in the amount', '?type=withdrawal&amount=%2B5', 'amount'],
    ['a space in the amount', '?type=withdrawal&amount=%205', 'amount'],
    ['a hexadecimal amount', '?type=withdrawal&amount=0x10', 'amount'],
    ['digits of another script', '?type=withdrawal&amount=%D9%A1%D9%A2', 'amount'],
    ['an amount one above the maximum', '?type=withdrawal&amount=1000000000001', 'amount'],
    ['a fee bearer of a withdrawal', '?type=withdrawal&amount=1000&feeBearer=merchant', 'feeBearer'],
    ['an unknown fee bearer', '?type=bank_transfer_payment&amount=1000&feeBearer=nobody', 'feeBearer'],
    ['an amount with more digits than a number holds', `?type=withdrawal&amount=${'9'.repeat(400)}`, 'amount'],
  ])('a quote with %s is 400 VALIDATION_FAILED', async (_name, query, field) => {
    expectInvalid(await api.test.get(`/fees/quote${query}`), field);
  });
});

test('live quotes the same fees without a configured rail', async () => {
  const { status, data } = await api.live.get('/fees/quote?type=withdrawal&amount=100000');
  expect([status, data.fee]).toEqual([200, 3_000]);
});
