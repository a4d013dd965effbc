// Metadata of resources: of wallets from their creation on, and as a filter of lists by one or several pairs.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Answer, type Resource, startTestApi } from '../support/api.ts';
import { moneyRoutes } from '../support/moneyRequests.ts';

const api = await startTestApi();

afterAll(() => api.close());

const LISTS: Readonly<Record<string, string>> = {
  '/transfers': 'POST /wallets/:id/transfer',
  '/withdrawals': 'POST /wallets/:id/withdraw',
  '/payments': 'POST /payments',
  '/refunds': 'POST /payments/:id/refund',
  '/payouts': 'POST /payouts',
};

/** Makes a resource of a list with this metadata. */
async function make(list: string, metadata: object, organisation = api.organisation): Promise<Resource> {
  const client = organisation.test;
  if (list === '/wallets') return (await client.post(list, { email: 'ada@test.example', metadata })).data;
  const { path, body } = (await moneyRoutes(api, organisation)[LISTS[list] ?? '']?.good()) ?? { path: '', body: {} };
  return (await client.money(path, { ...body, metadata })).data;
}

const query = (pairs: Readonly<Record<string, string>>): string =>
  Object.entries(pairs)
    .map(([key, value]) => `${encodeURIComponent(`metadata[${key}]`)}=${encodeURIComponent(value)}`)
    .join('&');

const fieldsOf = ({ error }: Answer) => error.details.fields;

describe('wallets', () => {
  test('metadata is in the answer of the creation, in reads and in lists; without it there is none', async () => {
    const metadata = { customer: '17', Straße: 'Marina 1' };
    const wallet = await make('/wallets', metadata);
    expect(wallet.metadata).toEqual(metadata);
    expect((await api.test.get(`/wallets/${wallet.id}`)).data).toEqual(wallet);
    expect((await api.test.get('/wallets?limit=1')).items).toEqual([wallet]);
    const { data } = await api.test.post('/wallets', { email: 'ada@test.example' });
    expect([data.metadata, (await api.test.get(`/wallets/${data.id}`)).data.metadata]).toEqual([{}, {}]);
  });

  test('it stays with KYC details, and is replayed with an Idempotency-Key', async () => {
    const body = { email: 'ada@test.example', metadata: { order: '18' } };
    const create = () => api.test.call('POST', '/wallets', { body, idempotencyKey: 'with-metadata' });
    const { data } = await create();
    expect((await create()).data).toEqual(data);
    expect((await api.test.get(`/wallets/${data.id}`)).data.metadata).toEqual({ order: '18' });
  });

  test('bad metadata is 400', async () => {
    const answer = await api.test.post('/wallets', { email: 'ada@test.example', metadata: { a: '' } });
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [expect.objectContaining({ field: 'metadata.a' })]]);
  });
});

