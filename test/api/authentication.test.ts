// API key authentication: contract section 5, and the order in which a request is checked.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { revokeApiKey } from '../../src/resources/apiKeys.ts';
import { newApiKey } from '../../src/resources/keys.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { readAnswer, startTestApi, type TestApi } from '../support/api.ts';
import { tablesThatHold } from '../support/databaseText.ts';
import { sendRaw } from '../support/rawHttp.ts';
import { expectError } from '../support/refusals.ts';
import { pathOf, routeCases } from '../support/routes.ts';
import { waitFor } from '../support/waitFor.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api.close());

/** The error code for a request with this Authorization header on the sandbox host; null when it is authenticated. */
async function codeFor(header: string): Promise<string | null> {
  const answer = await api.client(null).call('GET', '/wallets', { headers: { authorization: header } });
  if (answer.status === 200) return null;
  expect([answer.status, answer.error.type, answer.error.details]).toEqual([401, 'authentication_error', {}]);
  return answer.error.code;
}

const revoke = (id: string) =>
  revokeApiKey(api.sql, api.organisation.organisationId, id, { proof: OWNER_PROOF, reason: null });

describe('API key checks, in their order', () => {
  test.each(routeCases(({ access }) => access !== 'none'))('$name requires an API key', async ({ method, route }) => {
    expectError(await api.client(null).call(method, pathOf(route)), 401, 'API_KEY_MISSING');
  });

  test.each(['', '   '])('check 1: a blank Authorization header ("%s") is API_KEY_MISSING', async (header) => {
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
  ])('check 2: a malformed Authorization header is API_KEY_INVALID (%s)', async (header) => {
    expect(await codeFor(header)).toBe('API_KEY_INVALID');
  });

  test('a key sent by the Basic scheme is API_KEY_INVALID, and the message names the Bearer scheme', async () => {
    const basic = `Basic ${Buffer.from(`${api.test.key}:`).toString('base64')}`;
    const { error } = await api.client(null).call('GET', '/wallets', { headers: { authorization: basic } });
    expect([error.code, error.message]).toEqual([
      'API_KEY_INVALID',
      expect.stringContaining('Authorization: Bearer <API_KEY>'),
    ]);
  });

  test('check 3: a key of the other environment is API_KEY_ENVIRONMENT_MISMATCH, whether the key exists or not', async () => {
    expect(await codeFor(`Bearer ${api.live.key}`)).toBe('API_KEY_ENVIRONMENT_MISMATCH');
    expect(await codeFor(`Bearer ${newApiKey('live')}`)).toBe('API_KEY_ENVIRONMENT_MISMATCH');
    const { error } = await api.client(api.test.key, 'live').get('/wallets');
    expect(error.code).toBe('API_KEY_ENVIRONMENT_MISMATCH');
  });

  test('check 4: an unknown key is API_KEY_INVALID, and a known one is accepted with any spelling of the Bearer scheme', async () => {
    expect(await codeFor(`Bearer ${newApiKey('test')}`)).toBe('API_KEY_INVALID');
    expect(await codeFor(`Bearer ${api.test.key}`)).toBeNull();
    expect(await codeFor(`bearer  ${api.test.key} `)).toBeNull();
  });

  test('check 5: an expired key is refused from the exact moment of expiry, although it is cached', async () => {
    const { organisationId } = api.organisation;
    const expired = await api.createKey(organisationId, { expiresAt: new Date(Date.now() - 1) });
    expect(await codeFor(`Bearer ${expired.key}`)).toBe('API_KEY_INVALID');
    const expiresAt = new Date(Date.now() + 1_000);
    const expiring = await api.createKey(organisationId, { expiresAt });
    const uses: { sentAt: Date; code: string | null; answeredAt: Date }[] = [];
    await waitFor('the key to expire', async () => {
      const sentAt = new Date();
      const code = await codeFor(`Bearer ${expiring.key}`);
      uses.push({ sentAt, code, answeredAt: new Date() });
      return code === 'API_KEY_INVALID';
    });
    expect(uses.filter(({ answeredAt, code }) => answeredAt < expiresAt && code !== null)).toEqual([]);
    expect(uses.filter(({ sentAt, code }) => sentAt >= expiresAt && code === null)).toEqual([]);
  });

  test('check 6: every process refuses a revoked key within 5 seconds', async () => {
    await api.withAnother({}, async (second) => {
      const { id, key } = await api.createKey(api.organisation.organisationId);
      const callers = [api.client(key), second.client(key)];
      for (const caller of callers) expect((await caller.get('/wallets')).status).toBe(200);
      expect(await revoke(id)).toBe(1);
      const revokedAt = Date.now();
      let lastAcceptedMs = 0;
      await waitFor('both processes to refuse the key', async () => {
        const sentMs = Date.now() - revokedAt;
        const answers = await Promise.all(callers.map((caller) => caller.get('/wallets')));
        const areRefused = answers.every(({ status, error }) => status === 401 && error.code === 'API_KEY_INVALID');
        if (!areRefused) lastAcceptedMs = sentMs;
        return areRefused;
      });
      expect(lastAcceptedMs).toBeLessThan(5_000);
    });
  });

  test('a key that was never used is refused immediately after it is revoked', async () => {
    const { id, key } = await api.createKey(api.organisation.organisationId);
    await revoke(id);
    expect(await codeFor(`Bearer ${key}`)).toBe('API_KEY_INVALID');
  });
});

