// PATCH of what a caller attached to a resource: metadata, merged by key, and the description of those that have one.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import { nextVersion } from '../../src/resources/bookTable.ts';
import { findPayment } from '../../src/resources/payments/queries.ts';
import { paymentRow } from '../../src/resources/payments/rows.ts';
import { type Answer, type Resource, startTestApi } from '../support/api.ts';
import { moneyRoutes } from '../support/moneyRequests.ts';

const api = await startTestApi();

afterAll(() => api.close());

const CREATED_BY = {
  payment: 'POST /payments',
  transfer: 'POST /wallets/:id/transfer',
  withdrawal: 'POST /wallets/:id/withdraw',
  refund: 'POST /payments/:id/refund',
  payout: 'POST /payouts',
} as const;

type Kind = keyof typeof CREATED_BY | 'wallet';
const KINDS = [...(Object.keys(CREATED_BY) as Kind[]), 'wallet' as const];

async function make(kind: Kind, more: object = {}): Promise<Resource> {
  if (kind === 'wallet') return (await api.test.post('/wallets', { email: 'ada@test.example', ...more })).data;
  const request = await moneyRoutes(api)[CREATED_BY[kind]]?.good();
  return (await api.test.money(request?.path ?? '', { ...request?.body, ...more })).data;
}

const patch = (kind: Kind, id: string, body: unknown) => api.test.call('PATCH', `/${kind}s/${id}`, { body });
const read = async (kind: Kind, id: string) => (await api.test.get(`/${kind}s/${id}`)).data;
const fieldsOf = ({ error }: Answer) => error.details.fields;

/** `count` keys, from a number on. */
const keys = (from: number, count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, key) => [`key ${from + key}`, 'a']));

describe.each(KINDS)('PATCH of a %s', (kind) => {
  let made: Resource;

  beforeAll(async () => {
    made = await make(kind, { metadata: { order: '17', shop: 'ikeja' } });
  });

  test('metadata is merged by key, null and an empty text remove one, and nothing else changes', async () => {
    const { status, data } = await patch(kind, made.id, { metadata: { order: '18', shop: null, rider: 'Ada', x: '' } });
    expect([status, data]).toEqual([200, { ...made, metadata: { order: '18', rider: 'Ada' } }]);
    expect(await read(kind, made.id)).toEqual(data);
    expect((await patch(kind, made.id, { metadata: { order: '', rider: null } })).data.metadata).toEqual({});
    expect((await patch(kind, made.id, { metadata: { a: '1' } })).data.metadata).toEqual({ a: '1' });
    expect((await patch(kind, made.id, { metadata: {} })).data.metadata).toEqual({ a: '1' });
    expect((await patch(kind, made.id, { metadata: null })).data).toEqual({ ...made, metadata: {} });
  });

  test('it has at most 50 keys after the change, and stays as it was if that has more', async () => {
    const { id } = await make(kind, { metadata: keys(0, 50) });
    const refused = await patch(kind, id, { metadata: { 'key 50': 'a' } });
    expect([refused.status, fieldsOf(refused)]).toEqual([
      400,
      [{ field: 'metadata', code: 'too_big', message: expect.any(String), constraint: { maximum: 50 } }],
    ]);
    expect((await read(kind, id)).metadata).toEqual(keys(0, 50));
    const replaced = await patch(kind, id, { metadata: { 'key 0': null, 'key 50': 'a' } });
    expect([replaced.status, replaced.data.metadata]).toEqual([200, keys(1, 50)]);
  });

  test('concurrent changes are all kept, and never become too many', async () => {
    const { id } = await make(kind);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => patch(kind, id, { metadata: keys(index * 5, 5) })),
    );
    const refused = answers.filter(({ status }) => status === 400);
    expect([refused.length, answers.filter(({ status }) => status === 200).length]).toEqual([2, 10]);
    const kept = answers.flatMap(({ status }, index) => (status === 200 ? Object.entries(keys(index * 5, 5)) : []));
    expect((await read(kind, id)).metadata).toEqual(Object.fromEntries(kept));
  });

  test('the list finds it by the new metadata', async () => {
    const { id } = await make(kind, { metadata: { before: kind } });
    await patch(kind, id, { metadata: { before: null, after: kind } });
    const find = async (key: string) => (await api.test.get(`/${kind}s?metadata[${key}]=${kind}`)).items;
    expect([(await find('before')).length, (await find('after')).map((each) => each.id)]).toEqual([0, [id]]);
  });

  test.each([
    ['a field that it has not', { status: 'failed' }, 'status', 'unrecognized_keys'],
    ['its reference', { reference: 'another' }, 'reference', 'unrecognized_keys'],
    ['a value that is no text', { metadata: { a: 1 } }, 'metadata.a', 'invalid_type'],
    ['a value of 501 characters', { metadata: { a: 'x'.repeat(501) } }, 'metadata.a', 'too_big'],
    ['a key of 41 characters', { metadata: { ['k'.repeat(41)]: null } }, `metadata.${'k'.repeat(41)}`, 'invalid_key'],
    ['51 keys', { metadata: keys(0, 51) }, 'metadata', 'too_big'],
    ['the key __proto__', { metadata: JSON.parse('{"__proto__": "a"}') }, 'metadata.__proto__', 'unrecognized_keys'],
  ])('%s is 400, and changes nothing', async (_case, body, field, code) => {
    const before = await read(kind, made.id);
    const answer = await patch(kind, made.id, body);
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [expect.objectContaining({ field, code })]]);
    expect(await read(kind, made.id)).toEqual(before);
  });

  test('a read key, and one of another scope, may not', async () => {
    for (const scopes of [['webhook'], ['wallet:read', 'payment:read', 'transfer:read', 'payout:read']] as const) {
      const { key } = await api.createKey(api.organisation.organisationId, { scopes });
      const answer = await api.client(key).call('PATCH', `/${kind}s/${made.id}`, { body: { metadata: {} } });
      expect([answer.status, answer.error.code]).toEqual([403, 'API_KEY_SCOPE_FORBIDDEN']);
    }
  });
});

