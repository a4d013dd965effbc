// What grew during a soak, from samples that are made up.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import '../ledger/seed.ts';
import { growthOf, growthTable, type Series } from '../../dev/soak/growth.ts';

const HOUR_MS = 3_600_000;
const SAMPLES = 100;

const seriesOf = (slack: number | null, valueAt: (share: number) => number): Series => ({
  of: 'process',
  name: 'api-1, memory',
  unit: 'bytes',
  slack,
  points: Array.from({ length: SAMPLES + 1 }, (_, index) => ({
    atMs: (index * HOUR_MS) / SAMPLES,
    value: valueAt(index / SAMPLES),
  })),
});

test.each<[string, number | null, (share: number) => number, boolean]>([
  ['a cache that fills and then levels', 10, (share) => Math.min(1_000, 4_000 * share), false],
  ['a leak above slack and share', 10, (share) => 1_000 + 2_000 * share, true],
  ['a leak within a quarter of what there is', 10, (share) => 1_000 + 500 * share, false],
  ['growth within the slack', 100, (share) => 100 * share, false],
  ['growth of what may grow', null, (share) => 100_000 * share, false],
  ['one peak at the end', 10, (share) => (share === 1 ? 1_000_000 : 100), false],
  ['a queue that is never drained', 100, (share) => 1_000 * share, true],
  ['what a collection of garbage in the middle has lowered', 10, (share) => (share === 0.5 ? 100 : 1_000), false],
  ['what becomes less', 10, (share) => 1_000 - 900 * share, false],
])('%s', (_name, slack, valueAt, growsTooMuch) => {
  expect(growthOf(seriesOf(slack, valueAt)).growsTooMuch).toBe(growsTooMuch);
});

test('growth an hour is the slope, whatever the run began with', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1_000, max: 1_000 }), fc.nat(1_000_000), (perHour, first) => {
      const growth = growthOf(seriesOf(null, (share) => first + perHour * share));
      expect(growth.perHour).toBeCloseTo(perHour, 3);
      expect(growth).toMatchObject({ first, last: first + perHour });
    }),
  );
});

test('a table of the growth marks what grows too much', () => {
  const MB = 2 ** 20;
  const growths = [seriesOf(MB, (share) => 100 * MB * share), seriesOf(MB, () => 3 * MB), seriesOf(null, () => 2)];
  expect(growthTable(growths.map(growthOf))).toEqual([
    '                        at start    at end   an hour  late in the run',
    'process  api-1, memory    0.0 MB  100.0 MB  100.0 MB  GROWS (40.0 MB)',
    'process  api-1, memory    3.0 MB    3.0 MB    0.0 MB  levels (0.0 MB)',
    'process  api-1, memory    0.0 MB    0.0 MB    0.0 MB',
  ]);
});

test('of no sample nothing grows', () => {
  expect(growthOf({ ...seriesOf(10, () => 1), points: [] })).toMatchObject({ perHour: 0, growsTooMuch: false });
});
