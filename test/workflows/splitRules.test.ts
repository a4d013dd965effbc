// The rules of splits: how a base amount is divided, what each wallet gets of the money that came, and gives back.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AMOUNT_MAX, apportion, type Kobo } from '../../src/money.ts';
import {
  creditsOf,
  refundableParts,
  refundParts,
  type Split,
  type SplitPayment,
  splitAmounts,
  splitsBearing,
  splitsCreditedBy,
  type WantedSplit,
} from '../../src/workflows/payment/splits.ts';

const sumOf = (amounts: readonly Kobo[]): Kobo => amounts.reduce((sum, amount) => sum + amount, 0);
const amounts = fc.integer({ min: 1, max: AMOUNT_MAX });

test.each<[string, Kobo, WantedSplit[], Kobo[] | null]>([
  ['a tenth', 10_000, [{ basisPoints: 1_000 }], [1_000]],
  [
    'an amount beside a share of all of the base amount',
    10_000,
    [{ amount: 3_000 }, { basisPoints: 5_000 }],
    [3_000, 5_000],
  ],
  ['all of it', 10_000, [{ amount: 2_500 }, { basisPoints: 7_500 }], [2_500, 7_500]],
  [
    'two equal remainders, of which the first is rounded up',
    1,
    [{ basisPoints: 5_000 }, { basisPoints: 5_000 }],
    [1, 0],
  ],
  [
    'remainders of which that of the target is the largest',
    10,
    [{ basisPoints: 3_333 }, { basisPoints: 3_333 }],
    [3, 3],
  ],
  ['less than half a kobo', 100, [{ basisPoints: 1 }], [0]],
  ['no split', 10_000, [], []],
  ['one basis point too much', 10_000, [{ basisPoints: 5_000 }, { basisPoints: 5_001 }], null],
  ['one kobo too much', 10_000, [{ amount: 10_001 }], null],
  ['an amount that leaves too little for a share', 10_000, [{ amount: 5_001 }, { basisPoints: 5_000 }], null],
])('the amounts of splits: %s', (_what, base, wanted, expected) => {
  expect(splitAmounts(base, wanted)).toEqual(expected);
});

test('parts by weight sum to the amount, and each is its exact share rounded up or down', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: AMOUNT_MAX }),
      fc.array(fc.integer({ min: 0, max: AMOUNT_MAX }), { minLength: 1, maxLength: 21 }),
      (amount, weights) => {
        fc.pre(sumOf(weights) > 0);
        const parts = apportion(amount, weights);
        expect(sumOf(parts)).toBe(amount);
        const whole = weights.reduce((sum, weight) => sum + BigInt(weight), 0n);
        for (const [position, part] of parts.entries()) {
          const product = BigInt(amount) * BigInt(weights[position] ?? 0);
          const down = Number(product / whole);
          expect([down, down + (product % whole > 0n ? 1 : 0)]).toContain(part);
        }
      },
    ),
  );
  expect(() => apportion(1, [0, 0])).toThrow(RangeError);
});

test('splits within the base amount never exceed it, whatever their number and kind', () => {
  const wanted = fc.oneof(
    fc.record({ amount: amounts }),
    fc.record({ basisPoints: fc.integer({ min: 1, max: 10_000 }) }),
  );
  fc.assert(
    fc.property(amounts, fc.array(wanted, { maxLength: 20 }), (base, splits: WantedSplit[]) => {
      const points = splits.reduce((sum, { basisPoints }) => sum + BigInt(base) * BigInt(basisPoints ?? 0), 0n);
      const fixed = splits.reduce((sum, { amount }) => sum + BigInt(amount ?? 0), 0n);
      const divided = splitAmounts(base, splits);
      expect(divided === null).toBe(points + fixed * 10_000n > BigInt(base) * 10_000n);
      expect(sumOf(divided ?? [])).toBeLessThanOrEqual(base);
    }),
  );
});

