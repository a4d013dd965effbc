// API keys: contract section 5, and the order of checks that the decisions set.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newApiKey } from '../../src/api/admission/apiKeys.ts';
import { revokeApiKey } from '../../src/resources/apiKeys.ts';
import { readAnswer, startTestApi, type TestApi } from '../support/api.ts';
import { tablesThatHold } from '../support/databaseText.ts';
import { sendRaw } from '../support/rawHttp.ts';
import { pathOf, routeCases } from '../support/routes.ts';
import { waitFor } from '../support/waitFor.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api.close());

/** The code that a request with this Authorization header gets on the sandbox host; null when it is let in. */
async function codeFor(header: string): Promise<string | null> {
  const answer = await api.client(null).call('GET', '/wallets', { headers: { authorization: header } });
  if (answer.status === 200) return null;
  expect([answer.status, answer.error.type, answer.error.details]).toEqual([401, 'authentication_error', {}]);
  return answer.error.code;
}

const revoke = (id: string) =>
  revokeApiKey(api.sql, api.organisation.organisationId, id, { operator: 'test', reason: null });

describe('a key is checked in this order', () => {
  test.each(routeCases(({ access }) => access !== 'none'))('$name needs one', async ({ method, route }) => {
    const { status, error } = await api.client(null).call(method, pathOf(route));
    expect([status, error.code]).toEqual([401, 'API_KEY_MISSING']);
  });

  test.each(['', '   '])('1. it is there ("%s")', async (header) => {
    expect(await codeFor(header)).toBe('API_KEY_MISSING');
  });

  const digits = newApiKey('test').slice('svc_test_'.length);
  test.each([
    'Bearer',
    'Bearer nonsense',
    `Basic ${Buffer.from('a:b').toString('base64')}`,
    `svc_test_${digits}`,
    `Bearer svc_test_${digits.slice(1)}`,
    `Bearer svc_test_${digits}x`,
    `Bearer svc_test_${digits.slice(1)}-`,
    `Bearer sk_test_${digits}`,
    `Bearer SVC_TEST_${digits}`,
    `Bearer svc_prod_${digits}`,
    `Bearer svc_test_${digits} svc_test_${digits}`,
    `Bearer svc_live_${digits.slice(1)}`,
  ])('2. it is well formed (%s)', async (header) => {
    expect(await codeFor(header)).toBe('API_KEY_INVALID');
  });

  test('one that is sent by another scheme is told which to use', async () => {
    const basic = `Basic ${Buffer.from(`${api.test.key}:`).toString('base64')}`;
    const { error } = await api.client(null).call('GET', '/wallets', { headers: { authorization: basic } });
    expect([error.code, error.message]).toEqual([
      'API_KEY_INVALID',
      expect.stringContaining('Authorization: Bearer <API_KEY>'),
    ]);
  });

  test('3. it belongs to the environment of the host, known or not', async () => {
    expect(await codeFor(`Bearer ${api.live.key}`)).toBe('API_KEY_ENVIRONMENT_MISMATCH');
    expect(await codeFor(`Bearer ${newApiKey('live')}`)).toBe('API_KEY_ENVIRONMENT_MISMATCH');
    const { error } = await api.client(api.test.key, 'live').get('/wallets');
    expect(error.code).toBe('API_KEY_ENVIRONMENT_MISMATCH');
  });

  test('4. it is known', async () => {
    expect(await codeFor(`Bearer ${newApiKey('test')}`)).toBe('API_KEY_INVALID');
    expect(await codeFor(`Bearer ${api.test.key}`)).toBeNull();
    expect(await codeFor(`bearer  ${api.test.key} `)).toBeNull();
  });

  test('5. it has not expired, to the moment, although it is remembered', async () => {
    const { organisationId } = api.organisation;
    const gone = await api.createKey(organisationId, { expiresAt: new Date(Date.now() - 1) });
    expect(await codeFor(`Bearer ${gone.key}`)).toBe('API_KEY_INVALID');
    const expiresAt = new Date(Date.now() + 1_000);
    const ending = await api.createKey(organisationId, { expiresAt });
    const uses: { asked: Date; code: string | null; answered: Date }[] = [];
    await waitFor('the key to expire', async () => {
      const asked = new Date();
      const code = await codeFor(`Bearer ${ending.key}`);
      uses.push({ asked, code, answered: new Date() });
      return code === 'API_KEY_INVALID';
    });
    expect(uses.filter(({ answered, code }) => answered < expiresAt && code !== null)).toEqual([]);
    expect(uses.filter(({ asked, code }) => asked >= expiresAt && code === null)).toEqual([]);
  });

  test('6. it is not revoked: every process stops taking it within 5 seconds', async () => {
    const second = await startTestApi({ databaseUrl: api.databaseUrl });
    try {
      const { id, key } = await api.createKey(api.organisation.organisationId);
      const callers = [api.client(key), second.client(key)];
      for (const caller of callers) expect((await caller.get('/wallets')).status).toBe(200);
      expect(await revoke(id)).toBe(true);
      const revokedAt = Date.now();
      let lastTakenMs = 0;
      await waitFor('both to refuse it', async () => {
        const askedMs = Date.now() - revokedAt;
        const answers = await Promise.all(callers.map((caller) => caller.get('/wallets')));
        const areRefused = answers.every(({ status, error }) => status === 401 && error.code === 'API_KEY_INVALID');
        if (!areRefused) lastTakenMs = askedMs;
        return areRefused;
      });
      expect(lastTakenMs).toBeLessThan(5_000);
    } finally {
      await second.close();
    }
  });

  test('a key that nobody has used yet is refused at once when it is revoked', async () => {
    const { id, key } = await api.createKey(api.organisation.organisationId);
    await revoke(id);
    expect(await codeFor(`Bearer ${key}`)).toBe('API_KEY_INVALID');
  });
});

