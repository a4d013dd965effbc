// GET /search: resources of a book by id, or by what callers attached to them, as far as the key may read them.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newUuid, publicId } from '../../src/ids.ts';
import { type Resource, startTestApi } from '../support/api.ts';

const api = await startTestApi();

afterAll(() => api.close());

let wallet: Resource;
let transfer: Resource;
let payment: Resource;

beforeAll(async () => {
  const payer = await api.createWallet(api.test, { balance: 10_000 });
  const payee = await api.createWallet();
  const body = { email: 'Nine@Test.Example', externalReference: 'customer-9', metadata: { branch: 'Ikeja' } };
  wallet = (await api.test.post('/wallets', body)).data;
  const metadata = { order: '17', branch: 'Ikeja' };
  transfer = (
    await api.test.money(`/wallets/${payer}/transfer`, {
      amount: 10,
      destinationWalletId: payee,
      reference: 'order-17',
      metadata,
    })
  ).data;
  payment = (
    await api.test.money('/payments', {
      method: 'virtual_wallet',
      baseAmount: 10,
      targetWalletId: payee,
      reference: 'order-17',
      metadata: { order: '18' },
    })
  ).data;
});

const find = async (query: string, client = api.test) => {
  const { items } = await client.get(`/search?${query}`);
  return (items as unknown as { kind: string; resource: Resource }[]).map(
    ({ kind, resource }) => `${kind} ${resource.id}`,
  );
};

test('by reference, email and value of metadata, over all kinds, newest first', async () => {
  expect(await find('query=order-17')).toEqual([`payment ${payment.id}`, `transfer ${transfer.id}`]);
  expect(await find('query=Ikeja')).toEqual([`transfer ${transfer.id}`, `wallet ${wallet.id}`]);
  expect(await find('query=Ikeja&order=asc')).toEqual([`wallet ${wallet.id}`, `transfer ${transfer.id}`]);
  expect(await find('query=customer-9')).toEqual([`wallet ${wallet.id}`]);
  expect(await find('query=nine@test.example')).toEqual([`wallet ${wallet.id}`]);
});

test('pages cover it once', async () => {
  const first = await api.test.get('/search?query=Ikeja&limit=1');
  expect(first.pagination.hasMore).toBe(true);
  const next = await find(`cursor=${first.pagination.nextCursor}`);
  expect([first.items.map(({ resource }) => (resource as Resource).id), next]).toEqual([
    [transfer.id],
    [`wallet ${wallet.id}`],
  ]);
});

test('a resource is as its own route returns it', async () => {
  const { items } = await api.test.get('/search?query=18');
  expect(items).toEqual([{ kind: 'payment', resource: (await api.test.get(`/payments/${payment.id}`)).data }]);
});

test('exactly: not a part, another case, a key, or a pair', async () => {
  for (const query of ['order-1', 'ikeja', 'branch', 'branch=Ikeja', '=Ikeja'])
    expect(await find(`query=${encodeURIComponent(query)}`)).toEqual([]);
});

test('by id; an unknown one finds nothing', async () => {
  expect(await find(`query=${transfer.id}`)).toEqual([`transfer ${transfer.id}`]);
  expect(await find(`query=${publicId('refund', newUuid())}`)).toEqual([]);
});

test('only what the key may read, and nothing of another book', async () => {
  const { key } = await api.createKey(api.organisation.organisationId, { scopes: ['transfer:read'] });
  const reader = api.client(key);
  expect(await find('query=order-17', reader)).toEqual([`transfer ${transfer.id}`]);
  expect(await find(`query=${payment.id}`, reader)).toEqual([]);
  const other = await api.createOrganisation();
  for (const query of ['order-17', 'Ikeja', transfer.id, 'customer-9'])
    for (const client of [other.test, api.live]) expect(await find(`query=${query}`, client)).toEqual([]);
});

test.each(['', 'query=', 'query=a&kind=wallet', 'query=a&cursor=b'])('the query %j is refused', async (query) => {
  const { status, error } = await api.test.get(`/search?${query}`);
  expect([status, error.code]).toEqual([400, query.includes('cursor') ? 'INVALID_CURSOR' : 'VALIDATION_FAILED']);
});
