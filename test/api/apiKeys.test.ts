// Keys over the API: reads alone, addresses, a rate of their own, and keys that manage keys.
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Route } from '../../src/api/route.ts';
import { publicId, requireUuid } from '../../src/ids.ts';
import { insertApiKey } from '../../src/resources/apiKeys.ts';
import { makeApiKey, type Scope } from '../../src/resources/keys.ts';
import { proofOfApiKey } from '../../src/resources/proofs.ts';
import { type Answer, type Client, type Resource, startTestApi, type TestApi } from '../support/api.ts';
import { tablesThatHold } from '../support/databaseText.ts';
import { expectError } from '../support/refusals.ts';
import { pathOf, type RouteCase, routeCases } from '../support/routes.ts';
import { waitFor } from '../support/waitFor.ts';

const api = await startTestApi({ settings: { TRUSTED_PROXIES: '127.0.0.1' } });

afterAll(() => api.close());

const create = async (attributes: Parameters<TestApi['createKey']>[1]): Promise<Client> =>
  api.client((await api.createKey(api.organisation.organisationId, attributes)).key);

interface NewKey extends Resource {
  key: string;
}

const make = async (client: Client, body: object): Promise<NewKey> =>
  (await client.post('/api-keys', body)).data as NewKey;

describe('a key with reads alone', () => {
  const scoped = ({ access }: Route) => access !== 'any' && access !== 'none';
  const call = async ({ method, route }: RouteCase) => {
    const reader = await create({ scopes: [`${[route.access].flat()[0] as Scope}:read`] });
    return await reader.call(method, pathOf(route));
  };

  test.each(routeCases((route) => scoped(route) && route.method === 'get'))('may $name', async (one) => {
    expect([401, 403]).not.toContain((await call(one)).status);
  });

  test.each(routeCases((route) => scoped(route) && route.method !== 'get'))('may not $name', async (one) => {
    expectError(await call(one), 403, 'API_KEY_SCOPE_FORBIDDEN');
  });
});

describe('a key with addresses', () => {
  const from = (client: Client, address: string) =>
    client.call('GET', '/wallets', { headers: { 'x-forwarded-for': address } });

  test('it works from them only', async () => {
    const client = await create({ allowedIps: ['203.0.113.0/24', '2001:db8::1'] });
    expect((await from(client, '203.0.113.9')).status).toBe(200);
    expect((await from(client, '2001:db8::1')).status).toBe(200);
    expectError(await from(client, '198.51.100.1'), 403, 'IP_NOT_ALLOWED', { address: '198.51.100.1' });
    expect((await from(client, '203.0.113.9, 198.51.100.1')).error.code).toBe('IP_NOT_ALLOWED');
  });
});

test('a key with a rate of its own has that', async () => {
  const client = await create({ rateLimit: 2 });
  const statuses = [];
  // A minute may end between them.
  for (let count = 0; count < 5; count += 1) {
    const { status, headers } = await client.get('/wallets');
    expect(headers.get('x-ratelimit-limit')).toBe('2');
    statuses.push(status);
  }
  expect(statuses.slice(0, 2)).toEqual([200, 200]);
  expect(statuses).toContain(429);
  expect((await api.test.get('/wallets')).headers.get('x-ratelimit-limit')).toBe('1000000');
});

