// The rules of a payout as tables: its status, when an event is emitted, and the pauses between its checks.
import { describe, expect, test } from '@jest/globals';
import { hasUnreportedChange, rollUp, roundPauseMs, triesAll } from '../../src/workflows/payout/decide.ts';

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

describe('payout events', () => {
  const counts = (open: number, completed: number, failed: number) => ({ open, completed, failed });

  test.each([
    ['an event is emitted when the last item ends', 'processing', 0, counts(0, 3, 0), true],
    ['an event is emitted when the last item ends and some failed', 'processing', 0, counts(0, 2, 1), true],
    ['no event is emitted while an item is open', 'processing', 1, counts(1, 2, 0), false],
    ['no second event is emitted for a completed payout', 'completed', 0, counts(0, 3, 0), false],
    ['no second event is emitted for a partially completed payout', 'partially_completed', 0, counts(0, 2, 1), false],
    ['an event is emitted when an item of a completed payout is returned', 'completed', 1, counts(0, 2, 1), true],
    [
      'an event is emitted when another item is returned and the status stays',
      'partially_completed',
      1,
      counts(0, 1, 2),
      true,
    ],
    ['an event is emitted when the last completed item is returned', 'partially_completed', 1, counts(0, 0, 3), true],
    ['no second event is emitted for a failed payout', 'failed', 0, counts(0, 0, 3), false],
  ] as const)('%s', (_name, status, unreported, items, expected) => {
    expect(hasUnreportedChange({ status }, { ...items, unreported })).toBe(expected);
  });
});

test('the pauses between checks grow to five minutes', () => {
  expect([0, 1, 2, 6, 7, 1_000].map(roundPauseMs)).toEqual([5_000, 10_000, 20_000, 300_000, 300_000, 300_000]);
});

test('items that run without the payout are tried ever more rarely', () => {
  expect(Array.from({ length: 40 }, (_, round) => round).filter(triesAll)).toEqual([1, 2, 4, 8, 16, 32]);
});
