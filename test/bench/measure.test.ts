// The figures that the benchmark compares.
import { describe, expect, test } from '@jest/globals';
import { measureInterleaved, median, ratio } from '../../bench/measure.ts';

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

describe('series measured in turns', () => {
  const samples = (name: string, ...values: number[]) => ({
    name,
    unit: 'a',
    measure: () => {
      const value = values.shift();
      return value === undefined ? Promise.reject(new Error(`${name} failed`)) : Promise.resolve({ value });
    },
  });

  test('leave out the warm-up round', async () => {
    const measured = await measureInterleaved([samples('one', 9, 1, 2), samples('two', 9, 3, 4)], 2, () => {});
    expect(measured.map(({ name, rounds }) => [name, rounds])).toEqual([
      ['one', [1, 2]],
      ['two', [3, 4]],
    ]);
  });

  test('end with the first one that fails', async () => {
    const measured = measureInterleaved([samples('one', 9, 1, 2), samples('two', 9, 3)], 2, () => {});
    await expect(measured).rejects.toThrow('two failed');
  });
});