describe('keys that manage keys', () => {
  test('a new key has what was asked for, works, and is shown once', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const body = { name: 'reports', scopes: ['wallet:read', 'wallet:read'], rateLimit: 50, expiresAt };
    const { status, data } = await api.test.post('/api-keys', body);
    const { key, ...view } = data as NewKey;
    expect(status).toBe(201);
    expect(view).toMatchObject({
      name: 'reports',
      scopes: ['wallet:read'],
      allowedIps: null,
      rateLimit: 50,
      expiresAt,
      status: 'active',
      hint: key.slice(-4),
      lastUsedAt: null,
    });
    expect((await api.client(key).get('/wallets')).status).toBe(200);
    expect((await api.client(key).get('/payments')).error.code).toBe('API_KEY_SCOPE_FORBIDDEN');
    expect((await api.test.get(`/api-keys/${data.id}`)).data).toEqual(view);
    expect((await api.test.get('/api-keys')).items[0]).toEqual(view);
    expect(await tablesThatHold(api.sql, key)).toEqual([]);
    const [audited] = await api.sql<{ operator: string; action: string }[]>`
      SELECT operator, action FROM audit_log WHERE organisation_id = ${api.organisation.organisationId} ORDER BY created_at DESC, id DESC LIMIT 1`;
    expect(audited).toEqual({ operator: expect.stringMatching(/^svc_\w{26}_key$/), action: 'api_key.create' });
  });

  test('a revoked key stops working, twice is once', async () => {
    const made = await make(api.test, { scopes: ['wallet'] });
    for (let count = 0; count < 2; count += 1) {
      const { status, data } = await api.test.call('DELETE', `/api-keys/${made.id}`);
      expect([status, data.status]).toEqual([200, 'revoked']);
    }
    expect((await api.client(made.key).get('/wallets')).error.code).toBe('API_KEY_INVALID');
    expect((await api.test.post(`/api-keys/${made.id}/rotate`)).error).toMatchObject({
      code: 'API_KEY_NOT_ACTIVE',
      details: { keyId: made.id, status: 'revoked' },
    });
  });

  test('a key that was revoked a moment ago, which the process still has in its cache, decides nothing', async () => {
    const made = await make(api.test, { scopes: ['keys', 'wallet'] });
    const client = api.client(made.key);
    expect((await client.get('/api-keys')).status).toBe(200);
    await client.call('DELETE', `/api-keys/${made.id}`);
    expectError(await client.post('/api-keys', { scopes: ['wallet'] }), 401, 'API_KEY_INVALID', {});
  });

  test('a successor has the same rights; the old key ends with the overlap', async () => {
    const made = await make(api.test, { scopes: ['transfer'], rateLimit: 20, name: 'till' });
    const { status, data } = await api.test.post(`/api-keys/${made.id}/rotate`, { overlapHours: 0 });
    expect([status, data]).toMatchObject([
      201,
      { scopes: ['transfer'], rateLimit: 20, name: 'till', status: 'active' },
    ]);
    expect((await api.client((data as NewKey).key).get('/transfers')).status).toBe(200);
    expect((await api.test.get(`/api-keys/${made.id}`)).data.status).toBe('expired');
    expect((await api.client(made.key).get('/transfers')).error.code).toBe('API_KEY_INVALID');
  });

  test.each([
    ['a scope that it lacks', { scopes: ['payout'] }, 403, 'API_KEY_SCOPE_FORBIDDEN'],
    ['any address', { scopes: ['wallet'], allowedIps: ['0.0.0.0/0'] }, 422, 'API_KEY_EXCEEDS_OWN'],
    ['a higher rate', { scopes: ['wallet'], rateLimit: 31 }, 422, 'API_KEY_EXCEEDS_OWN'],
    ['a later end', { scopes: ['wallet'], expiresAt: '2999-01-01T00:00:00Z' }, 422, 'API_KEY_EXCEEDS_OWN'],
  ])('a key cannot give %s', async (_what, body, status, code) => {
    const limits = { allowedIps: ['203.0.113.0/24'], rateLimit: 30, expiresAt: new Date(Date.now() + 3_600_000) };
    const limited = await create({ scopes: ['wallet', 'keys'], ...limits });
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    const answer = await limited.call('POST', '/api-keys', { body, headers });
    expect([answer.status, answer.error.code]).toEqual([status, code]);
    const given = await limited.call('POST', '/api-keys', { body: { scopes: ['wallet:read'] }, headers });
    expect(given.data).toMatchObject({ allowedIps: ['203.0.113.0/24'], rateLimit: 30, status: 'active' });
    expect(given.data.expiresAt).toBe(limits.expiresAt.toISOString());
  });

  test('a key that would have expired is refused', async () => {
    const past = new Date(Date.now() - 1_000).toISOString();
    const { status, error } = await api.test.post('/api-keys', { scopes: ['wallet'], expiresAt: past });
    expect([status, error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(error.details.fields).toMatchObject([{ field: 'expiresAt', code: 'too_small' }]);
  });

  test('nor by rotating a key that has it', async () => {
    const strong = await make(api.test, { scopes: ['payout'] });
    const weak = await create({ scopes: ['wallet', 'keys'] });
    expect((await weak.post(`/api-keys/${strong.id}/rotate`)).error.code).toBe('API_KEY_SCOPE_FORBIDDEN');
    expect((await api.test.get(`/api-keys/${strong.id}`)).data.status).toBe('active');
  });

  test.each([
    {},
    { scopes: [] },
    { scopes: ['admin'] },
    { scopes: ['wallet'], allowedIps: [] },
    { scopes: ['wallet'], allowedIps: ['10.0.0'] },
    { scopes: ['wallet'], rateLimit: 0 },
  ])('%j is 400', async (body) => {
    expect((await api.test.post('/api-keys', body)).error.code).toBe('VALIDATION_FAILED');
  });
});

describe('keys that a key made', () => {
  type Key = Pick<NewKey, 'id' | 'key'>;
  const as = ({ key }: Key): Client => api.client(key);

  /** A key of an operator that may make keys. */
  const manager = async (attributes: object = {}): Promise<Key> => {
    const { id, key } = await api.createKey(api.organisation.organisationId, {
      scopes: ['wallet', 'keys'],
      ...attributes,
    });
    return { id: publicId('apiKey', id), key };
  };

  /** A key, the key that it made, and the key that this one made. */
  const family = async (attributes: object = {}) => {
    const root = await manager(attributes);
    const child = await make(as(root), { scopes: ['wallet', 'keys'] });
    return { root, child, grandchild: await make(as(child), { scopes: ['wallet'] }) };
  };

  const isEnded = async (one: Key): Promise<boolean> =>
    (await as(one).get('/wallets')).error?.code === 'API_KEY_INVALID';
  /** A process has a key in its cache for some seconds. */
  const untilEnded = (...keys: Key[]) =>
    Promise.all(keys.map((one) => waitFor(`${one.id} to end`, () => isEnded(one))));

  /** How many of these requests, sent by the keys in turns within one minute, are served. */
  async function served(keys: readonly Key[], requests: number): Promise<number> {
    for (;;) {
      const answers: Answer[] = [];
      for (let count = 0; count < requests; count += 1) {
        answers.push(await as(keys[count % keys.length] as Key).get('/wallets'));
      }
      if (new Set(answers.map(({ headers }) => headers.get('x-ratelimit-reset'))).size > 1) continue;
      return answers.filter(({ status }) => status === 200).length;
    }
  }

  const auditOf = (action: string, ...keys: Key[]) => api.sql<
    { operator: string; subject: string; reason: string | null }[]
  >`
    SELECT operator, subject, reason FROM audit_log
    WHERE action = ${action} AND subject = ANY (${keys.map(({ id }) => requireUuid('apiKey', id))}) ORDER BY subject`;

  test('share its rate, with it and with each other', async () => {
    const root = await manager({ rateLimit: 20 });
    const made = [];
    for (let count = 0; count < 5; count += 1) made.push(await make(as(root), { scopes: ['wallet'] }));
    expect(await served([root, ...made], 40)).toBeLessThanOrEqual(20);
  });

  test('have a lower rate of their own within it, and what that refuses costs the maker nothing', async () => {
    const root = await manager({ rateLimit: 500 });
    const low = await make(as(root), { scopes: ['wallet', 'keys'], rateLimit: 3 });
    const lower = await make(as(low), { scopes: ['wallet'] });
    expect(await served([low, lower], 12)).toBeLessThanOrEqual(3);
    const { headers } = await as(root).get('/wallets');
    expect(Number(headers.get('x-ratelimit-remaining'))).toBeGreaterThanOrEqual(500 - 2 - 2 * 3);
  });

  test('name it in every view and in the audit log', async () => {
    const { root, child, grandchild } = await family();
    expect([child.createdBy, grandchild.createdBy]).toEqual([root.id, child.id]);
    expect((await api.test.get(`/api-keys/${child.id}`)).data.createdBy).toBe(root.id);
    expect((await api.test.get(`/api-keys/${root.id}`)).data.createdBy).toBeNull();
    expect(await auditOf('api_key.create', grandchild)).toMatchObject([{ operator: child.id }]);
  });

  test('are revoked with it, each in the audit log', async () => {
    const { root, child, grandchild } = await family();
    expect((await api.test.call('DELETE', `/api-keys/${root.id}`)).data.status).toBe('revoked');
    await untilEnded(root, child, grandchild);
    expect(await auditOf('api_key.revoke', child, grandchild)).toMatchObject([
      { subject: requireUuid('apiKey', child.id), reason: `made by ${requireUuid('apiKey', root.id)}` },
      { subject: requireUuid('apiKey', grandchild.id), reason: `made by ${requireUuid('apiKey', child.id)}` },
    ]);
  });

  test('end with the overlap when it is replaced', async () => {
    const { root, child, grandchild } = await family();
    await api.test.post(`/api-keys/${root.id}/rotate`, { overlapHours: 1 });
    const [first, ...others] = await Promise.all(
      [root, child, grandchild].map(({ id }) => api.test.get(`/api-keys/${id}`)),
    );
    for (const { data } of others) expect([data.status, data.expiresAt]).toEqual(['active', first?.data.expiresAt]);
    await api.test.post(`/api-keys/${root.id}/rotate`, { overlapHours: 0 });
    await untilEnded(root, child, grandchild);
  });

  test('a successor has no rate of its own beside that of the key that it replaced', async () => {
    const root = await manager({ rateLimit: 25 });
    const successor = (await as(root).post(`/api-keys/${root.id}/rotate`)).data as NewKey;
    expect(await served([root, successor], 60)).toBeLessThanOrEqual(25);
  });

  test('a key that replaces itself outlives the overlap, and is revoked with what it was', async () => {
    const root = await manager();
    const successor = (await as(root).post(`/api-keys/${root.id}/rotate`, { overlapHours: 0 })).data as NewKey;
    await untilEnded(root);
    expect([successor.createdBy, await isEnded(successor)]).toEqual([root.id, false]);
    await api.test.call('DELETE', `/api-keys/${root.id}`);
    await untilEnded(successor);
  });

  test.each([
    ['DELETE', ''],
    ['POST', '/rotate'],
  ])('cannot end the key that they come from by %s', async (method, suffix) => {
    const { root, grandchild, child } = await family();
    const equal = await make(as(child), { scopes: ['wallet', 'keys'] });
    for (const one of [child, equal]) {
      const answer = await as(one).call(method, `/api-keys/${root.id}${suffix}`);
      expectError(answer, 422, 'API_KEY_EXCEEDS_OWN', { field: 'createdBy' });
    }
    expect(await isEnded(grandchild)).toBe(false);
  });

  test('a key cannot revoke a stronger one', async () => {
    const weak = as(await manager({ rateLimit: 10 }));
    const strong = await make(api.test, { scopes: ['payout'] });
    expect((await weak.call('DELETE', `/api-keys/${strong.id}`)).error.code).toBe('API_KEY_SCOPE_FORBIDDEN');
    const faster = await make(api.test, { scopes: ['wallet'], rateLimit: 11 });
    const answer = await weak.call('DELETE', `/api-keys/${faster.id}`);
    expectError(answer, 422, 'API_KEY_EXCEEDS_OWN', { field: 'rateLimit' });
    for (const { id } of [strong, faster]) expect((await api.test.get(`/api-keys/${id}`)).data.status).toBe('active');
  });

  test('a key that is revoked while it makes keys leaves none', async () => {
    for (let round = 0; round < 10; round += 1) {
      const root = await manager();
      const makes = Array.from({ length: 4 }, () => as(root).post('/api-keys', { scopes: ['wallet'] }));
      await Promise.all([...makes, api.test.call('DELETE', `/api-keys/${root.id}`)]);
      const alive = await api.sql`
        SELECT id FROM api_keys WHERE created_by = ${requireUuid('apiKey', root.id)} AND revoked_at IS NULL`;
      expect([...alive]).toEqual([]);
    }
  });

  test('a key that is rotated while it makes keys leaves none that outlives it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const root = await manager();
      const makes = Array.from({ length: 4 }, () => as(root).post('/api-keys', { scopes: ['wallet'] }));
      await Promise.all([...makes, api.test.post(`/api-keys/${root.id}/rotate`, { overlapHours: 1 })]);
      const outlives = await api.sql`
        SELECT id FROM api_keys WHERE created_by = ${requireUuid('apiKey', root.id)} AND expires_at IS NULL`;
      expect([...outlives]).toEqual([]);
    }
  });

  test('a key that has got an end since its caller read it makes none without one', async () => {
    const root = await manager();
    const { row } = makeApiKey(api.organisation.organisationId, {
      environment: 'test',
      scopes: ['wallet'],
      name: null,
      expiresAt: null,
      allowedIps: null,
      rateLimit: null,
    });
    const end = new Date(Date.now() + 3_600_000);
    await api.sql`UPDATE api_keys SET expires_at = ${end} WHERE id = ${requireUuid('apiKey', root.id)}`;
    await insertApiKey(api.sql, { ...row, createdAt: new Date() }, proofOfApiKey(root.key));
    const [made] = await api.sql<{ expiresAt: Date }[]>`SELECT expires_at FROM api_keys WHERE id = ${row.id}`;
    expect(made).toEqual({ expiresAt: end });
  });

  test('at most seven of them have a lower rate than the one before', async () => {
    let maker = await manager({ rateLimit: 100 });
    for (let rateLimit = 99; rateLimit > 92; rateLimit -= 1) {
      maker = await make(as(maker), { scopes: ['wallet', 'keys'], rateLimit });
    }
    const answer = await as(maker).post('/api-keys', { scopes: ['wallet'], rateLimit: 1 });
    expectError(answer, 422, 'API_KEY_EXCEEDS_OWN', { field: 'rateLimit' });
    expect((await as(maker).post('/api-keys', { scopes: ['wallet'] })).status).toBe(201);
  });
});
