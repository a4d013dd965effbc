// What the benchmark reports about the machine it ran on.
import { expect, test } from '@jest/globals';
import { describeStealTime, parseProcessorTime } from '../../bench/machine.ts';

const STAT = 'cpu  100 5 20 800 10 3 2 60 7 0\ncpu0 50 2 10 400 5 1 1 30 3 0\nintr 12345\n';

test('processor time is summed over all states, guest time is not counted twice, and steal time is read', () => {
  expect(parseProcessorTime(STAT)).toEqual({ all: 1_000, stolen: 60 });
  // Older kernels have no column for steal time.
  expect(parseProcessorTime('cpu  100 5 20 800 10 3 2\n')).toEqual({ all: 940, stolen: 0 });
});

test.each([
  [{ all: 1_000, stolen: 60 }, { all: 2_000, stolen: 185 }, 'Stolen processor time: 12.5 %.'],
  [{ all: 1_000, stolen: 60 }, { all: 2_000, stolen: 60 }, 'Stolen processor time: 0.0 %.'],
  [{ all: 1_000, stolen: 60 }, { all: 1_000, stolen: 60 }, null],
  [null, { all: 1_000, stolen: 60 }, null],
  [{ all: 1_000, stolen: 60 }, null, null],
])('the steal time report from %j to %j is %s', (before, after, expected) => {
  expect(describeStealTime(before, after)).toBe(expected);
});
