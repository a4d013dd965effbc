// More requests at a time than a process handles: the excess is refused and changes nothing; the rest is done, and does
// not wait for the refusals, which are held back.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Context } from 'koa';
import { RequestsInProgress } from '../../src/api/admission/inProgress.ts';
import { holdRefusal, holdRefusals } from '../../src/api/middleware/holdRefusals.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

const OWN_MAX = 3;
/** The shortest time for which a refusal is held, less what a timer may be early. */
const HELD_MS = 498;
let api: TestApi;

beforeAll(async () => {
  api = await startTestApi({ settings: { REQUESTS_IN_PROGRESS_MAX: String(2 * OWN_MAX) } });
});

afterAll(() => api.close());

test('of fifty transfers at once those that fit are posted, and the others get 429 with Retry-After', async () => {
  const [source, target] = [await api.createWallet(api.test, { balance: 1_000_000 }), await api.createWallet()];
  const transfer = () => api.test.money(`/wallets/${source}/transfer`, { destinationWalletId: target, amount: 100 });
  const timed = async () => {
    const startedAt = performance.now();
    return { ...(await transfer()), ms: performance.now() - startedAt };
  };
  const answers = await Promise.all(Array.from({ length: 50 }, timed));
  const accepted = answers.filter(({ status }) => status < 300);
  const refused = answers.filter(({ status }) => status === 429);
  expect(accepted.length + refused.length).toBe(50);
  expect(accepted.length).toBeGreaterThanOrEqual(OWN_MAX);
  expect(refused.length).toBeGreaterThan(0);
  for (const { headers, error, ms } of refused) {
    expect(ms).toBeGreaterThanOrEqual(HELD_MS);
    expect(headers.get('connection')).toBe('keep-alive');
    expect(headers.get('retry-after')).toBe('1');
    // It was refused before it was counted.
    expect(headers.get('x-ratelimit-limit')).toBeNull();
    expect(error).toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      details: { limit: OWN_MAX, remaining: 0, retryAfterSeconds: 1 },
    });
  }
  expect(await api.balanceOf(target)).toBe(accepted.length * 100);
  expect((await transfer()).status).toBeLessThan(300);
});

test('an organisation takes half of the places, so that another gets in; a place is free again when it is left', () => {
  const inProgress = new RequestsInProgress(4);
  const leave = [inProgress.enter('a'), inProgress.enter('a')];
  expect(leave.every((one) => one !== null)).toBe(true);
  expect(inProgress.enter('a')).toBeNull();
  const others = [inProgress.enter('b'), inProgress.enter('c')];
  expect(others.every((one) => one !== null)).toBe(true);
  expect(inProgress.enter('d')).toBeNull();
  leave[0]?.();
  expect(inProgress.enter('d')).not.toBeNull();
  others[0]?.();
  expect(inProgress.enter('a')).not.toBeNull();
});

test('a refusal is held for half a second to a second, but not more of them at a time than may be held', async () => {
  const hold = holdRefusals({ heldMax: 1 });
  const startedAt = performance.now();
  const answered = async (refused: boolean): Promise<number> => {
    const ctx = { state: {}, req: { complete: true } } as Context;
    await hold(ctx, async () => {
      if (refused) holdRefusal(ctx);
    });
    return performance.now() - startedAt;
  };
  const [held, ...others] = await Promise.all([answered(true), answered(true), answered(false)]);
  expect(held).toBeGreaterThanOrEqual(HELD_MS);
  for (const ms of others) expect(ms).toBeLessThan(held);
  // There is room again.
  expect((await answered(true)) - held).toBeGreaterThanOrEqual(HELD_MS);
});
