// Which endpoints are spared a direct attempt, told by a clock that the test holds.
import { beforeEach, expect, test } from '@jest/globals';
import { EndpointLimiter } from '../../src/webhooks/endpointLimiter.ts';

let now: number;
let traffic: EndpointLimiter;

beforeEach(() => {
  now = 0;
  traffic = new EndpointLimiter({ perEndpointMin: 2, perEndpointMax: 3, totalMax: 4 }, () => now);
});

test('an endpoint has no more requests open than it may, and gets a slot back when one is over', () => {
  const first = traffic.acquire('a');
  expect(first).not.toBeNull();
  expect(traffic.acquire('a')).not.toBeNull();
  expect(traffic.acquire('a')).toBeNull();
  first?.('failed');
  first?.('failed'); // said twice, counted once
  expect(traffic.acquire('a')).not.toBeNull();
  expect(traffic.acquire('a')).toBeNull();
});

test('all endpoints together have no more open than the process may', () => {
  expect(['a', 'b', 'c', 'd'].map((endpointId) => traffic.acquire(endpointId))).not.toContain(null);
  expect(traffic.acquire('e')).toBeNull();
});

test('quick answers earn an endpoint more room, up to the maximum, and trouble takes it back', () => {
  const fill = () => Array.from({ length: 4 }, () => traffic.acquire('a')).filter((release) => release !== null);
  const answerAll = (releases: NonNullable<ReturnType<EndpointLimiter['acquire']>>[]) => {
    for (const release of releases) release('answered');
    return releases.length;
  };
  expect([answerAll(fill()), answerAll(fill()), answerAll(fill())]).toEqual([2, 3, 3]);
  traffic.acquire('a')?.('failed');
  expect(fill()).toHaveLength(2);
});

test('an endpoint struggles for half a minute after a failure, or until it answers again', () => {
  traffic.acquire('a')?.('failed');
  expect([traffic.isUnhealthy('a'), traffic.isUnhealthy('b')]).toEqual([true, false]);
  now = 29_999;
  expect(traffic.isUnhealthy('a')).toBe(true);
  now = 30_000;
  expect(traffic.isUnhealthy('a')).toBe(false);

  traffic.acquire('b')?.('failed');
  traffic.acquire('b')?.('answered');
  expect(traffic.isUnhealthy('b')).toBe(false);
});

test('an endpoint struggles while a request is open for more than two seconds, and after a slow answer', () => {
  const release = traffic.acquire('a');
  now = 2_000;
  expect(traffic.isUnhealthy('a')).toBe(false);
  now = 2_001;
  expect(traffic.isUnhealthy('a')).toBe(true);
  release?.('answered');
  expect(traffic.isUnhealthy('a')).toBe(true);
  now += 30_000;
  expect(traffic.isUnhealthy('a')).toBe(false);
});
