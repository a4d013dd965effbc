// EndpointLimiter with a clock that the test controls.
import { beforeEach, expect, jest, test } from '@jest/globals';
import { EndpointLimiter } from '../../src/webhooks/endpointLimiter.ts';

let now: number;
let limiter: EndpointLimiter;

beforeEach(() => {
  now = 0;
  limiter = new EndpointLimiter({ perEndpointMin: 2, perEndpointMax: 3 }, () => now);
});

test('an endpoint has at most its limit of open requests, and a finished request frees its slot', () => {
  const first = limiter.acquire('a');
  expect(first).not.toBeNull();
  expect(limiter.acquire('a')).not.toBeNull();
  expect(limiter.acquire('a')).toBeNull();
  first?.('failed');
  // Reported twice, counted once.
  first?.('failed');
  expect(limiter.acquire('a')).not.toBeNull();
  expect(limiter.acquire('a')).toBeNull();
});

test('quick responses raise the limit of an endpoint up to its maximum, and a failure resets it', () => {
  const fill = () => Array.from({ length: 4 }, () => limiter.acquire('a')).filter((release) => release !== null);
  const answerAll = (releases: NonNullable<ReturnType<EndpointLimiter['acquire']>>[]) => {
    for (const release of releases) release('answered');
    return releases.length;
  };
  expect([answerAll(fill()), answerAll(fill()), answerAll(fill())]).toEqual([2, 3, 3]);
  limiter.acquire('a')?.('failed');
  expect(fill()).toHaveLength(2);
});

test('an endpoint is struggling for 30 seconds after a failure, or until it responds again', () => {
  limiter.acquire('a')?.('failed');
  expect([limiter.isUnhealthy('a'), limiter.isUnhealthy('b')]).toEqual([true, false]);
  now = 29_999;
  expect(limiter.isUnhealthy('a')).toBe(true);
  now = 30_000;
  expect(limiter.isUnhealthy('a')).toBe(false);

  limiter.acquire('b')?.('failed');
  limiter.acquire('b')?.('answered');
  expect(limiter.isUnhealthy('b')).toBe(false);
});

test('an endpoint is struggling while a request is open for over two seconds, and after a slow response', () => {
  const release = limiter.acquire('a');
  now = 2_000;
  expect(limiter.isUnhealthy('a')).toBe(false);
  now = 2_001;
  expect(limiter.isUnhealthy('a')).toBe(true);
  release?.('answered');
  expect(limiter.isUnhealthy('a')).toBe(true);
  now += 30_000;
  expect(limiter.isUnhealthy('a')).toBe(false);
});

test('over the limit, a request waits for the next slot of an endpoint that responds', async () => {
  const [first] = [limiter.acquire('a'), limiter.acquire('a')];
  const waiting = limiter.acquireSoon('a');
  first?.('answered');
  expect(await waiting).not.toBeNull();
});

test('a failure ends all waits, and while the endpoint is suspect none begins', async () => {
  const [first] = [limiter.acquire('a'), limiter.acquire('a')];
  const waiting = [limiter.acquireSoon('a'), limiter.acquireSoon('a'), limiter.acquireSoon('a')];
  first?.('failed');
  expect((await Promise.all(waiting)).filter((release) => release === null)).toHaveLength(2);
  now = 40_000;
  expect(await limiter.acquireSoon('a')).toBeNull();
});

test('a wait for an endpoint that does not respond ends after two seconds', async () => {
  jest.useFakeTimers({ doNotFake: ['performance'] });
  try {
    limiter.acquire('a');
    limiter.acquire('a');
    const waiting = limiter.acquireSoon('a');
    now = 2_000;
    await jest.advanceTimersByTimeAsync(2_000);
    expect(await waiting).toBeNull();
  } finally {
    jest.useRealTimers();
  }
});