describe.each(['/wallets', ...Object.keys(LISTS)])('the filter of GET %s', (list) => {
  let both: Resource;
  let one: Resource;
  let more: Resource;

  beforeAll(async () => {
    both = await make(list, { order: '17', shop: 'ikeja & co' });
    one = await make(list, { order: '17' });
    more = await make(list, { order: '17', shop: 'lekki', 'a]b[': '=' });
    await make(list, { order: '170' });
    await make(list, {});
  });

  const find = async (pairs: Readonly<Record<string, string>>, more = '') =>
    (await api.test.get(`${list}?${query(pairs)}${more}`)).items;

  test('one pair matches exactly, several all of them, and other keys do not matter', async () => {
    expect(await find({ order: '17' })).toEqual([more, one, both]);
    expect(await find({ order: '17', shop: 'ikeja & co' })).toEqual([both]);
    expect(await find({ 'a]b[': '=' })).toEqual([more]);
    const others: Record<string, string>[] = [{ order: '1' }, { Order: '17' }, { order: '17', shop: 'ikeja' }];
    for (const none of others) expect(await find(none)).toEqual([]);
    expect(await find({ order: '17' }, '&order=asc')).toEqual([both, one, more]);
    expect(await find({ order: '17' }, '&createdAtTo=2001-01-01T00:00:00Z')).toEqual([]);
  });

  test('pages cover the matches once, with the filter or the cursor alone, and no other filter', async () => {
    const first = await api.test.get(`${list}?${query({ order: '17' })}&limit=2`);
    expect([first.items, first.pagination.hasMore]).toEqual([[more, one], true]);
    for (const filter of ['', `&${query({ order: '17' })}`]) {
      const last = await api.test.get(`${list}?cursor=${first.pagination.nextCursor}${filter}`);
      expect([last.items, last.pagination.hasMore]).toEqual([[both], false]);
    }
    const other = await api.test.get(`${list}?cursor=${first.pagination.nextCursor}&${query({ order: '170' })}`);
    expect([other.status, other.error.code]).toEqual([400, 'INVALID_CURSOR']);
  });

  test('as CSV it is the same rows', async () => {
    const { status, rows } = await api.test.file(`${list}?${query({ order: '17' })}`);
    expect([status, rows.map(({ id }) => id)]).toEqual([200, [more.id, one.id, both.id]]);
  });

  test('another organisation has none of them', async () => {
    const other = await api.createOrganisation();
    expect((await other.test.get(`${list}?${query({ order: '17' })}`)).items).toEqual([]);
  });

  test.each([
    ['a key of 41 characters', query({ ['k'.repeat(41)]: 'a' }), `metadata.${'k'.repeat(41)}`, 'invalid_key'],
    ['an empty key', 'metadata[]=a', 'metadata.', 'invalid_key'],
    ['an empty value', 'metadata[order]=', 'metadata.order', 'too_small'],
    ['a value of 501 characters', query({ order: 'x'.repeat(501) }), 'metadata.order', 'too_big'],
    ['a NUL', 'metadata[order]=%00', 'metadata.order', 'invalid_string'],
    ['a key twice', 'metadata[order]=1&metadata[order]=2', 'metadata.order', 'invalid_type'],
    ['no key', 'metadata=17', 'metadata', 'invalid_type'],
    ['a pair beside no key', 'metadata[order]=17&metadata=17', 'metadata', 'invalid_type'],
    ['the key __proto__', 'metadata[__proto__]=17', 'metadata.__proto__', 'unrecognized_keys'],
    ['51 keys', query(Object.fromEntries(Array.from({ length: 51 }, (_, key) => [key, 'a']))), 'metadata', 'too_big'],
  ])('%s is 400', async (_case, text, field, code) => {
    const answer = await api.test.get(`${list}?${text}`);
    expect([answer.status, answer.error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(fieldsOf(answer)).toEqual([expect.objectContaining({ field, code })]);
  });
});

test('transfers of a wallet are filtered by metadata too', async () => {
  const transfer = await make('/transfers', { leg: 'first' });
  const source = String(transfer.sourceWalletId);
  const find = async (value: string) =>
    (await api.test.get(`/transfers?sourceWalletId=${source}&${query({ leg: value })}`)).items;
  expect([await find('first'), await find('second')]).toEqual([[transfer], []]);
});

test('lists of what has no metadata reject the filter', async () => {
  for (const list of ['/holds', '/events', '/review-cases']) {
    const answer = await api.test.get(`${list}?metadata[order]=17`);
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [expect.objectContaining({ field: 'metadata' })]]);
  }
});

test('each table has an index of metadata, without the rows that have none', async () => {
  const indexes = await api.sql<{ table: string }[]>`
    SELECT tablename AS table FROM pg_indexes
    WHERE schemaname = 'public'
      AND indexdef LIKE '%USING gin (ledger.metadata_terms(organisation_id, environment, metadata)) WHERE (metadata IS NOT NULL)'
    ORDER BY 1`;
  expect(indexes.map(({ table }) => `/${table}`)).toEqual(['/wallets', ...Object.keys(LISTS)].toSorted());
});
