// Query parameters: a route accepts only those it declares. A misspelt filter is an error; ignoring it would return
// unfiltered results.
import { afterAll, describe, expect, test } from '@jest/globals';
import { startTestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';
import { pathOf, routeCases } from '../support/routes.ts';

const api = await startTestApi();

afterAll(() => api.close());

/** The callback URL of a rail may carry parameters that the rail appends. */
const ACCEPTS_ANY = 'POST /rails/:rail/callbacks/:contract';

test.each(routeCases().filter(({ name }) => name !== ACCEPTS_ANY))(
  '$name rejects an unknown query parameter by name',
  async ({ name, method, route }) => {
    const answer = await api.test.call(method, `${pathOf(route)}?extrenalReference=typo`, {
      ...(route.body !== undefined && { body: {} }),
      idempotencyKey: name,
    });
    expectError(answer, 400, 'VALIDATION_FAILED');
    expect(answer.error.details.fields).toContainEqual({
      field: 'extrenalReference',
      code: 'unrecognized_keys',
      message: expect.stringContaining('extrenalReference'),
    });
  },
);

test.each(['page=7', 'constructor=x', '%00=%00', 'a[b]=c', '=x', 'Limit=2'])(
  'GET /wallets?%s is 400 VALIDATION_FAILED',
  async (query) => {
    const { status, error } = await api.test.get(`/wallets?${query}`);
    expect([status, error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(error.details.fields).toEqual([expect.objectContaining({ code: 'unrecognized_keys' })]);
  },
);

test('an empty query string is accepted', async () => {
  for (const query of ['?', '?&', '?&&']) expect((await api.test.get(`/wallets${query}`)).status).toBe(200);
});

test('the scope is checked before the query, and the query before the resource', async () => {
  const { key } = await api.createKey(api.organisation.organisationId, { scopes: ['payment'] });
  expect((await api.client(key).get('/wallets?nope=1')).error.code).toBe('API_KEY_SCOPE_FORBIDDEN');
  expect((await api.test.get('/wallets/nonsense?nope=1')).error.code).toBe('VALIDATION_FAILED');
});

describe('empty cursors', () => {
  test('an empty cursor may be combined with filters', async () => {
    const named = await api.test.post('/wallets', {
      email: 'a@test.example',
      externalReference: 'with an empty cursor',
    });
    const { items } = await api.test.get('/wallets?cursor=&externalReference=with%20an%20empty%20cursor');
    expect(items.map(({ id }) => id)).toEqual([named.data.id]);
  });
});
