// Transfers between two wallets: contract section 4.5, and the rulings for it.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { type Client, startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
let settlement: string;

beforeAll(async () => {
  api = await startTestApi({ callersRetry: true });
  settlement = api.organisation.settlementWalletId;
});

afterAll(() => api.close());

const transfer = (source: string, destinationWalletId: string, amount: number, more = {}, client: Client = api.test) =>
  client.money(`/wallets/${source}/transfer`, { destinationWalletId, amount, ...more });

const wallet = (balance = 0, tier1 = true): Promise<string> =>
  api.createWallet(api.test, { tier1, ...(balance > 0 && { balance }) });

async function setStatus(walletId: string, status: 'active' | 'frozen' | 'closed'): Promise<void> {
  const act = { operator: { id: null, name: 'test' }, reason: 'test' };
  const { organisationId } = api.organisation;
  const { outcome } = await setWalletStatus(api.sql, organisationId, requireUuid('wallet', walletId), status, act);
  expect(outcome).toBe('changed');
}

/** Row counts of the whole database, which a refusal must leave unchanged. */
async function rowCounts(): Promise<unknown> {
  const [counts] = await api.sql`
    SELECT (SELECT count(*) FROM ledger.transactions) AS transactions, (SELECT count(*) FROM ledger.postings) AS postings,
           (SELECT count(*) FROM transfers) AS transfers, (SELECT count(*) FROM events) AS events,
           (SELECT count(*) FROM outbox) AS outbox, (SELECT sum(balance)::text FROM ledger.accounts) AS held`;
  return counts;
}

describe('the maximum balance', () => {
  test('a transfer cannot exceed the largest safe integer as a balance, and every route can return that balance', async () => {
    const { organisationId, settlementWalletId: full, test: client } = await api.createOrganisation();
    await api.fund(organisationId, full, Number.MAX_SAFE_INTEGER - 100);
    const payer = await api.createWallet(client, { balance: 1_000 });
    const before = await rowCounts();
    expect(await transfer(payer, full, 200, {}, client)).toMatchObject({
      status: 422,
      error: {
        code: 'WALLET_TIER1_LIMIT_EXCEEDED',
        details: { walletId: full, limit: 'balance', limitAmount: Number.MAX_SAFE_INTEGER },
      },
    });
    expect(await rowCounts()).toEqual(before);
    expect((await transfer(payer, full, 100, {}, client)).status).toBe(201);
    for (const path of [`/wallets/${full}/balance`, `/wallets/${full}`, '/wallets', `/wallets/${full}/transactions`]) {
      expect({ path, status: (await client.get(path)).status }).toEqual({ path, status: 200 });
    }
  });
});

