// Tenant isolation: an id of another organisation, or of the other environment, gets exactly the response of an unknown
// id, in a path, in a body and in a filter.
import { afterAll, describe, expect, test } from '@jest/globals';
import { KYC } from '../../dev/chaos/requests.ts';
import { type IdKind, newUuid, publicId } from '../../src/ids.ts';
import { type Answer, startTestApi, type TestOrganisation } from '../support/api.ts';
import { moneyRoutes, written } from '../support/moneyRequests.ts';
import { KIND_OF_SEGMENT, kindOf, pathOf, routeCases } from '../support/routes.ts';

const api = await startTestApi();
const other = await api.createOrganisation();
/** Ids of existing resources of another organisation. */
const others: Partial<Record<IdKind, string>> = await createOneOfEach(other);
/** Ids of the caller's own resources in the live environment. */
const live: Partial<Record<IdKind, string>> = await createInLive();

afterAll(() => api.close());

async function createOneOfEach(owner: TestOrganisation): Promise<Partial<Record<IdKind, string>>> {
  const table = moneyRoutes(api, owner);
  const made: Record<string, Answer> = {};
  for (const [name, { good, status }] of Object.entries(table)) {
    const { path, body } = await good();
    const answer = await owner.test.money(path, body);
    expect([name, answer.status]).toEqual([name, status]);
    made[name] = answer;
  }
  const endpoint = await owner.test.post('/webhook-endpoints', { url: 'https://receiver.test.example/hook' });
  expect(endpoint.status).toBe(201);
  const [event] = (await owner.test.get('/events?limit=1')).items;
  const [transfer] = (await owner.test.get('/transfers?limit=1')).items;
  const [line] = (await owner.test.get(`/wallets/${String(transfer?.sourceWalletId)}/transactions`)).items;
  return {
    wallet: owner.settlementWalletId,
    payment: made['POST /payments']?.data.id ?? '',
    transfer: made['POST /wallets/:id/transfer']?.data.id ?? '',
    withdrawal: made['POST /wallets/:id/withdraw']?.data.id ?? '',
    refund: made['POST /payments/:id/refund']?.data.id ?? '',
    payout: made['POST /payouts']?.data.id ?? '',
    webhookEndpoint: endpoint.data.id,
    event: event?.id ?? '',
    transaction: String(line?.transactionId),
    apiKey: (await owner.test.post('/api-keys', { scopes: ['wallet'] })).data.id,
    reviewCase: made['POST /review-cases/:id/resolve']?.data.id ?? '',
    splitTemplate: (
      await owner.test.post('/split-templates', {
        name: 'all',
        splits: [{ walletId: owner.settlementWalletId, amount: 1 }],
      })
    ).data.id,
  };
}

/** Creates the resources that an organisation can have in live without a rail. */
async function createInLive(): Promise<Partial<Record<IdKind, string>>> {
  const { live: client, organisation } = api;
  const wallet = await api.createWallet(client);
  await api.fund(organisation.organisationId, organisation.liveSettlementWalletId, 5);
  const source = organisation.liveSettlementWalletId;
  const transfer = await client.money(`/wallets/${source}/transfer`, { amount: 5, destinationWalletId: wallet });
  const bill = { method: 'virtual_wallet', baseAmount: 5, targetWalletId: wallet };
  const payment = await client.money('/payments', bill);
  const [event] = (await client.get('/events?limit=1')).items;
  return { wallet, transfer: transfer.data.id, payment: payment.data.id, event: event?.id ?? '' };
}

/** The error of an id that is not found. */
const notFound = (kind: IdKind, id: unknown) => {
  const resource = kind.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { code: `${resource.toUpperCase()}_NOT_FOUND`, details: { resource, id } };
};

/** A response with the given id and the request id masked. */
const masked = ({ status, text, requestId }: Answer, id: string) => [
  status,
  text.replaceAll(requestId, '').replaceAll(id, '<id>'),
];

/** A body that passes validation, for the routes that check one before the id. */
async function bodyFor(name: string): Promise<unknown> {
  const money = moneyRoutes(api)[name];
  if (money !== undefined) return (await money.good()).body;
  if (name === 'POST /wallets/:id/kyc') return KYC;
  if (name === 'PATCH /webhook-endpoints/:id') return { status: 'disabled' };
  if (name === 'POST /webhook-endpoints/:id/redeliver') return { since: new Date().toISOString() };
  if (name === 'PATCH /wallets/:id') return { phone: '1' };
  if (name.startsWith('PATCH /')) return { metadata: { order: '17' } };
  return undefined;
}