describe('the order of checks around authentication', () => {
  const noScopes = async () => api.client((await api.createKey(api.organisation.organisationId, { scopes: [] })).key);
  const path = '/wallets/nonsense/transfer';

  test('an unknown route is reported before a missing API key', async () => {
    expect((await api.client(null).get('/nope')).error.code).toBe('ROUTE_NOT_FOUND');
  });

  test('a missing API key is reported before an unreadable body', async () => {
    expect((await api.client(null).post(path, '{bad')).error.code).toBe('API_KEY_MISSING');
  });

  test('a missing scope is reported before an unreadable body', async () => {
    expect((await (await noScopes()).post(path, '{bad')).error.code).toBe('API_KEY_SCOPE_FORBIDDEN');
  });

  test('an invalid body is reported before a missing Idempotency-Key', async () => {
    expect((await api.test.post(path, { amount: 0 })).error.code).toBe('VALIDATION_FAILED');
  });

  test('a missing Idempotency-Key is reported before an unknown resource', async () => {
    const body = { amount: 1, destinationWalletId: 'nonsense' };
    expect((await api.test.post(path, body)).error.code).toBe('IDEMPOTENCY_KEY_MISSING');
    expect((await api.test.money(path, body)).error.code).toBe('WALLET_NOT_FOUND');
  });
});

describe('both environments on one port', () => {
  test('the Host header selects the environment, and any other host is refused', async () => {
    const settings = { SANDBOX_HOST: 'sandbox.test', LIVE_HOST: 'Api.test', SANDBOX_CHECKOUT_URL: 'https://pay.test' };
    await api.withAnother({ settings }, async (shared) => {
      const listWallets = async (host: string | null, key: string | null, url = shared.urls.test) => {
        const head = `GET /v1/wallets HTTP/1.1\r\n${host === null ? '' : `Host: ${host}\r\n`}Authorization: Bearer ${key}\r\n\r\n`;
        const { status, headers, text } = await sendRaw(url, head);
        const environment = host?.toLowerCase().startsWith('api.test') === true ? 'live' : 'test';
        const request = status === 404 ? undefined : ({ method: 'GET', path: '/wallets', environment } as const);
        const answer = readAnswer(status, headers, text, request);
        return status === 200 ? answer.items.length : answer.error.code;
      };
      expect(await listWallets('api.test', api.live.key)).toBe(1);
      expect(await listWallets('API.TEST', api.live.key)).toBe(1);
      expect(await listWallets('api.test:443', api.live.key)).toBe(1);
      expect(await listWallets('sandbox.test', api.test.key)).toBe(1);
      expect(await listWallets('api.test', api.test.key)).toBe('API_KEY_ENVIRONMENT_MISMATCH');
      expect(await listWallets('sandbox.test', api.live.key)).toBe('API_KEY_ENVIRONMENT_MISMATCH');
      // That of the payment pages, and that to which the sandbox bank sends callbacks.
      expect(await listWallets('pay.test', api.test.key)).toBe(1);
      expect(await listWallets(new URL(shared.urls.test).host, api.test.key)).toBe(1);
      for (const [host, url] of [
        ['elsewhere.test', shared.urls.test],
        ['elsewhere.test', shared.urls.live],
        ['pay.test', shared.urls.live],
        ['', shared.urls.test],
        ['', shared.urls.live],
        [null, shared.urls.live],
      ] as const) {
        expect(await listWallets(host, api.test.key, url)).toBe('ROUTE_NOT_FOUND');
      }
      // Probes name the address of a process.
      const health = await sendRaw(shared.urls.live, 'GET /v1/health HTTP/1.1\r\nHost: 10.0.0.7:8081\r\n\r\n');
      expect(health.status).toBe(200);
    });
  });

  test('without configured hosts the port decides, also where the Host is empty', async () => {
    const list = async (url: string, key: string | null) =>
      (await sendRaw(url, `GET /v1/wallets HTTP/1.1\r\nHost:\r\nAuthorization: Bearer ${key}\r\n\r\n`)).status;
    expect(await list(api.urls.live, api.live.key)).toBe(200);
    expect(await list(api.urls.live, api.test.key)).toBe(401);
    expect(await list(api.urls.test, api.test.key)).toBe(200);
  });
});

test.each(['/v1/health', '/v1/wallets', '/docs', '/pay/nothing', '/v1/rails/sandbox/callbacks/x', '/nowhere'])(
  'a page of another site whose name leads to this machine does not reach %s',
  async (path) => {
    const isRefused = async (host: string, url: string): Promise<boolean> => {
      const { status, text } = await sendRaw(url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      return status === 404 && text.includes('"resource":"host"');
    };
    for (const url of [api.urls.test, api.urls.live]) {
      for (const host of ['evil.example', 'evil.example:8080', 'localhost.evil.example']) {
        expect(await isRefused(host, url)).toBe(true);
      }
      for (const host of ['localhost:8080', '127.0.0.1', '[::1]:8080', '']) {
        expect(await isRefused(host, url)).toBe(false);
      }
    }
  },
);

describe('secrecy of API keys', () => {
  test('a key is in no database table and in no log line', async () => {
    const { key } = await api.createKey(api.organisation.organisationId);
    await api.client(key).get('/wallets');
    await api.client(key, 'live').get('/wallets');
    expect(await tablesThatHold(api.sql, key)).toEqual([]);
    // Proves that the search works.
    expect(await tablesThatHold(api.sql, key.slice(-4))).toContain('public.api_keys');
    expect(api.logged.filter((line) => line.includes(key.slice('svc_test_'.length)))).toEqual([]);
  });

  test('the time of last use is written when the process stops', async () => {
    const stopping = await startTestApi({ databaseUrl: api.databaseUrl });
    const { id, key } = await api.createKey(api.organisation.organisationId);
    await stopping.client(key).get('/wallets');
    await stopping.close();
    const [row] = await api.sql<{ lastUsedAt: Date | null }[]>`SELECT last_used_at FROM api_keys WHERE id = ${id}`;
    expect(Date.now() - Number(row?.lastUsedAt)).toBeLessThan(60_000);
  });
});
