// The rules of a payout as tables: what its items make of it, what of that is told, and how a batch is divided.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hasUnreportedChange, PAGE_SIZE, pagesOf, rollUp, roundPauseMs } from '../../src/workflows/payout/decide.ts';

test.each([
  // open, completed, failed
  [1, 0, 0, 'processing'],
  [1, 9, 0, 'processing'],
  [1, 0, 9, 'processing'],
  [3, 4, 5, 'processing'],
  [0, 1, 0, 'completed'],
  [0, 1_000, 0, 'completed'],
  [0, 0, 1, 'failed'],
  [0, 0, 1_000, 'failed'],
  [0, 1, 1, 'partially_completed'],
  [0, 999, 1, 'partially_completed'],
  [0, 1, 999, 'partially_completed'],
] as const)('with %d open, %d completed and %d failed items a payout is %s', (open, completed, failed, status) => {
  expect(rollUp({ open, completed, failed })).toBe(status);
});

describe('it is told', () => {
  const counts = (open: number, completed: number, failed: number) => ({ open, completed, failed });

  test.each([
    ['when the last item ends', 'processing', 0, counts(0, 3, 0), true],
    ['when the last item ends, and some failed', 'processing', 0, counts(0, 2, 1), true],
    ['not while an item is open', 'processing', 0, counts(1, 2, 0), false],
    ['once', 'completed', 0, counts(0, 3, 0), false],
    ['once, with failures', 'partially_completed', 1, counts(0, 2, 1), false],
    ['again when the bank returns an item of a completed payout', 'completed', 0, counts(0, 2, 1), true],
    ['again when one more item comes back and the status stays', 'partially_completed', 1, counts(0, 1, 2), true],
    ['again when the last completed item comes back', 'partially_completed', 2, counts(0, 0, 3), true],
    ['once when all failed', 'failed', 3, counts(0, 0, 3), false],
  ] as const)('%s', (_name, status, failuresReported, items, told) => {
    expect(hasUnreportedChange({ status, failuresReported }, items)).toBe(told);
  });
});

describe('the pages of a batch', () => {
  test.each([
    [1, [[0, 1]]],
    [PAGE_SIZE, [[0, PAGE_SIZE]]],
    [
      PAGE_SIZE + 1,
      [
        [0, PAGE_SIZE],
        [PAGE_SIZE, 1],
      ],
    ],
  ])('of %d items', (items, expected) => {
    expect(pagesOf(items).map(({ from, count }) => [from, count])).toEqual(expected);
  });

  test('hold every place of a batch exactly once', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), (items) => {
        const places = pagesOf(items).flatMap(({ from, count }) => Array.from({ length: count }, (_, n) => from + n));
        expect(places).toEqual(Array.from({ length: items }, (_, place) => place));
      }),
    );
  });
});

test('the pauses between looks grow to five minutes and no further', () => {
  expect([0, 1, 2, 6, 7, 1_000].map(roundPauseMs)).toEqual([5_000, 10_000, 20_000, 300_000, 300_000, 300_000]);
});
