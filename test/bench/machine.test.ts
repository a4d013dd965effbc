// What the benchmark tells of the machine that it ran on.
import { expect, test } from '@jest/globals';
import { parseProcessorTime, reportStealTime } from '../../bench/machine.ts';

const STAT = 'cpu  100 5 20 800 10 3 2 60 7 0\ncpu0 50 2 10 400 5 1 1 30 3 0\nintr 12345\n';

test('the time of all processors and what was stolen of it; what guests used is in it already', () => {
  expect(parseProcessorTime(STAT)).toEqual({ all: 1_000, stolen: 60 });
  expect(parseProcessorTime('cpu  100 5 20 800 10 3 2\n')).toEqual({ all: 940, stolen: 0 }); // a system that knows no theft
});

test.each([
  [{ all: 1_000, stolen: 60 }, { all: 2_000, stolen: 185 }, 'CPU steal time during the run: 12.5 %.'],
  [{ all: 1_000, stolen: 60 }, { all: 2_000, stolen: 60 }, 'CPU steal time during the run: 0.0 %.'],
  [{ all: 1_000, stolen: 60 }, { all: 1_000, stolen: 60 }, null],
  [null, { all: 1_000, stolen: 60 }, null],
  [{ all: 1_000, stolen: 60 }, null, null],
])('from %j to %j: %s', (before, after, told) => {
  expect(reportStealTime(before, after)).toBe(told);
});
