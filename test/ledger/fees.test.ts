// The fee schedule, as a table and as properties over all safe integers.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { newUuid, publicId } from '../../src/ids.ts';
import { type Charge, type FeeSchedule, feeOf, feeSchedule, feesBy } from '../../src/ledger/fees.ts';
import { contractFee } from '../support/contractFee.ts';
import './seed.ts';

const serviceFee = (amount: number): number => contractFee('bank_transfer_payment', amount);

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
  expect(contractFee('bank_transfer_payment', 200_000)).toBe(2_000);
  expect(contractFee('virtual_wallet_payment', 200_000)).toBe(0);
});

describe('schedules', () => {
  const [walletId, other] = [newUuid(), newUuid()];
  const flat = (fee: number) => ({ basisPoints: 0, min: 0, max: 0, flat: fee });
  const own: FeeSchedule = {
    rules: [
      { movement: 'withdrawal', walletId: publicId('wallet', walletId), ...flat(1) },
      { movement: 'withdrawal', rail: 'monnify', ...flat(2) },
      { movement: 'transfer', basisPoints: 150, min: 10, max: 200_000, flat: 100 },
    ],
  };
  const ofAll: FeeSchedule = {
    feeBearer: 'merchant',
    rules: [
      { movement: 'withdrawal', ...flat(3) },
      { movement: 'payout_item', ...flat(4) },
      { movement: 'transfer', ...flat(5) },
    ],
  };
  const charge = (change: Partial<Charge>): Charge => ({
    movement: 'withdrawal',
    rail: 'sandbox',
    walletId,
    ...change,
  });

  test.each<[string, Partial<Charge>, number]>([
    ['of its wallet', {}, 1],
    ['of its wallet before that of its rail', { rail: 'monnify' }, 1],
    ['of its rail', { rail: 'monnify', walletId: other }, 2],
    ['of all organisations', { walletId: other }, 3],
    ['of all organisations, without a wallet or rail', { walletId: null, rail: null }, 3],
    ['of all organisations, where its own have none', { movement: 'payout_item' }, 4],
    ['of its organisation before that of all', { movement: 'transfer', rail: null }, 15_100],
    ['of the contract, where no schedule has one', { movement: 'bank_transfer_payment' }, 10_000],
  ])('a movement has the rule %s', (_which, change, fee) => {
    expect(feeOf(feesBy([own, ofAll], {}), charge(change), 1_000_000)).toBe(fee);
  });

  test('a bearer is that of the organisation, of all, or the payer', () => {
    const bearers = [[{ feeBearer: 'payer' as const, rules: [] }, ofAll], [own, ofAll], [own], []];
    expect(bearers.map((schedules) => feesBy(schedules, {}).feeBearer)).toEqual([
      'payer',
      'merchant',
      'payer',
      'payer',
    ]);
  });

  test('a share has a minimum and a cap, and a flat fee comes on top', () => {
    const fees = feesBy([own], {});
    const amounts = [1, 1_000, 1_000_000_000_000];
    expect(amounts.map((amount) => feeOf(fees, charge({ movement: 'transfer', rail: null }), amount))).toEqual([
      110, 115, 200_100,
    ]);
  });

  test('a tier applies from its volume of the movement on', () => {
    const tiers = [10, 20].map((volume) => ({ volume, ...flat(volume) }));
    const tiered: FeeSchedule = { rules: [{ movement: 'withdrawal', ...flat(0), tiers }] };
    const feeAt = (volumes: object) => feeOf(feesBy([tiered], volumes), charge({}), 1_000);
    const fees = [{}, { withdrawal: 9 }, { withdrawal: 10, transfer: 99 }, { withdrawal: 19 }, { withdrawal: 20 }];
    expect(fees.map(feeAt)).toEqual([0, 0, 10, 10, 20]);
  });

  const wallet = publicId('wallet', walletId);
  test.each<[string, object, string]>([
    ['an unknown movement', { rules: [{ movement: 'refund', ...flat(1) }] }, 'rules.0.movement'],
    ['no flat fee', { rules: [{ movement: 'transfer', basisPoints: 1, min: 1, max: 1 }] }, 'rules.0.flat'],
    ['more than 100 %', { rules: [{ movement: 'transfer', ...flat(1), basisPoints: 10_001 }] }, 'rules.0.basisPoints'],
    ['part of a kobo', { rules: [{ movement: 'transfer', ...flat(0.5) }] }, 'rules.0.flat'],
    ['a minimum over the cap', { rules: [{ movement: 'transfer', ...flat(1), min: 2, max: 1 }] }, 'rules.0.min'],
    ['a bearer who is in no payment', { feeBearer: 'split' }, 'feeBearer'],
    ['another field', { rule: [] }, ''],
    ['a wallet that is none', { rules: [{ movement: 'transfer', ...flat(1), walletId: 'x' }] }, 'rules.0.walletId'],
    ['a rail of a transfer', { rules: [{ movement: 'transfer', ...flat(1), rail: 'monnify' }] }, 'rules.0.rail'],
    [
      'falling volumes',
      { rules: [{ movement: 'transfer', ...flat(1), tiers: [2, 2].map((volume) => ({ volume, ...flat(1) })) }] },
      'rules.0.tiers',
    ],
    [
      'a tier whose minimum is over its cap',
      { rules: [{ movement: 'transfer', ...flat(1), tiers: [{ volume: 1, ...flat(1), min: 2 }] }] },
      'rules.0.tiers.0.min',
    ],
    [
      'the same rule twice',
      {
        rules: [
          { movement: 'transfer', ...flat(1) },
          { movement: 'transfer', ...flat(2) },
        ],
      },
      'rules.1',
    ],
    [
      'a rule of a wallet after that of all',
      {
        rules: [
          { movement: 'withdrawal', ...flat(1) },
          { movement: 'withdrawal', ...flat(2), walletId: wallet },
        ],
      },
      'rules.1',
    ],
  ])('a schedule with %s is refused, with the field', (_what, schedule, field) => {
    const issues = feeSchedule.safeParse(schedule).error?.issues.map(({ path }) => path.join('.'));
    expect(issues).toEqual([field]);
  });
});
