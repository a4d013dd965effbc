// A limit of calls in progress that follows how long they take.
import { expect, test } from '@jest/globals';
import { AdaptiveLimit, nextLimit } from '../../src/concurrency/adaptiveLimit.ts';

const OPTIONS = { min: 4, max: 25, slowMs: 200 };

/** The limit after these durations. */
const after = (limit: number, durations: number[]): number =>
  durations.reduce((value, ms) => nextLimit(value, ms, OPTIONS), limit);

test.each([
  ['a slow call lowers it', 15, [201], 14],
  ['quick calls, as many as it allows, raise it by about one', 10, Array(10).fill(200), 10.97],
  ['it never passes its maximum', 25, [1, 1, 1], 25],
  ['nor its minimum', 4, [5_000, 5_000], 4],
])('%s', (_what, limit, durations, expected) => {
  expect(after(limit, durations)).toBeCloseTo(expected, 1);
});

test('behind a server of a fixed rate it settles where calls take about as long as is called slow', () => {
  // Forty calls a second, one after the other: a call takes as long as those before it that are still in progress.
  const durations = Array.from({ length: 500 }).reduce<number[]>(
    (limits) => [...limits, nextLimit(limits.at(-1) ?? OPTIONS.max, (limits.at(-1) ?? OPTIONS.max) * 25, OPTIONS)],
    [],
  );
  for (const limit of durations.slice(-100)) {
    expect(limit).toBeGreaterThan(7);
    expect(limit).toBeLessThan(8.5);
  }
});

test('a failed call counts, and its error is the caller’s', async () => {
  const limit = new AdaptiveLimit({ min: 1, max: 10, slowMs: -1 });
  await expect(limit.measure(() => Promise.reject(new Error('unavailable')))).rejects.toThrow('unavailable');
  expect(limit.value).toBe(9);
  expect(await limit.measure(() => Promise.resolve('started'))).toBe('started');
  expect(limit.value).toBe(8);
});
