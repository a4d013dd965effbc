// `expand`: the resources that an answer names by id, in the same answer; for keys that may read them, and with one
// statement for each kind however long a list is.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import type { KeyScope, Scope } from '../../src/resources/keys.ts';
import { type Answer, type Resource, startTestApi } from '../support/api.ts';
import { addCredits } from '../support/credits.ts';
import { recordStatements } from '../support/queryRecorder.ts';
import { openCase } from '../support/reviewCases.ts';

const api = await startTestApi();
/** Returns the statements since its last call. */
const takeStatements = recordStatements([api.dependencies.sql]);

afterAll(() => api.close());

const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };

/** By path: what can be expanded in a resource, and the scope that reads it. */
const EXPANDABLE: Readonly<Record<string, Readonly<Record<string, Scope>>>> = {
  '/payments': { targetWallet: 'wallet' },
  '/transfers': { sourceWallet: 'wallet', destinationWallet: 'wallet', hold: 'transfer' },
  '/holds': { wallet: 'wallet', sourceWallet: 'wallet', transfer: 'transfer', payment: 'payment' },
  '/withdrawals': { sourceWallet: 'wallet' },
  '/refunds': { payment: 'payment' },
  '/payouts': { sourceWallet: 'wallet' },
  '/review-cases': { payment: 'payment', wallet: 'wallet' },
};
const READ_BY: Readonly<Record<string, Scope>> = {
  '/payments': 'payment',
  '/transfers': 'transfer',
  '/holds': 'transfer',
  '/withdrawals': 'wallet',
  '/refunds': 'payment',
  '/payouts': 'payout',
  '/review-cases': 'review',
};
const PATHS: Readonly<Record<string, string>> = {
  wallet: '/wallets',
  sourceWallet: '/wallets',
  destinationWallet: '/wallets',
  targetWallet: '/wallets',
  hold: '/holds',
  transfer: '/transfers',
  payment: '/payments',
};

let source = '';
let target = '';
let payoutId = '';
let paymentId = '';

beforeAll(async () => {
  const { test: client } = api;
  source = await api.createWallet(client, { balance: 100_000 });
  target = await api.createWallet(client);
  await client.money(`/wallets/${source}/transfer`, { amount: 10, destinationWalletId: target });
  const held = { amount: 10, destinationWalletId: target, hold: { release: 'manual' } };
  await client.money(`/wallets/${source}/transfer`, held);
  const bill = { method: 'virtual_wallet', baseAmount: 1_000, targetWalletId: target };
  paymentId = (await client.money('/payments', bill)).data.id;
  await client.money(`/wallets/${source}/pay`, { paymentId });
  const forLater = (await client.money('/payments', { ...bill, hold: { release: 'manual' } })).data.id;
  await client.money(`/wallets/${source}/pay`, { paymentId: forLater });
  await client.money('/payments', { method: 'bank_transfer', baseAmount: 1_000, targetWalletId: source });
  await client.money(`/payments/${paymentId}/refund`, { amount: 10, destination: 'wallet' });
  await client.money(`/wallets/${source}/withdraw`, { amount: 10, ...BANK_ACCOUNT });
  const items = [
    { amount: 10, bankAccount: BANK_ACCOUNT },
    { amount: 10, destinationWalletId: target },
  ];
  payoutId = (await client.money('/payouts', { sourceWalletId: source, items })).data.id;
  await openCase(api, api.organisation, target);
  const ofPayment = requireUuid('reviewCase', await openCase(api, api.organisation, null));
  await api.sql`UPDATE review_cases SET payment_id = ${requireUuid('payment', paymentId)} WHERE id = ${ofPayment}`;
});

/** What a read of the named resource returns; null where the id is null. */
async function named(item: Resource | undefined, name: string): Promise<unknown> {
  const id = item?.[`${name}Id`] as string | null;
  return id === null ? null : (await api.test.get(`${PATHS[name]}/${id}`)).data;
}

const clientOf = async (scopes: readonly KeyScope[]) =>
  api.client((await api.createKey(api.organisation.organisationId, { scopes })).key);
const fieldsOf = ({ error }: Answer) => error.details.fields;

