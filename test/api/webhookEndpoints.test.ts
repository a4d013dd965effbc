// The /webhook-endpoints routes over HTTP, by status.
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import { type Answer, startTestApi, type TestOrganisation } from '../support/api.ts';
import { expectError, expectInvalid } from '../support/refusals.ts';

/** A new organisation for each test, so that lists and limits start empty. */
let organisation: TestOrganisation;

const api = await startTestApi();

afterAll(() => api.close());

beforeEach(async () => {
  organisation = await api.createOrganisation();
});

const PATH = '/webhook-endpoints';
const URL = 'https://example.com/hook';
const create = (body: object = { url: URL }): Promise<Answer> => organisation.test.post(PATH, body);
const patch = (id: string, body: unknown): Promise<Answer> =>
  organisation.test.call('PATCH', `${PATH}/${id}`, { body });

describe('201 responses', () => {
  test('creating an endpoint returns it with its secret, which is stored encrypted and never returned again', async () => {
    const { status, data } = await create({
      url: URL,
      description: 'ledger',
      eventTypes: ['payment.settled', 'payment.settled'],
    });
    expect(status).toBe(201);
    const { secret, ...endpoint } = data;
    expect(endpoint).toEqual({
      id: expect.stringMatching(/^svc_[0-9a-z]{26}_whe$/),
      url: URL,
      description: 'ledger',
      eventTypes: ['payment.settled'],
      status: 'enabled',
      failingSince: null,
      previousSecretExpiresAt: null,
      createdAt: expect.any(String),
    });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect((await organisation.test.get(`${PATH}/${data.id}`)).data).toEqual(endpoint);
    expect((await organisation.test.get(PATH)).items).toEqual([endpoint]);
    const id = requireUuid('webhookEndpoint', data.id);
    const [row] = await api.sql`SELECT sealed_secret FROM webhook_endpoints WHERE id = ${id}`;
    expect(row?.sealedSecret).not.toContain(String(secret).slice(6));
    expect(api.dependencies.keyring.open('webhook-secret', id, row?.sealedSecret)).toBe(secret);
    expect(api.logged.join('\n')).not.toContain(String(secret).slice(6));
  });

  test('an endpoint created with a URL only is enabled and receives all event types', async () => {
    expect((await create()).data).toMatchObject({ eventTypes: null, description: null, status: 'enabled' });
  });

  test.each(['http://127.0.0.1:4000/hook', 'http://localhost:4000', 'http://example.com/a?b=c'])(
    'a sandbox that allows private addresses accepts %s and returns it unchanged',
    async (url) => expect((await create({ url })).data.url).toBe(url),
  );
});