describe('201 responses', () => {
  test('a transfer moves the money in one request and returns the transfer', async () => {
    const [source, destination] = [await wallet(10_000), await wallet()];
    const answer = await transfer(source, destination, 2_500, { description: 'rent' });
    expect(answer.status).toBe(201);
    expect(answer.data).toEqual({
      id: expect.stringMatching(/^svc_[0-9a-z]{26}_trf$/),
      sourceWalletId: source,
      destinationWalletId: destination,
      amount: 2_500,
      fee: 0,
      status: 'completed',
      description: 'rent',
      reference: null,
      metadata: {},
      currency: 'NGN',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect([await api.balanceOf(source), await api.balanceOf(destination)]).toEqual([7_500, 2_500]);
    expect((await api.test.get(`/transfers/${answer.data.id}`)).data).toEqual(answer.data);
  });

  test('a transfer emits transfer.completed once and appears on both statements', async () => {
    const [source, destination] = [await wallet(900), await wallet()];
    const { data } = await transfer(source, destination, 900);
    const { id } = data;
    const events = await api.sql`SELECT type, data FROM events WHERE resource = ${id}`;
    expect([...events]).toEqual([{ type: 'transfer.completed', data }]);
    const [out, into] = await Promise.all([
      api.test.get(`/wallets/${source}/transactions`),
      api.test.get(`/wallets/${destination}/transactions`),
    ]);
    const line = { kind: 'transfer', resourceId: id, amount: 900 };
    expect(out.items[0]).toMatchObject({ ...line, direction: 'debit', balanceAfter: 0 });
    expect(into.items).toEqual([expect.objectContaining({ ...line, direction: 'credit', balanceAfter: 900 })]);
  });

  test.each([
    ['a description of null', { description: null }],
    ['no description', {}],
  ])('%s is null in the view of a transfer', async (_case, more) => {
    const answer = await transfer(await wallet(5), await wallet(), 5, more);
    expect(answer.data.description).toBeNull();
  });

  test('a settlement wallet sends and receives without limits', async () => {
    await api.fund(api.organisation.organisationId, settlement, 40_000_000);
    const end = await wallet();
    expect((await transfer(settlement, end, 5_000_000)).status).toBe(201);
    expect((await transfer(end, settlement, 5_000_000)).status).toBe(201);
  });

  test('a transfer in live works without a rail', async () => {
    const { live, organisation } = api;
    await api.fund(organisation.organisationId, organisation.liveSettlementWalletId, 700);
    const end = await api.createWallet(live);
    const answer = await transfer(organisation.liveSettlementWalletId, end, 700, {}, live);
    expect([answer.status, await api.balanceOf(end)]).toEqual([201, 700]);
  });
});

describe('tier1 limits', () => {
  const refusal = (limit: string, limitAmount: number, attemptedAmount: number) => ({
    type: 'unprocessable_error',
    code: 'WALLET_TIER1_LIMIT_EXCEEDED',
    details: { limit, limitAmount, attemptedAmount },
  });

  test.each([
    { case: 'a source may send 5,000,000', from: 'end', to: 'settlement', amount: 5_000_000, refused: null },
    { case: 'a source may not send 5,000,001', from: 'end', to: 'settlement', amount: 5_000_001, refused: 'source' },
    {
      case: 'a destination may receive 5,000,000',
      from: 'settlement',
      to: 'end',
      amount: 5_000_000,
      refused: null,
    },
    {
      case: 'a destination may not receive 5,000,001',
      from: 'settlement',
      to: 'end',
      amount: 5_000_001,
      refused: 'destination',
    },
  ])('the tier1 transaction limit is exact: $case', async ({ from, to, amount, refused }) => {
    const source = from === 'end' ? await wallet(10_000_000) : settlement;
    if (from === 'settlement') await api.fund(api.organisation.organisationId, settlement, amount);
    const destination = to === 'end' ? await wallet() : settlement;
    const answer = await transfer(source, destination, amount);
    expect(answer.status).toBe(refused === null ? 201 : 422);
    if (refused === null) return;
    expect(answer.error).toMatchObject(refusal('transaction', 5_000_000, amount));
    expect(answer.error.details.walletId).toBe(refused === 'source' ? source : destination);
  });

  test('the tier1 balance limit is exact: a destination may hold 30,000,000 and no kobo more', async () => {
    const [source, destination] = [await wallet(10), await wallet(29_999_995)];
    expect((await transfer(source, destination, 6)).error).toMatchObject(refusal('balance', 30_000_000, 30_000_001));
    expect((await transfer(source, destination, 5)).status).toBe(201);
    expect((await transfer(source, destination, 1)).error.details.walletId).toBe(destination);
    expect(await api.balanceOf(destination)).toBe(30_000_000);
  });
});

describe('422 responses', () => {
  test.each<{ case: string; code: string; build: () => Promise<[string, string]>; culprit: 0 | 1 }>([
    {
      case: 'of more than the balance',
      code: 'WALLET_INSUFFICIENT_FUNDS',
      build: async () => [await wallet(99), await wallet()],
      culprit: 0,
    },
    {
      case: 'from an empty wallet',
      code: 'WALLET_INSUFFICIENT_FUNDS',
      build: async () => [await wallet(), await wallet()],
      culprit: 0,
    },
    {
      case: 'from a source without KYC',
      code: 'WALLET_KYC_REQUIRED',
      build: async () => [await wallet(500, false), await wallet()],
      culprit: 0,
    },
    {
      case: 'to a destination without KYC',
      code: 'WALLET_KYC_REQUIRED',
      build: async () => [await wallet(500), await wallet(0, false)],
      culprit: 1,
    },
    {
      case: 'from a frozen source',
      code: 'WALLET_FROZEN',
      build: async () => {
        const source = await wallet(500);
        await setStatus(source, 'frozen');
        return [source, await wallet()];
      },
      culprit: 0,
    },
    {
      case: 'to a frozen destination',
      code: 'WALLET_FROZEN',
      build: async () => {
        const destination = await wallet();
        await setStatus(destination, 'frozen');
        return [await wallet(500), destination];
      },
      culprit: 1,
    },
    {
      case: 'from a closed source',
      code: 'WALLET_CLOSED',
      build: async () => {
        const source = await wallet();
        await setStatus(source, 'closed');
        return [source, await wallet()];
      },
      culprit: 0,
    },
    {
      case: 'to a closed destination',
      code: 'WALLET_CLOSED',
      build: async () => {
        const destination = await wallet();
        await setStatus(destination, 'closed');
        return [await wallet(500), destination];
      },
      culprit: 1,
    },
    {
      case: 'to the same wallet',
      code: 'SAME_WALLET',
      build: async () => {
        const same = await wallet(500);
        return [same, same];
      },
      culprit: 0,
    },
  ])('a transfer $case is $code and writes nothing', async ({ code, build, culprit }) => {
    const pair = await build();
    const before = await rowCounts();
    const answer = await transfer(...pair, 100);
    expect([answer.status, answer.error.type, answer.error.code]).toEqual([422, 'unprocessable_error', code]);
    expect(answer.error.details.walletId).toBe(pair[culprit]);
    expect(await rowCounts()).toEqual(before);
  });

  test('an unfrozen wallet can transfer again', async () => {
    const [source, destination] = [await wallet(50), await wallet()];
    await setStatus(source, 'frozen');
    expect((await transfer(source, destination, 50)).error.code).toBe('WALLET_FROZEN');
    await setStatus(source, 'active');
    expect((await transfer(source, destination, 50)).status).toBe(201);
  });
});

describe('404 responses', () => {
  const unknownWallets = [
    { case: 'a malformed id', unknownId: 'nonsense' },
    { case: 'a truncated id', unknownId: 'svc_x_wlt' },
    { case: 'an unknown id', unknownId: publicId('wallet', newUuid()) },
    { case: 'the id of a payment', unknownId: publicId('payment', newUuid()) },
  ];

  test.each(unknownWallets)('a transfer to $case is WALLET_NOT_FOUND', async ({ unknownId: destination }) => {
    const answer = await transfer(await wallet(5), destination, 1);
    expect([answer.status, answer.error.code]).toEqual([404, 'WALLET_NOT_FOUND']);
    expect(answer.error.details).toEqual({ resource: 'wallet', id: destination });
  });

  test.each([
    { case: 'a malformed id', id: 'nonsense' },
    { case: 'an unknown id', id: publicId('transfer', newUuid()) },
    { case: 'the id of a wallet', id: publicId('wallet', newUuid()) },
  ])('GET /transfers/:id with $case is TRANSFER_NOT_FOUND', async ({ id }) => {
    const answer = await api.test.get(`/transfers/${id}`);
    expect(answer.error).toMatchObject({ code: 'TRANSFER_NOT_FOUND', details: { resource: 'transfer', id } });
  });
});

describe('GET /transfers', () => {
  test("GET /transfers lists the organisation's transfers newest first, within the time filter", async () => {
    const organisation = await api.createOrganisation();
    const [source, destination] = [organisation.settlementWalletId, await api.createWallet(organisation.test)];
    await api.fund(organisation.organisationId, source, 6);
    const made: Record<string, unknown>[] = [];
    for (const amount of [1, 2, 3])
      made.unshift((await transfer(source, destination, amount, {}, organisation.test)).data);
    const all = await organisation.test.get('/transfers');
    expect(all.items).toEqual(made);
    const from = encodeURIComponent(String(made[0]?.createdAt));
    const later = await organisation.test.get(`/transfers?createdAtFrom=${from}`);
    expect(later.items.map(({ id }) => id)).toContain(made[0]?.id);
    expect((await organisation.test.get('/transfers?createdAtTo=2001-01-01T00:00:00Z')).items).toEqual([]);
    expect((await api.test.get('/transfers')).items.map(({ id }) => id)).not.toContain(made[0]?.id);
  });
});

describe('concurrent transfers', () => {
  test('opposing concurrent transfers between two wallets over two API processes all succeed, without lock errors', async () => {
    const [one, other] = [await wallet(1_000), await wallet(1_000)];
    const second = await startTestApi({ databaseUrl: api.databaseUrl });
    try {
      const clients = [api.test, second.client(api.test.key)];
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => {
          const [source, destination] = index % 2 === 0 ? [one, other] : [other, one];
          return transfer(source, destination, 1 + (index % 7), {}, clients[index % 3 === 0 ? 1 : 0]);
        }),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
      const sent = (from: string): number =>
        answers
          .filter(({ data }) => data.sourceWalletId === from)
          .reduce((sum, { data }) => sum + Number(data.amount), 0);
      const balances = [await api.balanceOf(one), await api.balanceOf(other)];
      expect(balances).toEqual([1_000 - sent(one) + sent(other), 1_000 - sent(other) + sent(one)]);
    } finally {
      await second.close();
    }
  });
});