test('an empty body is 400', async () => {
  for (const kind of KINDS) {
    const { id } = await make(kind);
    const answer = await patch(kind, id, {});
    expect([kind, answer.status, fieldsOf(answer)]).toMatchObject([kind, 400, [{ field: 'metadata' }]]);
  }
});

describe.each(['payment', 'transfer'] as const)('the description of a %s', (kind) => {
  test('is replaced, cleared by null, and stays with metadata alone', async () => {
    const made = await make(kind, { description: 'Lunch', metadata: { a: '1' } });
    const changed = await patch(kind, made.id, { description: '  Dinner ' });
    expect(changed.data).toEqual({ ...made, description: 'Dinner' });
    expect((await patch(kind, made.id, { metadata: { b: '2' } })).data.description).toBe('Dinner');
    const both = await patch(kind, made.id, { description: null, metadata: { a: null } });
    expect(both.data).toEqual({ ...made, description: null, metadata: { b: '2' } });
    expect(await read(kind, made.id)).toEqual(both.data);
    for (const description of ['', 'x'.repeat(501), 1]) {
      expect(fieldsOf(await patch(kind, made.id, { description }))).toMatchObject([{ field: 'description' }]);
    }
  });

  test('is that of the lines of a statement', async () => {
    const made = await make('transfer', { description: 'Lunch' });
    await patch('transfer', made.id, { description: 'Dinner' });
    const { items } = await api.test.get(`/wallets/${String(made.sourceWalletId)}/transactions?limit=1`);
    expect(items[0]?.description).toBe('Dinner');
  });
});

test.each(['withdrawal', 'refund', 'payout', 'wallet'] as const)('a %s has no description to change', async (kind) => {
  const { id } = await make(kind);
  expect(fieldsOf(await patch(kind, id, { description: 'x' }))).toMatchObject([{ field: 'description' }]);
});

test('no event is sent, and no movement conflicts with a change: the version stays', async () => {
  const book = { organisationId: api.organisation.organisationId, environment: 'test' as const };
  const { id } = await make('payment', { metadata: { a: '1' } });
  const row = await findPayment(api.sql, book, requireUuid('payment', id));
  if (row === null) throw new Error('the payment is gone');
  const count = async () => (await api.sql<{ n: number }[]>`SELECT count(*)::int AS n FROM events`)[0]?.n;
  const before = await count();
  await patch('payment', id, { description: 'changed meanwhile', metadata: { b: '2' } });
  expect(await count()).toBe(before);
  const payments = [paymentRow(nextVersion(row, { amountReceived: 1 }))];
  expect(await api.dependencies.journal.post({ book, rows: { payments } })).toEqual({ outcome: 'posted' });
  const now = { amountReceived: 1, description: 'changed meanwhile', metadata: { a: '1', b: '2' } };
  expect(await read('payment', id)).toMatchObject(now);
});

test('the login of the service changes nothing else of what ledger.post writes', async () => {
  const { sql } = api.dependencies;
  for (const table of ['payments', 'transfers', 'withdrawals', 'refunds', 'payouts']) {
    for (const change of ["status = 'failed'", 'reference = NULL'])
      await expect(sql.unsafe(`UPDATE ${table} SET ${change}`)).rejects.toMatchObject({ code: '42501' });
  }
});
