// The statistics that the benchmark reports.
import { expect, test } from '@jest/globals';
import { median, ratio } from '../../bench/measure.ts';

test.each([
  [[3], 3],
  [[3, 1, 2], 2],
  [[4, 1, 2, 3], 2.5],
  [[], Number.NaN],
])('the median of %j is %d', (values, expected) => {
  expect(median(values)).toBe(expected);
});

test.each([
  ['the quotients per round, so that a slow round affects both series', [10, 2, 9], [5, 1, 3], 2],
  ['the quotients, which may order differently than the series do', [1, 100, 10], [10, 100, 1], 1],
  ['an empty list if the second series was not measured', [1, 2], [], Number.NaN],
  ['an empty list if the first series was not measured', [], [1, 2], Number.NaN],
])('a ratio is the median of %s', (_, one, other, expected) => {
  const measured = [
    { name: 'one', rounds: one },
    { name: 'other', rounds: other },
  ];
  expect(ratio(measured, 'one', 'other')).toBe(expected);
});

test('a ratio with an unknown series is NaN', () => {
  expect(ratio([{ name: 'one', rounds: [1] }], 'one', 'other')).toBeNaN();
});