describe.each(Object.entries(EXPANDABLE))('%s', (path, scopes) => {
  const names = Object.keys(scopes);

  test('each name adds the resource as its own route returns it, and the ids stay', async () => {
    const { items } = await api.test.get(path);
    expect(items.length).toBeGreaterThan(0);
    for (const expanded of [names, ...names.map((name) => [name])]) {
      const answers = await api.test.get(`${path}?expand=${expanded.join(',')}`);
      for (const [index, item] of answers.items.entries()) {
        const added = expanded.map(async (name) => [name, await named(item, name)]);
        expect(item).toEqual({ ...items[index], ...Object.fromEntries(await Promise.all(added)) });
        expect((await api.test.get(`${path}/${item.id}?expand=${expanded.join(',')}`)).data).toEqual(item);
      }
    }
  });

  test('a list has as many statements more as kinds are named, whatever its length', async () => {
    const count = async (query: string): Promise<number> => {
      takeStatements();
      expect((await api.test.get(`${path}${query}`)).status).toBe(200);
      return takeStatements().length;
    };
    await api.test.get(path); // caches the key
    const plain = await count('?limit=100');
    const kinds = new Set(names.map((name) => PATHS[name]));
    expect(await count(`?limit=100&expand=${names.join(',')}`)).toBe(plain + kinds.size);
  });

  test.each(names)('%s is for keys that may read it: no other gets data, of a list or of one', async (name) => {
    const scope = scopes[name] as Scope;
    const own = READ_BY[path] as Scope;
    const [first] = (await api.test.get(path)).items;
    const reader = await clientOf([`${own}:read`, `${scope}:read`]);
    expect((await reader.get(`${path}?expand=${name}`)).status).toBe(200);
    if (own === scope) return;
    for (const place of [path, `${path}/${first?.id}`]) {
      const answer = await (await clientOf([own])).get(`${place}?expand=${name}`);
      expect([answer.status, answer.error.code, answer.error.details]).toEqual([
        403,
        'API_KEY_SCOPE_FORBIDDEN',
        { requiredScopes: [scope], providedScopes: [own] },
      ]);
    }
  });

  test('another name is 400 with those that there are, of a list and of one', async () => {
    const [first] = (await api.test.get(path)).items;
    for (const place of [path, `${path}/${first?.id}`]) {
      for (const query of ['expand=owner', 'expand=', `expand=${names[0]}Id`, 'expand=items']) {
        const answer = await api.test.get(`${place}?${query}`);
        expect([answer.status, fieldsOf(answer)]).toEqual([
          400,
          [
            {
              field: 'expand.0',
              code: 'invalid_value',
              message: `must be ${names.length > 1 ? 'one of ' : ''}${names.join(', ')}`,
              constraint: { values: names },
            },
          ],
        ]);
      }
    }
  });
});

test('lists below a resource expand too: items of a payout, refunds and credits of a payment', async () => {
  const { items } = await api.test.get(`/payouts/${payoutId}/items?expand=destinationWallet`);
  expect(items.map(({ destinationWallet }) => destinationWallet)).toEqual([
    null,
    (await api.test.get(`/wallets/${target}`)).data,
  ]);
  const refunds = await api.test.get(`/payments/${paymentId}/refunds?expand=payment`);
  expect(refunds.items[0]?.payment).toEqual((await api.test.get(`/payments/${paymentId}`)).data);
  await addCredits(api, 'payment', paymentId, 2);
  const credits = await api.test.get(`/payments/${paymentId}/credits?expand=reviewCase`);
  for (const { reviewCase, reviewCaseId } of credits.items) {
    const read = reviewCaseId === null ? null : (await api.test.get(`/review-cases/${reviewCaseId as string}`)).data;
    expect(reviewCase).toEqual(read);
  }
});

test('a cursor carries the expansion, and another one with it is refused', async () => {
  const { items } = await api.test.get('/transfers?expand=sourceWallet,hold');
  const first = await api.test.get('/transfers?expand=sourceWallet,hold&limit=1');
  const second = await api.test.get(`/transfers?cursor=${first.pagination.nextCursor}`);
  expect([...first.items, ...second.items]).toEqual(items);
  const other = await api.test.get(`/transfers?cursor=${first.pagination.nextCursor}&expand=hold`);
  expect(other.error.code).toBe('INVALID_CURSOR');
  const reader = await clientOf(['transfer:read']);
  expect((await reader.get(`/transfers?cursor=${first.pagination.nextCursor}`)).status).toBe(403);
});

test('the parameter may be repeated, and a name too', async () => {
  const { items } = await api.test.get('/transfers?expand=sourceWallet,hold');
  expect((await api.test.get('/transfers?expand=sourceWallet&expand=hold')).items).toEqual(items);
  expect((await api.test.get('/transfers?expand=sourceWallet,hold,hold')).items).toEqual(items);
  const answer = await api.test.get('/transfers?expand=hold,hold,hold,hold');
  expect(fieldsOf(answer)).toMatchObject([{ field: 'expand', code: 'too_big' }]);
});

test('not as CSV, and not of what names nothing', async () => {
  const { status, text } = await api.test.file('/transfers?expand=hold');
  expect([status, JSON.parse(text).error.details.fields]).toMatchObject([400, [{ field: 'expand' }]]);
  for (const path of ['/wallets', `/wallets/${source}`, '/events']) {
    const answer = await api.test.get(`${path}?expand=wallet`);
    expect([answer.status, fieldsOf(answer)]).toMatchObject([400, [{ field: 'expand', code: 'unrecognized_keys' }]]);
  }
});

test('an unknown resource is 404, whatever is expanded of it', async () => {
  const other = await api.createOrganisation();
  const answer = await other.test.get(`/payments/${paymentId}?expand=targetWallet`);
  expect([answer.status, answer.error.code]).toEqual([404, 'PAYMENT_NOT_FOUND']);
});
