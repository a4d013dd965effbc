// The delays between delivery attempts.
import { expect, test } from '@jest/globals';
import { readConfig } from '../../src/config.ts';
import { jittered, nextGapMs } from '../../src/webhooks/attempt.ts';

const GAPS = [5_000, 300_000];

test.each([
  [1, 0.5, 5_000],
  [1, 0, 4_500],
  [1, 1, 5_500],
  [2, 0.5, 300_000],
  [3, 0.5, null],
  [4, 0.5, null],
])('after attempt %i with random value %d the next attempt is in %p ms', (attempts, chance, gap) => {
  expect(nextGapMs(attempts, GAPS, () => chance)).toBe(gap);
});

test('without gaps the first attempt is the last', () => {
  expect(nextGapMs(1, [])).toBeNull();
});

test('jitter changes a gap by a tenth at most', () => {
  for (let round = 0; round < 100; round += 1) {
    expect(jittered(1_000)).toBeGreaterThanOrEqual(900);
    expect(jittered(1_000)).toBeLessThanOrEqual(1_100);
  }
});

test('the default schedule has ten attempts over about 75 hours', () => {
  const { webhooks } = readConfig({
    DATABASE_URL: 'postgres://localhost/none',
    MANILLA_KEYS: `a:${Buffer.alloc(32).toString('base64url')}`,
  });
  const hours = webhooks.retryGapsMs.reduce((sum, gap) => sum + gap, 0) / 3_600_000;
  expect(webhooks.retryGapsMs).toHaveLength(9);
  expect(hours).toBeCloseTo(75.585, 2);
});
