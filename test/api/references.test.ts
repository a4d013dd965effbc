// The caller's own reference and metadata of the resources that move money, and the items of a payout.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import { nextVersion } from '../../src/resources/bookTable.ts';
import { findPayment } from '../../src/resources/payments/queries.ts';
import { paymentRow } from '../../src/resources/payments/rows.ts';
import { type Resource, startTestApi, type TestOrganisation } from '../support/api.ts';
import { creditPayment } from '../support/creditPayment.ts';
import { added, type MoneyRoute, moneyRoutes, written } from '../support/moneyRequests.ts';

const api = await startTestApi();

afterAll(() => api.close());

const METADATA = { order_id: '7', Straße: 'Marina 1', constructor: 'Ada' };

/** The routes that create a resource, and where that is read and listed. */
const RESOURCES = [
  { name: 'POST /wallets/:id/transfer', resource: 'transfer', path: '/transfers', list: '/transfers' },
  { name: 'POST /wallets/:id/withdraw', resource: 'withdrawal', path: '/withdrawals', list: '/withdrawals' },
  { name: 'POST /payments', resource: 'payment', path: '/payments', list: '/payments' },
  { name: 'POST /payments/:id/refund', resource: 'refund', path: '/refunds', list: '/refunds' },
  { name: 'POST /payouts', resource: 'payout', path: '/payouts', list: '/payouts' },
] as const;

function routeOf(name: string, organisation: TestOrganisation = api.organisation): MoneyRoute {
  const route = moneyRoutes(api, organisation)[name];
  if (route === undefined) throw new Error(`there is no ${name}`);
  return route;
}

/** Sends a good request with a reference. */
async function create(name: string, more: object, organisation: TestOrganisation = api.organisation) {
  const { path, body } = await routeOf(name, organisation).good();
  return await organisation.test.money(path, { ...body, ...more });
}

describe.each(RESOURCES)('$name', ({ name, resource, path, list }) => {
  test('reference and metadata come back in the response, in reads and in the list by reference', async () => {
    const reference = `order ${name}`;
    const { status, data } = await create(name, { reference, metadata: METADATA });
    expect([status, data.reference, data.metadata]).toEqual([routeOf(name).status, reference, METADATA]);
    expect((await api.test.get(`${path}/${data.id}`)).data).toEqual(data);
    await create(name, { reference: `another ${reference}` });
    const { items } = await api.test.get(`${list}?reference=${encodeURIComponent(reference)}`);
    expect(items).toEqual([data]);
    expect((await api.test.get(`${list}?reference=unused`)).items).toEqual([]);
  });

  test('without them the resource has null and no metadata', async () => {
    const { data } = await create(name, { metadata: {} });
    expect([data.reference, data.metadata]).toEqual([null, {}]);
    expect((await api.test.get(`${path}/${data.id}`)).data).toMatchObject({ reference: null, metadata: {} });
  });

  test('a taken reference is 409 REFERENCE_TAKEN with the id of its resource, moves nothing, and is replayed', async () => {
    const reference = `taken ${name}`;
    const first = await create(name, { reference });
    const request = await routeOf(name).good();
    const before = await written(api, api.organisation);
    const send = () =>
      api.test.money(request.path, { ...request.body, reference }, `taken ${name}`.replaceAll(' ', '-'));
    const { status, error } = await send();
    expect([status, error.type, error.code]).toEqual([409, 'conflict_error', 'REFERENCE_TAKEN']);
    expect(error.details).toEqual({ resource, reference, id: first.data.id });
    expect(Object.values(added(before, await written(api, api.organisation))).every((count) => count === 0)).toBe(true);
    const again = await send();
    expect([again.headers.get('idempotent-replayed'), again.error.details]).toEqual(['true', error.details]);
  });

  test('of concurrent requests with one reference exactly one is accepted, and the others name it', async () => {
    const reference = `raced ${name}`;
    const requests = await Promise.all(Array.from({ length: 12 }, () => routeOf(name).good()));
    const answers = await Promise.all(
      requests.map(({ path: target, body }) => api.test.money(target, { ...body, reference })),
    );
    const accepted = answers.filter(({ status }) => status < 300);
    expect(accepted).toHaveLength(1);
    const refused = answers.filter(({ status }) => status === 409);
    expect(new Set(refused.map(({ error }) => `${error.code} ${String(error.details.id)}`))).toEqual(
      new Set([`REFERENCE_TAKEN ${accepted[0]?.data.id}`]),
    );
    expect(refused).toHaveLength(11);
  });

  test('another organisation may use the same reference', async () => {
    const reference = `shared ${name}`;
    await create(name, { reference });
    const other = await api.createOrganisation();
    expect((await create(name, { reference }, other)).status).toBe(routeOf(name).status);
  });

  test.each([
    ['an empty reference', { reference: '' }, 'reference', 'too_small'],
    ['a reference of 101 characters', { reference: 'x'.repeat(101) }, 'reference', 'too_big'],
    ['metadata that is no object', { metadata: ['a'] }, 'metadata', 'invalid_type'],
    ['a value that is no text', { metadata: { a: 1 } }, 'metadata.a', 'invalid_type'],
    ['a value of 501 characters', { metadata: { a: 'x'.repeat(501) } }, 'metadata.a', 'too_big'],
    ['a key of 41 characters', { metadata: { ['k'.repeat(41)]: 'a' } }, `metadata.${'k'.repeat(41)}`, 'invalid_key'],
    [
      '51 keys',
      { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, key) => [`key ${key}`, 'a'])) },
      'metadata',
      'too_big',
    ],
    ['a NUL in a value', { metadata: { a: '\0' } }, 'metadata.a', 'invalid_string'],
    ['the key __proto__', { metadata: JSON.parse('{"__proto__": "a"}') }, 'metadata.__proto__', 'unrecognized_keys'],
  ])('%s is 400', async (_case, more, field, code) => {
    const { status, error } = await create(name, more);
    expect([status, error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(error.details.fields).toEqual([expect.objectContaining({ field, code })]);
  });
});

