// Rate limit: 600 requests per minute and key, exact over any number of processes (contract, section 8).
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Answer, startTestApi } from '../support/api.ts';

const api = await startTestApi({ settings: { RATE_LIMIT_PER_MINUTE: undefined } });
const second = await startTestApi({ databaseUrl: api.databaseUrl, settings: { RATE_LIMIT_PER_MINUTE: undefined } });

afterAll(async () => {
  await second.close();
  await api.close();
});

const LIMIT = 600;
const EXCESS = 25;
const AT_ONCE = 40;

const createKey = () => api.createKey(api.organisation.organisationId);

/** Sends this many requests over both processes, AT_ONCE at a time. */
async function flood(key: string, count: number): Promise<Answer[]> {
  const callers = [api.client(key), second.client(key)];
  const answers: Answer[] = [];
  let sent = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, index) => {
      const caller = callers[index % callers.length];
      while (sent < count && caller !== undefined) {
        sent += 1;
        // Fails validation: the cheapest response.
        answers.push(await caller.get('/fees/quote'));
      }
    }),
  );
  return answers;
}

const header = (answer: Answer, name: string): number => Number(answer.headers.get(`x-ratelimit-${name}`));

/** A flood within one window: if the minute ends during it, it is repeated with another key. */
async function floodInOneWindow(): Promise<{ id: string; key: string; answers: Answer[] }> {
  for (;;) {
    const { id, key } = await createKey();
    const answers = await flood(key, LIMIT + EXCESS);
    if (new Set(answers.map((answer) => header(answer, 'reset'))).size === 1) return { id, key, answers };
  }
}

describe('the rate limit over two processes', () => {
  test('exactly 600 requests of a key are accepted per minute, with limit headers, and the rest are 429 with Retry-After', async () => {
    const { id, key, answers } = await floodInOneWindow();
    const refused = answers.filter(({ status }) => status === 429);
    expect([answers.length - refused.length, refused.length]).toEqual([LIMIT, EXCESS]);
    expect(new Set(answers.map((answer) => header(answer, 'limit')))).toEqual(new Set([LIMIT]));
    const remaining = answers.filter(({ status }) => status !== 429).map((answer) => header(answer, 'remaining'));
    expect(remaining.toSorted((a, b) => a - b)).toEqual(Array.from({ length: LIMIT }, (_, place) => place));

    for (const { error, headers } of refused) {
      expect([error.type, error.code]).toEqual(['rate_limit_error', 'RATE_LIMIT_EXCEEDED']);
      const { retryAfterSeconds, resetAt, ...rest } = error.details;
      expect(rest).toEqual({ limit: LIMIT, remaining: 0 });
      expect(headers.get('retry-after')).toBe(String(retryAfterSeconds));
      expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(retryAfterSeconds).toBeLessThanOrEqual(60);
      expect(String(resetAt)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/);
      expect(headers.get('x-ratelimit-reset')).toBe(String(Date.parse(String(resetAt)) / 1000));
      expect(headers.get('x-ratelimit-remaining')).toBe('0');
    }

    // The limit is per key: other keys and routes without authentication are not affected.
    expect((await api.test.get('/wallets')).status).toBe(200);
    expect((await api.client(null).get('/health')).status).toBe(200);
    await endWindow(id);
    const next = await api.client(key).get('/wallets');
    expect([next.status, header(next, 'remaining')]).toEqual([200, LIMIT - 1]);
  });
});

/** Moves the key's window into the past. */
const endWindow = (id: string): Promise<unknown> => api.sql`
  UPDATE rate_counters SET window_start = date_trunc('minute', now()) - interval '1 minute' WHERE api_key_id = ${id}`;

describe('the request count', () => {
  const exhaust = async (id: string): Promise<void> => {
    await api.sql`
      INSERT INTO rate_counters (organisation_id, api_key_id, window_start, hits)
      VALUES (${api.organisation.organisationId}, ${id}, date_trunc('minute', now()) + interval '1 minute', ${LIMIT})`;
  };

  test('a window of a clock that was ahead ends with it', async () => {
    const { id, key } = await createKey();
    await api.client(key).get('/fees/quote');
    await api.sql`
      UPDATE rate_counters SET hits = ${LIMIT}, window_start = window_start + interval '1 day' WHERE api_key_id = ${id}`;
    const answer = await api.client(key).get('/fees/quote');
    expect([answer.status, header(answer, 'remaining')]).toEqual([400, LIMIT - 1]);
  });

  test('the rate limit is checked after authentication and before scope, body and route', async () => {
    const { id, key } = await api.createKey(api.organisation.organisationId, { scopes: [] });
    await exhaust(id);
    expect((await api.client(key).post('/wallets', '{bad')).error.code).toBe('RATE_LIMIT_EXCEEDED');
    expect((await api.client(key, 'live').get('/wallets')).error.code).toBe('API_KEY_ENVIRONMENT_MISMATCH');
  });

  test('rate limit headers are sent with errors, and not with unauthenticated requests', async () => {
    const { key } = await createKey();
    expect(header(await api.client(key).get('/wallets/nonsense'), 'remaining')).toBe(LIMIT - 1);
    expect(header(await api.client(key).post('/wallets', {}), 'remaining')).toBe(LIMIT - 2);
    expect((await api.client(null).get('/health')).headers.has('x-ratelimit-limit')).toBe(false);
    expect((await api.client(null).get('/wallets')).headers.has('x-ratelimit-limit')).toBe(false);
  });
});