describe('around the key, the order is', () => {
  const noScopes = async () => api.client((await api.createKey(api.organisation.organisationId, { scopes: [] })).key);
  const path = '/wallets/nonsense/transfer';

  test('route before key', async () => {
    expect((await api.client(null).get('/nope')).error.code).toBe('ROUTE_NOT_FOUND');
  });

  test('key before body', async () => {
    expect((await api.client(null).post(path, '{bad')).error.code).toBe('API_KEY_MISSING');
  });

  test('scope before body', async () => {
    expect((await (await noScopes()).post(path, '{bad')).error.code).toBe('API_KEY_SCOPE_FORBIDDEN');
  });

  test('body before Idempotency-Key', async () => {
    expect((await api.test.post(path, { amount: 0 })).error.code).toBe('VALIDATION_FAILED');
  });

  test('Idempotency-Key before the resource', async () => {
    const body = { amount: 1, destinationWalletId: 'nonsense' };
    expect((await api.test.post(path, body)).error.code).toBe('IDEMPOTENCY_KEY_MISSING');
    expect((await api.test.money(path, body)).error.code).toBe('WALLET_NOT_FOUND');
  });
});

describe('both environments behind one port', () => {
  test('are told apart by the Host header', async () => {
    const one = await startTestApi({
      databaseUrl: api.databaseUrl,
      settings: { SANDBOX_HOST: 'sandbox.test', LIVE_HOST: 'api.test' },
    });
    try {
      const ask = async (host: string, key: string | null) => {
        const head = `GET /v1/wallets HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n\r\n`;
        const { status, headers, text } = await sendRaw(one.urls.test, head);
        const answer = readAnswer(status, headers, text);
        return status === 200 ? answer.items.length : answer.error.code;
      };
      expect(await ask('api.test', api.live.key)).toBe(1);
      expect(await ask('API.TEST', api.live.key)).toBe(1);
      expect(await ask('sandbox.test', api.test.key)).toBe(1);
      expect(await ask('api.test', api.test.key)).toBe('API_KEY_ENVIRONMENT_MISMATCH');
      expect(await ask('sandbox.test', api.live.key)).toBe('API_KEY_ENVIRONMENT_MISMATCH');
      expect(await ask('elsewhere.test', api.live.key)).toBe('API_KEY_ENVIRONMENT_MISMATCH'); // the port decides
    } finally {
      await one.close();
    }
  });
});

describe('a key is a secret', () => {
  test('it is in no table and in no line of the log', async () => {
    const { key } = await api.createKey(api.organisation.organisationId);
    await api.client(key).get('/wallets');
    await api.client(key, 'live').get('/wallets');
    expect(await tablesThatHold(api.sql, key)).toEqual([]);
    expect(await tablesThatHold(api.sql, key.slice(-4))).toContain('public.api_keys'); // the search does find things
    expect(api.logged.filter((line) => line.includes(key.slice('svc_test_'.length)))).toEqual([]);
  });

  test('when it was last used is written when the process ends', async () => {
    const one = await startTestApi({ databaseUrl: api.databaseUrl });
    const { id, key } = await api.createKey(api.organisation.organisationId);
    await one.client(key).get('/wallets');
    await one.close();
    const [row] = await api.sql<{ lastUsedAt: Date | null }[]>`SELECT last_used_at FROM api_keys WHERE id = ${id}`;
    expect(Date.now() - Number(row?.lastUsedAt)).toBeLessThan(60_000);
  });
});
