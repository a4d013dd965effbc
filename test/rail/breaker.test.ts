// The circuit breaker of a rail: when it opens, what it admits while it is open, and how it closes.
import { expect, test } from '@jest/globals';
import { type CallEnd, createBreaker } from '../../src/rail/breaker.ts';
import { RailUnavailableError } from '../../src/rail/errors.ts';

/** A breaker with a clock of its own. Without jitter its pauses are 2, 4, 8, 16 and 30 seconds. */
function withClock(random = 0.5) {
  let now = 0;
  const breaker = createBreaker(
    () => now,
    () => random,
  );
  const isRefused = (): boolean => {
    try {
      breaker.admit()('abandoned');
      return false;
    } catch (error) {
      if (!(error instanceof RailUnavailableError)) throw error;
      return true;
    }
  };
  return {
    breaker,
    isRefused,
    pass: (ms: number) => {
      now += ms;
    },
    call: (end: CallEnd, times = 1) => {
      for (let count = 0; count < times; count += 1) breaker.admit()(end);
    },
  };
}

test('ten failures in a row open it; nine, or nine and an answer, do not', () => {
  const { call, isRefused } = withClock();
  call('failed', 9);
  expect(isRefused()).toBe(false);
  call('answered');
  call('failed', 9);
  expect(isRefused()).toBe(false);
  call('failed');
  expect(isRefused()).toBe(true);
});

test('failures further apart than half a minute do not open it, and abandoned calls say nothing', () => {
  const { call, pass, isRefused } = withClock();
  call('failed', 9);
  pass(30_001);
  call('failed', 9);
  call('abandoned', 20);
  expect(isRefused()).toBe(false);
  call('failed');
  expect(isRefused()).toBe(true);
});

test('after a pause it admits one probe at a time, and closes with the first answer', () => {
  const { breaker, call, pass, isRefused } = withClock();
  call('failed', 10);
  pass(1_999);
  expect(isRefused()).toBe(true);
  pass(1);
  const report = breaker.admit();
  expect(isRefused()).toBe(true);
  report('answered');
  expect([breaker.isOpen(), isRefused()]).toEqual([false, false]);
});

test('a failed probe doubles the pause up to half a minute, and an abandoned one is made again', () => {
  const { call, pass, isRefused } = withClock();
  call('failed', 10);
  for (const pause of [2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    pass(pause - 1);
    expect(isRefused()).toBe(true);
    pass(1);
    call('abandoned');
    call('failed');
    expect(isRefused()).toBe(true);
  }
});

test.each([
  [0, 1_000],
  [1, 3_000],
])('the pause is jittered: with %s it is %s ms', (random, pause) => {
  const { call, pass, isRefused } = withClock(random);
  call('failed', 10);
  pass(pause - 1);
  expect(isRefused()).toBe(true);
  pass(1);
  expect(isRefused()).toBe(false);
});
