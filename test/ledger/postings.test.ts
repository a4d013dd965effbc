// Postings as data: allocating sources to destinations, and reversing.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { allocate, type Leg, type Posting } from '../../src/ledger/postings.ts';
import './seed.ts';

/** The net change of each account: credits less debits. */
function effectOf(postings: readonly Posting[]): Map<string, bigint> {
  const effect = new Map<string, bigint>();
  const add = (account: string, change: bigint) => effect.set(account, (effect.get(account) ?? 0n) + change);
  for (const { debit, credit, amount } of postings) {
    add(debit, -BigInt(amount));
    add(credit, BigInt(amount));
  }
  return effect;
}

describe('allocate', () => {
  test('a settlement is allocated from the rail to the wallet and then to the fee', () => {
    const sources = [{ account: 'clearing:sandbox', amount: 202_500 }];
    const destinations = [
      { account: 'wallet:w', amount: 200_500 },
      { account: 'income:fees', amount: 2_000 },
    ];
    expect(allocate(sources, destinations)).toEqual([
      { debit: 'clearing:sandbox', credit: 'wallet:w', amount: 200_500 },
      { debit: 'clearing:sandbox', credit: 'income:fees', amount: 2_000 },
    ]);
  });

  test('several sources are allocated to several destinations in order', () => {
    const sources = [
      { account: 'suspense:payment:p', amount: 30 },
      { account: 'clearing:sandbox', amount: 70 },
    ];
    const destinations = [
      { account: 'wallet:w', amount: 50 },
      { account: 'income:fees', amount: 50 },
    ];
    expect(allocate(sources, destinations)).toEqual([
      { debit: 'suspense:payment:p', credit: 'wallet:w', amount: 30 },
      { debit: 'clearing:sandbox', credit: 'wallet:w', amount: 20 },
      { debit: 'clearing:sandbox', credit: 'income:fees', amount: 50 },
    ]);
  });

  test('sides of different sums are rejected', () => {
    const one = [{ account: 'wallet:a', amount: 1 }];
    expect(() => allocate(one, [])).toThrow(RangeError);
    expect(() => allocate([], one)).toThrow(RangeError);
    expect(() => allocate(one, [{ account: 'wallet:b', amount: 2 }])).toThrow(RangeError);
    expect(allocate([], [])).toEqual([]);
  });

  /** Two sides of the same sum, including zero legs: two partitions of one total. */
  const sides = fc
    .tuple(fc.integer({ min: 0, max: 1_000_000_000_000 }), fc.array(fc.nat()), fc.array(fc.nat()))
    .map(([total, cutsLeft, cutsRight]) => {
      const cut = (side: string, cuts: number[]): Leg[] => {
        const marks = [0, ...cuts.map((mark) => mark % (total + 1)), total].toSorted((a, b) => a - b);
        return marks
          .slice(1)
          .map((mark, index) => ({ account: `${side}:${index}`, amount: mark - (marks[index] ?? 0) }));
      };
      return { sources: cut('from', cutsLeft), destinations: cut('to', cutsRight) };
    });

  test('each account changes by exactly its leg, with positive postings and fewer of them than legs', () => {
    fc.assert(
      fc.property(sides, ({ sources, destinations }) => {
        const postings = allocate(sources, destinations);
        const effect = effectOf(postings);
        for (const { account, amount } of sources) expect(effect.get(account) ?? 0n).toBe(-BigInt(amount));
        for (const { account, amount } of destinations) expect(effect.get(account) ?? 0n).toBe(BigInt(amount));
        for (const { amount } of postings) expect(amount).toBeGreaterThan(0);
        const legs = [...sources, ...destinations].filter(({ amount }) => amount > 0).length;
        expect(postings.length).toBeLessThanOrEqual(Math.max(0, legs - 1));
      }),
    );
  });

  test('allocate does not modify its arguments', () => {
    const sources = Object.freeze([Object.freeze({ account: 'wallet:a', amount: 5 })]);
    allocate(sources, [{ account: 'wallet:b', amount: 5 }]);
    expect(sources).toEqual([{ account: 'wallet:a', amount: 5 }]);
  });
});