const splitOf = (walletId: string, amount: Kobo): Split => ({
  walletId,
  amount,
  basisPoints: null,
  reference: null,
  description: null,
  amountCredited: 0,
  amountRefunded: 0,
});

/** A base amount, and splits within it. */
const divided = fc
  .tuple(amounts, fc.array(amounts, { minLength: 1, maxLength: 20 }), amounts)
  .map(([base, weights, rest]) => {
    const parts = apportion(base, [...weights, rest]).slice(0, weights.length);
    return { base, splits: parts.map((amount, position) => splitOf(`wallet ${position}`, amount)) };
  });

test('the shares of money that comes in parts never fall, and are the amounts once all of it has come', () => {
  fc.assert(
    fc.property(divided, fc.array(amounts, { maxLength: 5 }), ({ base, splits }, credits) => {
      let [before, credited] = [splits, 0];
      for (const credit of [...credits, base]) {
        const after = splitsCreditedBy(before, { amount: credit, credited, net: base });
        credited += credit;
        for (const [position, { amountCredited }] of after.entries())
          expect(amountCredited).toBeGreaterThanOrEqual(before[position]?.amountCredited ?? 0);
        expect(sumOf(creditsOf(before, after).map(({ amount }) => amount))).toBeLessThanOrEqual(credit);
        before = after;
      }
      expect(before.map(({ amountCredited }) => amountCredited)).toEqual(splits.map(({ amount }) => amount));
    }),
  );
});

test('refunds of any amounts take exactly what was credited, and from no wallet more than its own', () => {
  fc.assert(
    fc.property(divided, amounts, fc.array(amounts, { maxLength: 6 }), ({ base, splits }, surplus, wishes) => {
      let payment: SplitPayment = {
        targetWalletId: 'target',
        splits: splitsCreditedBy(splits, { amount: base, credited: 0, net: base }),
        amountCredited: base + surplus,
        amountRecalled: 0,
        amountRefunding: 0,
        amountRefunded: 0,
      };
      for (const wish of [...wishes, base + surplus]) {
        const left = refundableParts(payment);
        const amount = Math.min(wish, sumOf(left.map((part) => part.amount)));
        const parts = refundParts(payment, amount);
        expect(sumOf(parts.map((part) => part.amount))).toBe(amount);
        for (const part of parts)
          expect(part.amount).toBeLessThanOrEqual(left.find(({ walletId }) => walletId === part.walletId)?.amount ?? 0);
        payment = {
          ...payment,
          amountRefunded: payment.amountRefunded + amount,
          splits: payment.splits.map((split) => ({
            ...split,
            amountRefunded:
              split.amountRefunded + (parts.find(({ walletId }) => walletId === split.walletId)?.amount ?? 0),
          })),
        };
      }
      expect(payment.amountRefunded).toBe(base + surplus);
      expect(payment.splits.map(({ amountRefunded }) => amountRefunded)).toEqual(splits.map(({ amount }) => amount));
    }),
  );
});

test('splits bear all of a fee, each its exact share rounded, and are left something, or none of them bears it', () => {
  fc.assert(
    fc.property(divided, fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }), amounts, ({ splits }, bear, fee) => {
      const asked = splits.map((split, position) => (bear[position] === true ? { ...split, feeBorne: 0 } : split));
      const weights = asked.map(({ amount, feeBorne }) => (feeBorne === undefined ? 0 : amount));
      const bearing = splitsBearing(asked, fee);
      if (bearing === null) return;
      expect(sumOf(bearing.map(({ feeBorne = 0 }) => feeBorne))).toBe(fee);
      for (const [position, { amount, feeBorne = 0 }] of bearing.entries()) {
        expect(amount + feeBorne).toBe(splits[position]?.amount);
        expect(amount).toBeGreaterThan(0);
        const share = BigInt(fee) * BigInt(weights[position] ?? 0);
        const rest = BigInt(feeBorne) * BigInt(sumOf(weights)) - share;
        expect(rest < BigInt(sumOf(weights)) && -rest < BigInt(sumOf(weights))).toBe(true);
      }
    }),
  );
});