describe('200 responses', () => {
  test('updating an endpoint changes the given fields only', async () => {
    const { data } = await create({ url: URL, description: 'a', eventTypes: ['payment.expired'] });
    const { secret: _, ...endpoint } = data;
    expect((await patch(data.id, {})).data).toEqual(endpoint);
    expect((await patch(data.id, { status: 'disabled' })).data).toEqual({ ...endpoint, status: 'disabled' });
    const changes = { url: 'https://example.com/other', description: null, eventTypes: null, status: 'enabled' };
    expect((await patch(data.id, changes)).data).toEqual({ ...endpoint, ...changes });
    expect((await patch(data.id, { eventTypes: ['payout.failed'] })).data.eventTypes).toEqual(['payout.failed']);
  });

  test('rotating the secret of an endpoint returns a new one and the time until which the previous one also signs', async () => {
    const { data: created } = await create();
    const { status, data } = await organisation.test.post(`${PATH}/${created.id}/rotate-secret`);
    expect(status).toBe(200);
    expect(data.secret).toMatch(/^whsec_/);
    expect(data.secret).not.toBe(created.secret);
    const hours = (Date.parse(String(data.previousSecretExpiresAt)) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(23.9);
    expect(hours).toBeLessThanOrEqual(24);
    const { data: read } = await organisation.test.get(`${PATH}/${created.id}`);
    expect(read.previousSecretExpiresAt).toBe(data.previousSecretExpiresAt);
    expect(read).not.toHaveProperty('secret');

    const id = requireUuid('webhookEndpoint', created.id);
    const open = async () => {
      const [row] = await api.sql`SELECT sealed_secret, sealed_previous_secret FROM webhook_endpoints WHERE id = ${id}`;
      return [row?.sealedSecret, row?.sealedPreviousSecret].map((sealed) =>
        api.dependencies.keyring.open('webhook-secret', id, sealed),
      );
    };
    expect(await open()).toEqual([data.secret, created.secret]);
    const { data: again } = await organisation.test.post(`${PATH}/${created.id}/rotate-secret`, {});
    // Two rotations remove a leaked secret completely.
    expect(await open()).toEqual([again.secret, data.secret]);
  });

  test('deleting an endpoint removes it from reads and lists', async () => {
    const { data } = await create();
    const answer = await organisation.test.call('DELETE', `${PATH}/${data.id}`);
    expect([answer.status, answer.data]).toEqual([200, { id: data.id, deleted: true }]);
    expect((await organisation.test.get(PATH)).items).toEqual([]);
    const gone = ['GET', 'PATCH', 'DELETE', 'POST'].map((method) =>
      organisation.test.call(method, `${PATH}/${data.id}${method === 'POST' ? '/test' : ''}`, {
        ...(method === 'PATCH' && { body: { status: 'disabled' } }),
      }),
    );
    expect((await Promise.all(gone)).map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  });
});

describe('202 responses', () => {
  test('testing an endpoint writes a webhook.test event and an outbox message for that endpoint only', async () => {
    const { data: endpoint } = await create({ url: URL, eventTypes: ['payout.failed'] });
    await create();
    const { status, data } = await organisation.test.post(`${PATH}/${endpoint.id}/test`);
    expect(status).toBe(202);
    expect(data).toEqual({
      id: expect.stringMatching(/^svc_[0-9a-z]{26}_evt$/),
      type: 'webhook.test',
      createdAt: expect.any(String),
      resourceId: endpoint.id,
      sequence: 1,
      data: (await organisation.test.get(`${PATH}/${endpoint.id}`)).data,
    });
    expect((await organisation.test.get(`/events/${data.id}`)).data).toEqual(data);
    const { organisationId } = organisation;
    const messages =
      await api.sql`SELECT topic, environment, message FROM outbox WHERE organisation_id = ${organisationId}`;
    const message = { eventId: requireUuid('event', data.id), endpointId: requireUuid('webhookEndpoint', endpoint.id) };
    expect([...messages]).toEqual([{ topic: 'event', environment: 'test', message }]);
  });
});

describe('400 responses', () => {
  test.each([
    ['no request body', undefined, ''],
    ['no URL', {}, 'url'],
    ['an empty URL', { url: '' }, 'url'],
    ['a relative URL', { url: '/hook' }, 'url'],
    ['a URL without slashes', { url: 'https:example.com' }, 'url'],
    ['another scheme', { url: 'ftp://example.com/' }, 'url'],
    ['a URL that cannot be parsed', { url: 'https://exa mple.com/' }, 'url'],
    ['a port number that is too large', { url: 'https://example.com:99999/' }, 'url'],
    ['a NUL in the URL', { url: 'https://example.com/\0' }, 'url'],
    ['a URL that is too long', { url: `https://example.com/${'a'.repeat(2_048)}` }, 'url'],
    ['an event type that does not exist', { url: URL, eventTypes: ['payment.paid'] }, 'eventTypes.0'],
    ['webhook.test as an event type', { url: URL, eventTypes: ['webhook.test'] }, 'eventTypes.0'],
    ['an empty list of event types', { url: URL, eventTypes: [] }, 'eventTypes'],
    ['an unknown status', { url: URL, status: 'paused' }, 'status'],
    ['a secret', { url: URL, secret: 'whsec_AAAA' }, 'secret'],
  ])('creating an endpoint with %s is 400', async (_name, body, field) => {
    expectInvalid(await organisation.test.post(PATH, body), field);
  });

  test('updating an endpoint with an unknown field is 400', async () => {
    const { data } = await create();
    expect((await patch(data.id, { deletedAt: null })).status).toBe(400);
  });
});

describe('422 responses', () => {
  test.each([
    ['http://example.com/hook', 'https_required'],
    ['https://user:word@example.com/', 'userinfo'],
    ['https://example.com/#part', 'fragment'],
    ['https://example.com:22/', 'port'],
    ['https://2130706433/', 'private_address'],
  ])(
    'in live the URL %s is WEBHOOK_URL_FORBIDDEN with the reason %s, at creation and in a PATCH',
    async (url, reason) => {
      const { live } = organisation;
      const { data } = await live.post(PATH, { url: URL });
      for (const answer of [
        await live.post(PATH, { url }),
        await live.call('PATCH', `${PATH}/${data.id}`, { body: { url } }),
      ]) {
        expectError(answer, 422, 'WEBHOOK_URL_FORBIDDEN', { reason });
      }
      expect((await live.get(`${PATH}/${data.id}`)).data.url).toBe(URL);
    },
  );

  test('the cloud metadata address is forbidden in every sandbox', async () => {
    const { error } = await create({ url: 'http://169.254.169.254/latest' });
    expect(error).toMatchObject({ code: 'WEBHOOK_URL_FORBIDDEN', details: { reason: 'private_address' } });
  });

  test('private addresses are forbidden in a sandbox that does not allow them', async () => {
    await api.withAnother({ settings: { WEBHOOK_ALLOW_PRIVATE_ADDRESSES: '' } }, async (hosted) => {
      const answer = await hosted.test.post(PATH, { url: 'http://127.0.0.1:4000/' });
      expectError(answer, 422, 'WEBHOOK_URL_FORBIDDEN', { reason: 'private_address' });
      expect((await hosted.test.post(PATH, { url: 'http://example.com/' })).status).toBe(201);
    });
  });

  test('testing a disabled endpoint is WEBHOOK_ENDPOINT_DISABLED', async () => {
    const { data } = await create({ url: URL, status: 'disabled' });
    const answer = await organisation.test.post(`${PATH}/${data.id}/test`);
    expectError(answer, 422, 'WEBHOOK_ENDPOINT_DISABLED', { endpointId: data.id });
  });

  test('a twenty-first endpoint is WEBHOOK_ENDPOINT_LIMIT_REACHED until one is deleted', async () => {
    const made: Answer[] = [];
    for (let count = 0; count < 20; count += 1) made.push(await create());
    expect(made.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 201));
    expectError(await create(), 422, 'WEBHOOK_ENDPOINT_LIMIT_REACHED', { limit: 20 });
    await organisation.test.call('DELETE', `${PATH}/${made[0]?.data.id}`);
    expect((await create()).status).toBe(201);
  });
});
