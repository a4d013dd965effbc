// Payouts over HTTP: what POST /payouts accepts and everything it refuses, by status; then the reads.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import { payoutReserveAccount, walletAccount } from '../../src/ledger/chart.ts';
import { RailUnavailableError } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';
import { findPayoutWallets, listPayouts } from '../../src/resources/payouts/queries.ts';
import { type Answer, type Client, type Resource, startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
let settlement: string;
let wallet: string;

const FUNDS = 100_000_000;
const bankAccount = { accountNumber: '0123456789', bankCode: '058' };
const toBank = (amount = 100_000, more: object = {}) => ({ amount, bankAccount, ...more });
const toWallet = (destinationWalletId: string, amount = 100_000) => ({ amount, destinationWalletId });

let bankIsUp = true;
let accountsAreOpened = true;

beforeAll(async () => {
  api = await startTestApi({
    rails: (rails) => {
      const sandbox = rails.of('test');
      if (sandbox === null) throw new Error('there is no sandbox bank');
      const away = () => Promise.reject(new RailUnavailableError('away', { timedOut: true }));
      return new Rails({
        test: {
          ...sandbox,
          banks: () => (bankIsUp ? sandbox.banks() : away()),
          openVirtualAccount: (request) => (accountsAreOpened ? sandbox.openVirtualAccount(request) : away()),
        },
      });
    },
  });
  settlement = api.organisation.settlementWalletId;
  await api.fund(api.organisation.organisationId, settlement, FUNDS);
  wallet = await api.createWallet();
});

afterAll(() => api.close());

const pay = (items: unknown[], more: object = {}, client: Client = api.test, key?: string): Promise<Answer> =>
  client.money('/payouts', { items, ...more }, key);

const setStatus = (walletId: string, status: string) =>
  api.sql`UPDATE ledger.accounts SET status = ${status} WHERE code = ${walletAccount(requireUuid('wallet', walletId))}`;

async function frozenWallet(status = 'frozen'): Promise<string> {
  const walletId = await api.createWallet();
  await setStatus(walletId, status);
  return walletId;
}

const fieldsOf = (answer: Answer) =>
  answer.error.details.fields as { field: string; code: string; constraint?: object }[];
const pathsOf = (answer: Answer): string[] => fieldsOf(answer).map(({ field }) => field);

const payoutsInBooks = async (): Promise<number> => {
  const [row] = await api.sql<{ payouts: number }[]>`SELECT count(*)::int AS payouts FROM payouts`;
  return row?.payouts ?? 0;
};

describe('202', () => {
  test('the whole batch is reserved and every item is pending, in the order it was sent', async () => {
    const before = await api.balanceOf(settlement);
    const { data, status } = await pay([
      toWallet(wallet, 150_000),
      toBank(2_000_000, { reference: 'rent' }),
      { amount: 1, bankAccount: { ...bankAccount, accountName: 'Ada Obi' }, reference: 'salary' },
    ]);
    expect(status).toBe(202);
    const pending = { status: 'pending', failureReason: null, id: expect.stringMatching(/^svc_[0-9a-z]{26}_poi$/) };
    expect(data).toEqual({
      id: expect.stringMatching(/^svc_[0-9a-z]{26}_pyo$/),
      sourceWalletId: settlement,
      totalAmount: 2_150_001,
      totalFee: 3_500 + 20_000 + 2_500,
      itemCount: 3,
      successCount: 0,
      failureCount: 0,
      status: 'processing',
      items: [
        {
          ...pending,
          amount: 150_000,
          fee: 3_500,
          counterparty: { accountNumber: expect.stringMatching(/^\d{10}$/), accountName: 'Ada Obi', bankCode: '999' },
        },
        { ...pending, amount: 2_000_000, fee: 20_000, counterparty: { ...bankAccount, accountName: null } },
        { ...pending, amount: 1, fee: 2_500, counterparty: { ...bankAccount, accountName: 'Ada Obi' } },
      ],
      currency: 'NGN',
      createdAt: expect.any(String),
    });
    expect(await api.balanceOf(settlement)).toBe(before - 2_176_001);
    const [reserve] = await api.sql<{ balance: number }[]>`
      SELECT balance FROM ledger.accounts WHERE code = ${payoutReserveAccount(requireUuid('payout', data.id))}`;
    expect(reserve?.balance).toBe(2_176_001);
    const account = await api.test.get(`/wallets/${wallet}/deposit-account`);
    expect((data.items as { counterparty: object }[])[0]?.counterparty).toMatchObject({
      accountNumber: account.data.accountNumber,
    });
  });

  test('its flow is started with ids and amounts only, on the payouts queue', async () => {
    const { data } = await pay([toBank(100_000, { reference: 'secret reference' })]);
    const [row] = await api.sql<{ message: Record<string, unknown> }[]>`
      SELECT message FROM outbox WHERE topic = 'flow' AND message ->> 'id' = ${data.id}`;
    expect(row?.message).toMatchObject({
      workflow: 'payout',
      queue: 'payouts',
      input: { payoutId: data.id, walletId: settlement, amount: 100_000, itemCount: 1 },
    });
    expect(JSON.stringify(row?.message)).not.toMatch(/0123456789|secret/);
  });

  test('a tier1 wallet of the caller can be the source', async () => {
    const source = await api.createWallet(undefined, { balance: 500_000 });
    const { data, status } = await pay([toWallet(wallet)], { sourceWalletId: source });
    expect([status, data.sourceWalletId]).toEqual([202, source]);
    expect(await api.balanceOf(source)).toBe(397_000);
  });

  test('the settlement wallet can be paid from a customer wallet', async () => {
    const source = await api.createWallet(undefined, { balance: 500_000 });
    expect((await pay([toWallet(settlement)], { sourceWalletId: source })).status).toBe(202);
  });

  test('a destination that has no deposit account yet gets one', async () => {
    accountsAreOpened = false;
    const walletId = await api.createWallet();
    accountsAreOpened = true;
    const { data } = await pay([toWallet(walletId), toWallet(walletId)]);
    const [first, second] = data.items as { counterparty: { accountNumber: string } }[];
    expect(first?.counterparty.accountNumber).toMatch(/^\d{10}$/);
    expect(second?.counterparty).toEqual(first?.counterparty);
  });

  test('a thousand items fit', async () => {
    const { data, status } = await pay(
      Array.from({ length: 1_000 }, (_, position) => toBank(1_000, { reference: `${'r'.repeat(95)}${position}` })),
    );
    expect([status, data.itemCount, (data.items as unknown[]).length]).toEqual([202, 1_000, 1_000]);
  });

  test('the same key and body again: the same payout, reserved once', async () => {
    const key = randomUUID();
    const before = await api.balanceOf(settlement);
    const [first, second] = [await pay([toBank()], {}, api.test, key), await pay([toBank()], {}, api.test, key)];
    expect(second.data).toEqual(first.data);
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([202, 'true']);
    expect(await api.balanceOf(settlement)).toBe(before - 103_000);
  });
});

describe('400 names every bad item by its path', () => {
  test('by shape', async () => {
    const good = toBank();
    const answer = await pay([
      good,
      { ...good, amount: 0 },
      { ...good, amount: '100000' },
      { ...good, amount: 1.5 },
      { amount: 100_000 },
      { ...good, destinationWalletId: wallet },
      { ...good, reference: '' },
      { ...good, reference: 'r'.repeat(101) },
      { ...good, bankAccount: { accountNumber: '123', bankCode: '058' } },
      { ...good, bankAccount: { accountNumber: '0123456789' } },
      { ...good, fee: 0 },
      good,
    ]);
    expect([answer.status, answer.error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(pathsOf(answer)).toEqual([
      'items.1.amount',
      'items.2.amount',
      'items.3.amount',
      'items.4',
      'items.5',
      'items.6.reference',
      'items.7.reference',
      'items.8.bankAccount.accountNumber',
      'items.9.bankAccount.bankCode',
      'items.10.fee',
    ]);
  });

  test('by a reference that is given twice, together with what is wrong by shape', async () => {
    const answer = await pay([
      toBank(1, { reference: 'one' }),
      toBank(0, { reference: 'two' }),
      toBank(1, { reference: 'one' }),
      { reference: 'two' },
      toBank(1, { reference: 'three' }),
      toBank(1, { reference: 'one' }),
    ]);
    expect([answer.status, answer.error.code]).toEqual([400, 'VALIDATION_FAILED']);
    const told = fieldsOf(answer).map(({ field, code, constraint }) =>
      [field, code, ...Object.values(constraint ?? {})].join(' '),
    );
    expect(told.toSorted()).toEqual([
      'items.1.amount too_small 1',
      'items.2.reference duplicate items.0.reference',
      'items.3 custom',
      'items.3.amount invalid_type number',
      'items.3.reference duplicate items.1.reference',
      'items.5.reference duplicate items.0.reference',
    ]);
  });

  test('by what is known of wallets and banks', async () => {
    const unverified = await api.createWallet(undefined, { tier1: false });
    const [frozen, closed] = [await frozenWallet(), await frozenWallet('closed')];
    const answer = await pay([
      toBank(1, { reference: 'one' }),
      toWallet(wallet, 5_000_000),
      toBank(1, { reference: 'two' }),
      toBank(1, { reference: 'three' }),
      toWallet(unverified),
      { amount: 1, bankAccount: { ...bankAccount, bankCode: '98765' } },
      toWallet(frozen),
      toWallet(closed),
      toWallet(settlement),
      toWallet(wallet, 5_000_001),
      { ...toWallet(unverified, 1), reference: 'four' },
    ]);
    expect(answer.status).toBe(400);
    expect(fieldsOf(answer)).toEqual(
      [
        { field: 'items.4.destinationWalletId', code: 'wallet_kyc_required' },
        { field: 'items.5.bankAccount.bankCode', code: 'bank_code_unknown' },
        { field: 'items.6.destinationWalletId', code: 'wallet_frozen' },
        { field: 'items.7.destinationWalletId', code: 'wallet_closed' },
        { field: 'items.8.destinationWalletId', code: 'same_wallet' },
        { field: 'items.9.amount', code: 'wallet_tier1_limit_exceeded', constraint: { maximum: 5_000_000 } },
        { field: 'items.10.destinationWalletId', code: 'wallet_kyc_required' },
      ].map((field) => ({ ...field, message: expect.any(String) })),
    );
  });

  test.each([
    ['no items', { items: [] }, 'items'],
    ['a thousand and one', { items: Array.from({ length: 1_001 }, () => toBank(1)) }, 'items'],
    ['no list', { items: toBank() }, 'items'],
    ['nothing', {}, 'items'],
    ['a field that is not there', { items: [toBank()], totalFee: 0 }, 'totalFee'],
  ])('with %s', async (_name, body, field) => {
    const answer = await api.test.money('/payouts', body);
    expect([answer.status, pathsOf(answer)]).toEqual([400, [field]]);
  });

  test('and a body of more than 1 MB is not read', async () => {
    const answer = await api.test.money('/payouts', `{"items":[],"filler":"${'x'.repeat(1024 * 1024)}"}`);
    expect([answer.status, answer.error.code]).toEqual([400, 'BODY_TOO_LARGE']);
  });

  test('and no Idempotency-Key', async () => {
    const answer = await api.test.post('/payouts', { items: [toBank()] });
    expect([answer.status, answer.error.code]).toEqual([400, 'IDEMPOTENCY_KEY_MISSING']);
  });

  test('and the key is free again: the corrected batch goes through with it', async () => {
    const key = randomUUID();
    const before = await payoutsInBooks();
    expect((await pay([toWallet(settlement)], {}, api.test, key)).status).toBe(400);
    expect(await payoutsInBooks()).toBe(before);
    expect((await pay([toWallet(wallet)], {}, api.test, key)).status).toBe(202);
  });
});

describe('404 names the wallet that is not there', () => {
  const missing = publicId('wallet', newUuid());

  test.each([
    ['a destination', [toWallet(missing)], {}, missing],
    ['a source', [toBank()], { sourceWalletId: missing }, missing],
    ['an id of something else', [toWallet(publicId('payment', newUuid()))], {}, undefined],
    ['no id at all', [toWallet('nonsense')], {}, 'nonsense'],
  ])('%s', async (_name, items, more, id) => {
    const answer = await pay(items, more);
    expect([answer.status, answer.error.code]).toEqual([404, 'WALLET_NOT_FOUND']);
    expect(answer.error.details).toMatchObject({ resource: 'wallet', ...(id !== undefined && { id }) });
  });

  test('the first of several, and before anything else that is wrong with the batch', async () => {
    const answer = await pay([toWallet(settlement), toWallet(missing), toWallet(publicId('wallet', newUuid()))]);
    expect(answer.error.details).toEqual({ resource: 'wallet', id: missing });
  });

  test('also when it is there, but belongs to somebody else or to the other environment', async () => {
    const other = await api.createOrganisation();
    const theirs = await api.createWallet(other.test);
    for (const id of [theirs, other.settlementWalletId, api.organisation.liveSettlementWalletId]) {
      expect((await pay([toWallet(id)])).error.details).toEqual({ resource: 'wallet', id });
      expect((await pay([toBank()], { sourceWalletId: id })).error.details).toEqual({ resource: 'wallet', id });
    }
  });
});

describe('422, and nothing runs', () => {
  async function refused(answer: Answer, before: number): Promise<Answer['error']> {
    expect(answer.status).toBe(422);
    expect(await payoutsInBooks()).toBe(before);
    return answer.error;
  }

  test('the source must cover all amounts and fees', async () => {
    const before = await payoutsInBooks();
    const source = await api.createWallet(undefined, { balance: 205_999 });
    const error = await refused(await pay([toBank(), toWallet(wallet)], { sourceWalletId: source }), before);
    expect(error).toMatchObject({
      code: 'WALLET_INSUFFICIENT_FUNDS',
      details: { walletId: source, attemptedAmount: 206_000 },
    });
    expect(await api.balanceOf(source)).toBe(205_999);
    await api.fund(api.organisation.organisationId, source, 1);
    expect((await pay([toBank(), toWallet(wallet)], { sourceWalletId: source })).status).toBe(202);
    expect(await api.balanceOf(source)).toBe(0);
  });

  test('each amount counts against the tier1 limit of the source, and the fees do not', async () => {
    const before = await payoutsInBooks();
    const source = await api.createWallet(undefined, { balance: 30_000_000 });
    const error = await refused(await pay([toBank(1), toBank(5_000_001)], { sourceWalletId: source }), before);
    expect(error).toMatchObject({
      code: 'WALLET_TIER1_LIMIT_EXCEEDED',
      details: { walletId: source, limit: 'transaction', limitAmount: 5_000_000, attemptedAmount: 5_000_001 },
    });
    const within = Array.from({ length: 5 }, () => toBank(5_000_000));
    expect((await pay(within, { sourceWalletId: source })).status).toBe(202);
  });

  test.each([
    ['WALLET_FROZEN', () => frozenWallet()],
    ['WALLET_CLOSED', () => frozenWallet('closed')],
    ['WALLET_KYC_REQUIRED', () => api.createWallet(undefined, { tier1: false })],
  ])('%s', async (code, create) => {
    const before = await payoutsInBooks();
    const source = await create();
    const error = await refused(await pay([toBank()], { sourceWalletId: source }), before);
    expect(error).toMatchObject({ code, details: { walletId: source } });
  });

  test('of two batches for the whole balance one is taken', async () => {
    const source = await api.createWallet(undefined, { balance: 103_000 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => pay([toBank()], { sourceWalletId: source })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      202,
      ...Array.from({ length: 9 }, () => 422),
    ]);
    expect(await api.balanceOf(source)).toBe(0);
  });
});

describe('when the bank rail is away', () => {
  test('504, and the key is free again', async () => {
    const key = randomUUID();
    bankIsUp = false;
    const answer = await pay([toBank()], {}, api.test, key);
    bankIsUp = true;
    expect([answer.status, answer.error.code]).toEqual([504, 'BANK_RAIL_TIMEOUT']);
    expect((await pay([toBank()], {}, api.test, key)).status).toBe(202);
  });

  test('504 when a destination has to get its account number first', async () => {
    accountsAreOpened = false;
    const answer = await pay([toWallet(await api.createWallet())]);
    accountsAreOpened = true;
    expect([answer.status, answer.error.code]).toEqual([504, 'BANK_RAIL_TIMEOUT']);
  });

  test('503 where no rail is configured', async () => {
    const answer = await pay([toBank()], {}, api.live);
    expect([answer.status, answer.error.details]).toEqual([503, { retryable: false, service: 'bank_rail' }]);
  });
});

describe('reads', () => {
  let mine: Resource[];
  let source: string;

  beforeAll(async () => {
    source = await api.createWallet(undefined, { balance: 10_000_000 });
    mine = [];
    for (const size of [3, 1, 2]) {
      const { data } = await pay(
        Array.from({ length: size }, (_, position) => toBank(1_000 + position)),
        { sourceWalletId: source },
      );
      mine.push(data);
    }
    mine.reverse(); // newest first
  });

  test('GET /payouts/:id is what POST answered, until items move', async () => {
    const [payout] = mine;
    expect((await api.test.get(`/payouts/${payout?.id}`)).data).toEqual(payout);
  });

  test('counts follow the items while the payout goes on', async () => {
    const [, , payout] = mine;
    const uuid = requireUuid('payout', payout?.id ?? '');
    await api.sql`UPDATE payout_items SET status = 'completed' WHERE payout_id = ${uuid} AND position = 0`;
    await api.sql`
      UPDATE payout_items SET status = 'failed', failure_reason = 'no' WHERE payout_id = ${uuid} AND position = 2`;
    const { data } = await api.test.get(`/payouts/${payout?.id}`);
    expect(data).toMatchObject({ status: 'processing', successCount: 1, failureCount: 1 });
    expect((data.items as Resource[]).map(({ status, failureReason }) => [status, failureReason])).toEqual([
      ['completed', null],
      ['pending', null],
      ['failed', 'no'],
    ]);
    await api.sql`UPDATE payout_items SET status = 'pending', failure_reason = NULL WHERE payout_id = ${uuid}`;
  });

  test('GET /payouts pages through them, newest first, each with its items in order', async () => {
    const first = await api.test.get(`/payouts?sourceWalletId=${source}&limit=2`);
    expect(first.items).toEqual(mine.slice(0, 2));
    expect(first.pagination).toMatchObject({ limit: 2, hasMore: true });
    const cursor = first.pagination.nextCursor ?? '';
    const second = await api.test.get(`/payouts?sourceWalletId=${source}&cursor=${encodeURIComponent(cursor)}`);
    expect(second.items).toEqual(mine.slice(2));
    expect(second.pagination).toEqual({ limit: 2, hasMore: false, nextCursor: null });
  });

  test.each([
    ['status=processing', 3],
    ['status=completed', 0],
    ['createdAtFrom=2100-01-01T00:00:00Z', 0],
    ['createdAtTo=2100-01-01T00:00:00Z', 3],
  ])('filtered by %s', async (filter, found) => {
    expect((await api.test.get(`/payouts?sourceWalletId=${source}&${filter}`)).items).toHaveLength(found);
  });

  test('a wallet of nobody is the source of no payout; an unknown status is 400', async () => {
    expect((await api.test.get(`/payouts?sourceWalletId=${publicId('wallet', newUuid())}`)).items).toEqual([]);
    expect((await api.test.get('/payouts?status=pending')).status).toBe(400);
  });

  test("404 for anybody else's, for the other environment's, and for what is no payout", async () => {
    const id = mine[0]?.id ?? '';
    const other = await api.createOrganisation();
    for (const [client, asked] of [
      [other.test, id],
      [api.live, id],
      [api.test, publicId('payout', newUuid())],
      [api.test, 'nonsense'],
    ] as const) {
      const answer = await client.get(`/payouts/${asked}`);
      expect([answer.status, answer.error.code, answer.error.details]).toEqual([
        404,
        'PAYOUT_NOT_FOUND',
        { resource: 'payout', id: asked },
      ]);
    }
    expect((await other.test.get('/payouts')).items).toEqual([]);
    expect((await api.live.get('/payouts')).items).toEqual([]);
  });

  test.each([
    ['POST', '/payouts'],
    ['GET', '/payouts'],
    ['GET', '/payouts/x'],
  ])('%s %s needs the scope payout', async (method, path) => {
    const { key } = await api.createKey(api.organisation.organisationId, { scopes: ['wallet', 'payment', 'transfer'] });
    const answer = await api.client(key).call(method, path, method === 'POST' ? { body: {} } : {});
    expect([answer.status, answer.error.details.requiredScopes]).toEqual([403, ['payout']]);
  });
});

/** The same connection, counting what it is asked. */
function counting(sql: TestApi['sql']) {
  const counted = { queries: 0 };
  const proxy = new Proxy(sql, {
    apply(target, self, args) {
      counted.queries += 1;
      return Reflect.apply(target, self, args);
    },
  });
  return { counted, proxy };
}

test('however many wallets a batch names and payouts a page has, the queries are as many', async () => {
  const book = { organisationId: api.organisation.organisationId, environment: 'test' as const };
  const queriesFor = async (read: (sql: TestApi['sql']) => Promise<unknown[]>): Promise<[number, number]> => {
    const { counted, proxy } = counting(api.services.sql);
    return [(await read(proxy)).length, counted.queries];
  };
  const rows = await api.sql<{ id: string }[]>`SELECT id FROM wallets WHERE organisation_id = ${book.organisationId}`;
  const wallets = await queriesFor((sql) =>
    findPayoutWallets(
      sql,
      book,
      rows.map(({ id }) => id),
    ),
  );
  expect(wallets[0]).toBeGreaterThan(5);
  expect(wallets[1]).toBe(1);
  const one = await queriesFor((sql) => listPayouts(sql, book, {}, { limit: 0, after: null }));
  const many = await queriesFor((sql) => listPayouts(sql, book, {}, { limit: 9, after: null }));
  expect([one[0], many[0]]).toEqual([1, 10]);
  expect(many[1]).toBe(one[1]);
});
