// Transfers between two wallets: contract section 4.5, and the rulings for it.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { type Client, startTestApi, type TestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';

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
  const act = { proof: OWNER_PROOF, reason: 'test' };
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
      holdId: null,
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

  test('a transfer emits transfer.completed once', async () => {
    const { data } = await transfer(await wallet(900), await wallet(), 900);
    const events = await api.sql`SELECT type, data FROM events WHERE resource = ${data.id}`;
    expect([...events]).toEqual([{ type: 'transfer.completed', data }]);
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
  type Options = Parameters<TestApi['createWallet']>[1];
  const FUNDED: Options = { balance: 500 };

  test.each<[string, string, source: Options, destination: Options, culprit: 0 | 1]>([
    ['of more than the balance', 'WALLET_INSUFFICIENT_FUNDS', { balance: 99 }, {}, 0],
    ['from an empty wallet', 'WALLET_INSUFFICIENT_FUNDS', {}, {}, 0],
    ['from a source without KYC', 'WALLET_KYC_REQUIRED', { ...FUNDED, tier1: false }, {}, 0],
    ['to a destination without KYC', 'WALLET_KYC_REQUIRED', FUNDED, { tier1: false }, 1],
    ['from a frozen source', 'WALLET_FROZEN', { ...FUNDED, status: 'frozen' }, {}, 0],
    ['to a frozen destination', 'WALLET_FROZEN', FUNDED, { status: 'frozen' }, 1],
    ['from a closed source', 'WALLET_CLOSED', { status: 'closed' }, {}, 0],
    ['to a closed destination', 'WALLET_CLOSED', FUNDED, { status: 'closed' }, 1],
  ])('a transfer %s is %s and writes nothing', async (_what, code, source, destination, culprit) => {
    const pair = [await api.createWallet(api.test, source), await api.createWallet(api.test, destination)] as const;
    await expectRefused(pair, code, pair[culprit]);
  });

  test('a transfer to the same wallet is SAME_WALLET and writes nothing', async () => {
    const same = await wallet(500);
    await expectRefused([same, same], 'SAME_WALLET', same);
  });

  async function expectRefused(pair: readonly [string, string], code: string, walletId: string): Promise<void> {
    const before = await rowCounts();
    const refused = await transfer(...pair, 100);
    expectError(refused, 422, code);
    expect(refused.error.details.walletId).toBe(walletId);
    expect(await rowCounts()).toEqual(before);
  }

  test('an unfrozen wallet can transfer again', async () => {
    const [source, destination] = [await wallet(50), await wallet()];
    await setStatus(source, 'frozen');
    expect((await transfer(source, destination, 50)).error.code).toBe('WALLET_FROZEN');
    await setStatus(source, 'active');
    expect((await transfer(source, destination, 50)).status).toBe(201);
  });
});
