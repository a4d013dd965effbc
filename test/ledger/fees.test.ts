// The fee schedule, as a table that an accountant can read and as properties of every safe integer.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { paymentFee, serviceFee } from '../../src/ledger/fees.ts';
import './seed.ts';

describe('the service fee is 1%, half a kobo rounded up, never under 500 or over 18 000 kobo', () => {
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
  ])('%d kobo → %d kobo', (amount, fee) => {
    expect(serviceFee(amount)).toBe(fee);
  });

  const amounts = fc.oneof(
    fc.integer({ min: 1, max: 2_500_000 }), // where the fee moves
    fc.maxSafeNat().filter((amount) => amount > 0),
  );

  test('it is the exact quotient for every safe integer', () => {
    fc.assert(
      fc.property(amounts, (amount) => {
        const exact = (BigInt(amount) + 50n) / 100n;
        const clamped = exact < 500n ? 500n : exact > 18_000n ? 18_000n : exact;
        expect(BigInt(serviceFee(amount))).toBe(clamped);
      }),
      { numRuns: 2_000 },
    );
  });

  test('it stays within its bounds and never falls as the amount rises', () => {
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

test('a payment by bank transfer bears the service fee, one from a wallet is free', () => {
  expect(paymentFee('bank_transfer', 200_000)).toBe(2_000);
  expect(paymentFee('virtual_wallet', 200_000)).toBe(0);
});