describe.each(routeCases((route) => kindOf(route) !== null))('$name', ({ name, method, route }) => {
  const kind = kindOf(route) as IdKind;

  test.each<[string, () => Partial<Record<IdKind, string>>]>([
    ["another organisation's", () => others],
    ["the other environment's", () => live],
  ])('%s id gets the response of an unknown id, and nothing is written', async (_whose, owned) => {
    const foreign = owned()[kind];
    if (foreign === undefined) return; // live has none of this kind without a rail
    const unknown = publicId(kind, newUuid());
    const body = await bodyFor(name);
    const call = (id: string) =>
      route.idempotencyKey === 'required'
        ? api.test.money(pathOf(route, id), body)
        : api.test.call(method, pathOf(route, id), body === undefined ? {} : { body });
    const before = await written(api, other);
    const [foreignAnswer, unknownAnswer] = [await call(foreign), await call(unknown)];
    expect(foreignAnswer).toMatchObject({ status: 404, error: notFound(kind, foreign) });
    expect(masked(foreignAnswer, foreign)).toEqual(masked(unknownAnswer, unknown));
    expect(await written(api, other)).toEqual(before);
  });

  test('an id of another kind or a malformed id is 404', async () => {
    const body = await bodyFor(name);
    const otherKind = Object.values(KIND_OF_SEGMENT).find((each) => each !== kind) ?? 'wallet';
    const own = api.organisation.settlementWalletId;
    for (const id of [publicId(otherKind, newUuid()), 'nonsense', `${own}x`, own.toUpperCase(), 'null', '1']) {
      const answer =
        route.idempotencyKey === 'required'
          ? await api.test.money(pathOf(route, id), body)
          : await api.test.call(method, pathOf(route, id), body === undefined ? {} : { body });
      expect(answer).toMatchObject({ status: 404, error: notFound(kind, id) });
    }
  });
});

describe('foreign ids in a body', () => {
  const bankAccount = { accountNumber: '0123456789', bankCode: '058' };
  const bodies: [string, IdKind, (id: string) => Promise<Answer>][] = [
    [
      'POST /wallets/:id/transfer destinationWalletId',
      'wallet',
      async (id) => {
        const source = await api.createWallet(api.test, { balance: 100 });
        return await api.test.money(`/wallets/${source}/transfer`, { amount: 1, destinationWalletId: id });
      },
    ],
    [
      'POST /payments targetWalletId',
      'wallet',
      (id) => api.test.money('/payments', { method: 'bank_transfer', baseAmount: 1, targetWalletId: id }),
    ],
    [
      'POST /wallets/:id/pay paymentId',
      'payment',
      async (id) => {
        const payer = await api.createWallet(api.test, { balance: 100_000 });
        return await api.test.money(`/wallets/${payer}/pay`, { paymentId: id });
      },
    ],
    [
      'POST /payouts sourceWalletId',
      'wallet',
      (id) => api.test.money('/payouts', { sourceWalletId: id, items: [{ amount: 1, bankAccount }] }),
    ],
    [
      'POST /payouts items.0.destinationWalletId',
      'wallet',
      (id) => api.test.money('/payouts', { items: [{ amount: 1, destinationWalletId: id }] }),
    ],
  ];

  test.each(bodies)('a foreign, unknown or malformed id is not found: %s', async (_place, kind, call) => {
    const ids = [others[kind], live[kind], publicId(kind, newUuid()), publicId('event', newUuid()), 'nonsense'];
    for (const id of ids) {
      expect(await call(id ?? '')).toMatchObject({ status: 404, error: notFound(kind, id) });
    }
  });
});

describe('foreign ids in lists', () => {
  test.each(['/payments?targetWalletId=', '/payouts?sourceWalletId=', '/withdrawals?sourceWalletId='])(
    'a foreign wallet id in a filter matches nothing: %s',
    async (query) => {
      for (const owned of [others, live]) {
        expect((await api.test.get(`${query}${owned.wallet}`)).items).toEqual([]);
      }
    },
  );

  test('no list contains resources of another organisation or environment', async () => {
    const foreign = new Set([...Object.values(others), ...Object.values(live)]);
    const lists = routeCases(({ method, path }) => method === 'get' && /^\/[a-z-]+$/.test(path));
    for (const { route, name } of lists) {
      const answer = await api.test.get(`${route.path}?limit=100`);
      if (answer.status !== 200 || !Array.isArray(answer.items)) continue;
      expect([name, answer.items.filter(({ id }) => foreign.has(id))]).toEqual([name, []]);
    }
  });
});
