// The figures that the benchmark compares.
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
  ['quotients of the same round, so that a slow one falls on both', [10, 2, 9], [5, 1, 3], 2],
  ['another order than that of the series alone', [1, 100, 10], [10, 100, 1], 1],
  ['nothing, where the other was not measured', [1, 2], [], Number.NaN],
  ['nothing, where the one was not measured', [], [1, 2], Number.NaN],
])('a ratio is the median of %s', (_, one, other, expected) => {
  const measured = [
    { name: 'one', rounds: one },
    { name: 'other', rounds: other },
  ];
  expect(ratio(measured, 'one', 'other')).toBe(expected);
});

test('a series that is not there gives no ratio', () => {
  expect(ratio([{ name: 'one', rounds: [1] }], 'one', 'other')).toBeNaN();
});