test('kinds of resources have references of their own', async () => {
  for (const { name } of RESOURCES) {
    expect((await create(name, { reference: 'the same' })).status).toBe(routeOf(name).status);
  }
});

test('metadata has up to 50 keys, and comes back through the event', async () => {
  const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, key) => [`key ${key}`, 'v'.repeat(500)]));
  const { data } = await create('POST /wallets/:id/transfer', { reference: 'x'.repeat(100), metadata });
  const { items } = await api.test.get('/events?type=transfer.completed&limit=1');
  expect(items[0]?.data).toEqual(data);
  expect(data.metadata).toEqual(metadata);
});

test('a payment that expired without money leaves its reference to the next, which keeps it', async () => {
  const reference = 'tried again';
  const book = { organisationId: api.organisation.organisationId, environment: 'test' as const };
  const expired = (await create('POST /payments', { reference })).data;
  expect((await api.test.post(`/simulations/payments/${expired.id}/expire`)).data.status).toBe('expired');
  const retried = await create('POST /payments', { reference });
  expect(retried.status).toBe(201);
  const { items } = await api.test.get(`/payments?reference=${encodeURIComponent(reference)}`);
  expect(items.map(({ id, status }) => [id, status])).toEqual([
    [retried.data.id, 'pending'],
    [expired.id, 'expired'],
  ]);
  const third = await create('POST /payments', { reference });
  expect([third.status, third.error.details.id]).toEqual([409, retried.data.id]);
  // Money that comes late changes the expired one: no conflict with the other.
  const row = await findPayment(api.sql, book, requireUuid('payment', expired.id));
  if (row === null) throw new Error('the payment is gone');
  const payments = [paymentRow(nextVersion(row, { amountReceived: 500 }))];
  expect(await api.dependencies.journal.post({ book, rows: { payments } })).toEqual({ outcome: 'posted' });
});

