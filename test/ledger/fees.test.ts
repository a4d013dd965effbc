// The fee schedule, as a table and as properties over all safe integers.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DEFAULT_FEES, feeBy, feeOf, feesOf } from '../../src/ledger/fees.ts';
import './seed.ts';

const serviceFee = (amount: number): number => feeBy(DEFAULT_FEES.collection, amount);

describe('the service fee: 1%, rounded half up, between 500 and 18,000 kobo', () => {
  test.each([
    // amount, fee
    [1, 500],
    [49_949, 500],
    [50_000, 500],
    [50_049, 500],
    [50_050, 501], // 500.5 rounds up
    [50_051, 501],
    [50_149, 501],
    [50_150, 502],
    [200_000, 2_000],
    [1_799_949, 17_999],
    [1_799_950, 18_000],
    [1_800_000, 18_000],
    [1_000_000_000_000, 18_000],
    [Number.MAX_SAFE_INTEGER, 18_000],
  ])('the service fee of %d kobo is %d kobo', (amount, fee) => {
    expect(serviceFee(amount)).toBe(fee);
  });

  const amounts = fc.oneof(
    fc.integer({ min: 1, max: 2_500_000 }), // the range in which the fee varies
    fc.maxSafeNat().filter((amount) => amount > 0),
  );

  test('the service fee is the exact rounded quotient for every safe integer', () => {
    fc.assert(
      fc.property(amounts, (amount) => {
        const exact = (BigInt(amount) + 50n) / 100n;
        const clamped = exact < 500n ? 500n : exact > 18_000n ? 18_000n : exact;
        expect(BigInt(serviceFee(amount))).toBe(clamped);
      }),
      { numRuns: 2_000 },
    );
  });

  test('the service fee stays within its bounds and never decreases as the amount increases', () => {
    fc.assert(
      fc.property(amounts, amounts, (one, other) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        expect(serviceFee(low)).toBeGreaterThanOrEqual(500);
        expect(serviceFee(high)).toBeLessThanOrEqual(18_000);
        expect(serviceFee(low)).toBeLessThanOrEqual(serviceFee(high));
      }),
      { numRuns: 2_000 },
    );
  });
});

test('a bank-transfer payment has the service fee, and a virtual-wallet payment is free', () => {
  expect(feeOf(DEFAULT_FEES, 'bank_transfer_payment', 200_000)).toBe(2_000);
  expect(feeOf(DEFAULT_FEES, 'virtual_wallet_payment', 200_000)).toBe(0);
});

test('a rail has its own schedule, and every other rail the default', () => {
  const own = {
    collection: { basisPoints: 150, min: 0, max: 200_000, flat: 100 },
    bankTransfer: { basisPoints: 0, min: 0, max: 0, flat: 5_000 },
  };
  expect(feesOf({ monnify: own }, 'monnify')).toBe(own);
  expect([feesOf({ monnify: own }, 'sandbox'), feesOf({ monnify: own }, null)]).toEqual([DEFAULT_FEES, DEFAULT_FEES]);
  expect(feeBy(own.collection, 1_000_000)).toBe(15_100);
  expect(feeBy(own.collection, 1_000_000_000_000)).toBe(200_100);
  expect(feeBy(own.bankTransfer, 1)).toBe(5_000);
});
