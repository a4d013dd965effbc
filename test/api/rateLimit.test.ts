// 600 requests a minute and key, exact over any number of processes (contract, section 8).
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Answer, startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
let second: TestApi;

beforeAll(async () => {
  api = await startTestApi({ settings: { RATE_LIMIT_PER_MINUTE: undefined } });
  second = await startTestApi({ databaseUrl: api.databaseUrl, settings: { RATE_LIMIT_PER_MINUTE: undefined } });
});

afterAll(async () => {
  await second.close();
  await api.close();
});

const LIMIT = 600;
const EXCESS = 25;
const AT_ONCE = 40;

const createKey = () => api.createKey(api.organisation.organisationId);

/** Sends this many requests over both processes, some at a time. */
async function flood(key: string, count: number): Promise<Answer[]> {
  const callers = [api.client(key), second.client(key)];
  const answers: Answer[] = [];
  let sent = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, lane) => {
      const caller = callers[lane % callers.length];
      while (sent < count && caller !== undefined) {
        sent += 1;
        answers.push(await caller.get('/fees/quote')); // fails its validation: the cheapest answer
      }
    }),
  );
  return answers;
}

const header = (answer: Answer, name: string): number => Number(answer.headers.get(`x-ratelimit-${name}`));

/** A whole flood within one minute: one that the minute's end cut in two is repeated with another key. */
async function floodInOneWindow(): Promise<{ id: string; key: string; answers: Answer[] }> {
  for (;;) {
    const { id, key } = await createKey();
    const answers = await flood(key, LIMIT + EXCESS);
    if (new Set(answers.map((answer) => header(answer, 'reset'))).size === 1) return { id, key, answers };
  }
}

describe('over two processes', () => {
  test('exactly 600 requests pass, each is told where it stands, and the rest hear when to come back', async () => {
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

    // The limit is the key's: others go on, and so does what needs no key.
    expect((await api.test.get('/wallets')).status).toBe(200);
    expect((await api.client(null).get('/health')).status).toBe(200);
    await endMinute(id);
    const next = await api.client(key).get('/wallets');
    expect([next.status, header(next, 'remaining')]).toEqual([200, LIMIT - 1]);
  });
});

/** Makes the key's minute one that is over. */
const endMinute = (id: string): Promise<unknown> => api.sql`
  UPDATE rate_counters SET window_start = window_start - interval '1 minute' WHERE api_key_id = ${id}`;

describe('the count', () => {
  const exhaust = async (id: string): Promise<void> => {
    await api.sql`
      INSERT INTO rate_counters (organisation_id, api_key_id, window_start, hits)
      VALUES (${api.organisation.organisationId}, ${id}, date_trunc('minute', now()) + interval '1 hour', ${LIMIT})`;
  };

  test('comes after the key and before scope, body and route work', async () => {
    const { id, key } = await api.createKey(api.organisation.organisationId, { scopes: [] });
    await exhaust(id);
    expect((await api.client(key).post('/wallets', '{bad')).error.code).toBe('RATE_LIMIT_EXCEEDED');
    expect((await api.client(key, 'live').get('/wallets')).error.code).toBe('API_KEY_ENVIRONMENT_MISMATCH');
  });

  test('is shown on errors too, and not where no key was', async () => {
    const { key } = await createKey();
    expect(header(await api.client(key).get('/wallets/nonsense'), 'remaining')).toBe(LIMIT - 1);
    expect(header(await api.client(key).post('/wallets', {}), 'remaining')).toBe(LIMIT - 2);
    expect((await api.client(null).get('/health')).headers.has('x-ratelimit-limit')).toBe(false);
    expect((await api.client(null).get('/wallets')).headers.has('x-ratelimit-limit')).toBe(false);
  });
});