test('a reference is free only while no money of its expired payment has come', async () => {
  const book = { organisationId: api.organisation.organisationId, environment: 'test' as const };
  for (const name of ['amountInReview', 'amountReceived'] as const) {
    const reference = `late ${name}`;
    const { id } = (await create('POST /payments', { reference })).data;
    expect((await api.test.post(`/simulations/payments/${id}/expire`)).status).toBe(200);
    const set = async (amount: number) => {
      const row = await findPayment(api.sql, book, requireUuid('payment', id));
      if (row === null) throw new Error('the payment is gone');
      const payments = [paymentRow(nextVersion(row, { [name]: amount }))];
      expect(await api.dependencies.journal.post({ book, rows: { payments } })).toEqual({ outcome: 'posted' });
    };
    await set(500);
    const again = await create('POST /payments', { reference });
    expect([again.status, again.error.details.id]).toEqual([409, id]);
    await set(0); // it is back at its sender, or with the bank
    expect((await create('POST /payments', { reference })).status).toBe(201);
  }
});

test('a payment that expired with a part of its money, or was paid, keeps its reference', async () => {
  for (const status of ['partial', 'settled']) {
    const reference = `kept ${status}`;
    const { id } = (await create('POST /payments', { reference })).data;
    const paymentId = requireUuid('payment', id);
    const book = { organisationId: api.organisation.organisationId, environment: 'test' } as const;
    if (status === 'partial') await creditPayment(api, book, paymentId, 1);
    else await api.sql`UPDATE payments SET status = 'settled', settled_at = now() WHERE id = ${paymentId}`;
    const expired = await api.test.post(`/simulations/payments/${id}/expire`);
    expect(expired.status).toBe(status === 'partial' ? 200 : 422);
    const again = await create('POST /payments', { reference });
    expect([again.status, again.error.details.id]).toEqual([409, id]);
  }
});

describe('GET /payouts/:id/items', () => {
  const ITEMS = 5;
  let payout: Resource;

  beforeAll(async () => {
    const sourceWalletId = await api.createWallet(api.test, { balance: 100_000 });
    const destinationWalletId = await api.createWallet();
    const items = [
      { amount: 1, reference: 'wallet', destinationWalletId },
      ...Array.from({ length: ITEMS - 1 }, (_, item) => ({
        amount: item + 2,
        reference: `salary ${item}`,
        bankAccount: { accountNumber: '0123456789', bankCode: '058' },
      })),
    ];
    payout = (await api.test.money('/payouts', { sourceWalletId, items })).data;
    await api.sql`
      UPDATE payout_items SET status = 'failed', failure_code = 'bank_refused', failure_reason = 'no'
      WHERE payout_id = ${requireUuid('payout', payout.id)} AND position IN (1, 3)`;
  });

  const page = (query: string) => api.test.get(`/payouts/${payout.id}/items?${query}`);

  test.each([1, 2, 4, 5])('pages of %i have every item once, in the order of the request', async (limit) => {
    const seen: Resource[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { items, pagination } = await page(`limit=${limit}&cursor=${cursor}`);
      seen.push(...items);
      cursor = pagination.nextCursor;
    }
    expect(seen).toEqual((await api.test.get(`/payouts/${payout.id}`)).data.items);
    expect(seen.map(({ amount }) => amount)).toEqual([1, 2, 3, 4, 5]);
  });

  test('the filters select by status and reference, and a cursor keeps them', async () => {
    const first = await page('status=failed&limit=1');
    const second = await page(`cursor=${first.pagination.nextCursor}`);
    expect([...first.items, ...second.items].map(({ reference }) => reference)).toEqual(['salary 0', 'salary 2']);
    expect(second.pagination.hasMore).toBe(false);
    expect(first.items[0]).toMatchObject({ failureCode: 'bank_refused', destinationWalletId: null });
    const { items } = await page('reference=wallet');
    expect(items.map(({ amount, destinationWalletId }) => [amount, typeof destinationWalletId])).toEqual([
      [1, 'string'],
    ]);
    expect((await page('status=nonsense')).error.code).toBe('VALIDATION_FAILED');
  });
});
