// Payouts over HTTP: accepted and refused POST /payouts requests, by status, and the reads.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import { payoutReserveAccount } from '../../src/ledger/chart.ts';
import { RailUnavailableError } from '../../src/rail/errors.ts';
import { findPayoutWallets, listPayouts } from '../../src/resources/payouts/queries.ts';
import { type Answer, type Client, type Resource, startTestApi, type TestApi } from '../support/api.ts';
import { changedRail } from '../support/changedRail.ts';
import { recordStatements } from '../support/queryRecorder.ts';
import { expectError } from '../support/refusals.ts';

let api: TestApi;
let settlement: string;
let wallet: string;

const FUNDS = 100_000_000;
const bankAccount = { accountNumber: '0123456789', bankCode: '058' };
const toBank = (amount = 100_000, more: object = {}) => ({ amount, bankAccount, ...more });
const toWallet = (destinationWalletId: string, amount = 100_000) => ({ amount, destinationWalletId });

let bankIsUp = true;
let accountsCanBeOpened = true;

beforeAll(async () => {
  api = await startTestApi({
    rails: changedRail((bank) => {
      const unavailable = () => Promise.reject(new RailUnavailableError('away', { timedOut: true }));
      return {
        banks: () => (bankIsUp ? bank.banks() : unavailable()),
        openVirtualAccount: (request) => (accountsCanBeOpened ? bank.openVirtualAccount(request) : unavailable()),
      };
    }),
  });
  settlement = api.organisation.settlementWalletId;
  await api.fund(api.organisation.organisationId, settlement, FUNDS);
  wallet = await api.createWallet();
});

afterAll(() => api.close());

const pay = (items: unknown[], more: object = {}, client: Client = api.test, key?: string): Promise<Answer> =>
  client.money('/payouts', { items, ...more }, key);

const walletThatIs = (status: 'frozen' | 'closed') => api.createWallet(undefined, { status });

const fieldsOf = (answer: Answer) =>
  answer.error.details.fields as { field: string; code: string; constraint?: object }[];
const pathsOf = (answer: Answer): string[] => fieldsOf(answer).map(({ field }) => field);

const countPayouts = async (): Promise<number> => {
  const [row] = await api.sql<{ payouts: number }[]>`SELECT count(*)::int AS payouts FROM payouts`;
  return row?.payouts ?? 0;
};

describe('202 responses', () => {
  test('a payout reserves the whole batch, and every item is pending in the order sent', async () => {
    const before = await api.balanceOf(settlement);
    const { data, status } = await pay([
      toWallet(wallet, 150_000),
      toBank(2_000_000, { reference: 'rent' }),
      { amount: 1, bankAccount: { ...bankAccount, accountName: 'Ada Obi' }, reference: 'salary' },
    ]);
    expect(status).toBe(202);
    const pending = {
      id: expect.stringMatching(/^svc_[0-9a-z]{26}_poi$/),
      status: 'pending',
      reference: null,
      destinationWalletId: null,
      failureCode: null,
      failureReason: null,
      failureDetail: null,
      sessionId: null,
    };
    expect(data).toEqual({
      id: expect.stringMatching(/^svc_[0-9a-z]{26}_pyo$/),
      sourceWalletId: settlement,
      totalAmount: 2_150_001,
      totalFee: 3_500 + 20_000 + 2_500,
      itemCount: 3,
      successCount: 0,
      failureCount: 0,
      status: 'processing',
      reference: null,
      metadata: {},
      items: [
        {
          ...pending,
          amount: 150_000,
          fee: 3_500,
          destinationWalletId: wallet,
          counterparty: { accountNumber: expect.stringMatching(/^\d{10}$/), accountName: 'Ada Obi', bankCode: '999' },
        },
        {
          ...pending,
          reference: 'rent',
          amount: 2_000_000,
          fee: 20_000,
          counterparty: { ...bankAccount, accountName: null },
        },
        {
          ...pending,
          reference: 'salary',
          amount: 1,
          fee: 2_500,
          counterparty: { ...bankAccount, accountName: 'Ada Obi' },
        },
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

  test('the payout flow is started on the payouts queue with ids and amounts only', async () => {
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

  test('a tier1 wallet of the caller may be the source of a payout', async () => {
    const source = await api.createWallet(undefined, { balance: 500_000 });
    const { data, status } = await pay([toWallet(wallet)], { sourceWalletId: source });
    expect([status, data.sourceWalletId]).toEqual([202, source]);
    expect(await api.balanceOf(source)).toBe(397_000);
  });

  test('the settlement wallet may be the destination of a payout from a customer wallet', async () => {
    const source = await api.createWallet(undefined, { balance: 500_000 });
    expect((await pay([toWallet(settlement)], { sourceWalletId: source })).status).toBe(202);
  });

  test('a destination wallet without a deposit account gets one', async () => {
    accountsCanBeOpened = false;
    const walletId = await api.createWallet();
    accountsCanBeOpened = true;
    const { data } = await pay([toWallet(walletId), toWallet(walletId)]);
    const [first, second] = data.items as { counterparty: { accountNumber: string } }[];
    expect(first?.counterparty.accountNumber).toMatch(/^\d{10}$/);
    expect(second?.counterparty).toEqual(first?.counterparty);
  });

  test('a payout of a thousand items is accepted', async () => {
    const { data, status } = await pay(
      Array.from({ length: 1_000 }, (_, position) => toBank(1_000, { reference: `${'r'.repeat(95)}${position}` })),
    );
    expect([status, data.itemCount, (data.items as unknown[]).length]).toEqual([202, 1_000, 1_000]);
  });
});

describe('400 responses, with the path of every invalid item', () => {
  test('items of an invalid shape are listed by path', async () => {
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
    expectError(answer, 400, 'VALIDATION_FAILED');
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

  test('duplicate references are listed together with items of an invalid shape', async () => {
    const answer = await pay([
      toBank(1, { reference: 'one' }),
      toBank(0, { reference: 'two' }),
      toBank(1, { reference: 'one' }),
      { reference: 'two' },
      toBank(1, { reference: 'three' }),
      toBank(1, { reference: 'one' }),
    ]);
    expectError(answer, 400, 'VALIDATION_FAILED');
    const problems = fieldsOf(answer).map(({ field, code, constraint }) =>
      [field, code, ...Object.values(constraint ?? {})].join(' '),
    );
    expect(problems.toSorted()).toEqual([
      'items.1.amount too_small 1',
      'items.2.reference duplicate items.0.reference',
      'items.3 custom',
      'items.3.amount invalid_type number',
      'items.3.reference duplicate items.1.reference',
      'items.5.reference duplicate items.0.reference',
    ]);
  });

  test('items with unusable wallets or banks are listed by path', async () => {
    const unverified = await api.createWallet(undefined, { tier1: false });
    const [frozen, closed] = [await walletThatIs('frozen'), await walletThatIs('closed')];
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
    ['1001 items', { items: Array.from({ length: 1_001 }, () => toBank(1)) }, 'items'],
    ['an object as items', { items: toBank() }, 'items'],
    ['an empty body', {}, 'items'],
    ['an unknown field', { items: [toBank()], totalFee: 0 }, 'totalFee'],
  ])('a payout with %s is 400', async (_name, body, field) => {
    const answer = await api.test.money('/payouts', body);
    expect([answer.status, pathsOf(answer)]).toEqual([400, [field]]);
  });

  test('a body of more than 1 MB is BODY_TOO_LARGE', async () => {
    const answer = await api.test.money('/payouts', `{"items":[],"filler":"${'x'.repeat(1024 * 1024)}"}`);
    expectError(answer, 400, 'BODY_TOO_LARGE');
  });

  test('after a 400 the key is free, and the corrected batch succeeds with it', async () => {
    const key = randomUUID();
    const before = await countPayouts();
    expect((await pay([toWallet(settlement)], {}, api.test, key)).status).toBe(400);
    expect(await countPayouts()).toBe(before);
    expect((await pay([toWallet(wallet)], {}, api.test, key)).status).toBe(202);
  });
});

describe('404 responses', () => {
  test('the first of several unknown wallets is reported, before any other error of the batch', async () => {
    const missing = publicId('wallet', newUuid());
    const answer = await pay([toWallet(settlement), toWallet(missing), toWallet(publicId('wallet', newUuid()))]);
    expect(answer.error.details).toEqual({ resource: 'wallet', id: missing });
  });
});

describe('422 responses', () => {
  async function expectRefused(answer: Answer, before: number): Promise<Answer['error']> {
    expect(answer.status).toBe(422);
    expect(await countPayouts()).toBe(before);
    return answer.error;
  }

  test('a payout above the source balance, fees included, is WALLET_INSUFFICIENT_FUNDS', async () => {
    const before = await countPayouts();
    const source = await api.createWallet(undefined, { balance: 205_999 });
    const error = await expectRefused(await pay([toBank(), toWallet(wallet)], { sourceWalletId: source }), before);
    expect(error).toMatchObject({
      code: 'WALLET_INSUFFICIENT_FUNDS',
      details: { walletId: source, attemptedAmount: 206_000 },
    });
    expect(await api.balanceOf(source)).toBe(205_999);
    await api.fund(api.organisation.organisationId, source, 1);
    expect((await pay([toBank(), toWallet(wallet)], { sourceWalletId: source })).status).toBe(202);
    expect(await api.balanceOf(source)).toBe(0);
  });

  test('the tier1 transaction limit of the source applies to each amount, without fees', async () => {
    const before = await countPayouts();
    const source = await api.createWallet(undefined, { balance: 30_000_000 });
    const error = await expectRefused(await pay([toBank(1), toBank(5_000_001)], { sourceWalletId: source }), before);
    expect(error).toMatchObject({
      code: 'WALLET_TIER1_LIMIT_EXCEEDED',
      details: { walletId: source, limit: 'transaction', limitAmount: 5_000_000, attemptedAmount: 5_000_001 },
    });
    const within = Array.from({ length: 5 }, () => toBank(5_000_000));
    expect((await pay(within, { sourceWalletId: source })).status).toBe(202);
  });

  test.each([
    ['WALLET_FROZEN', () => walletThatIs('frozen')],
    ['WALLET_CLOSED', () => walletThatIs('closed')],
    ['WALLET_KYC_REQUIRED', () => api.createWallet(undefined, { tier1: false })],
  ])('a payout from an unusable source is %s', async (code, create) => {
    const before = await countPayouts();
    const source = await create();
    const error = await expectRefused(await pay([toBank()], { sourceWalletId: source }), before);
    expect(error).toMatchObject({ code, details: { walletId: source } });
  });
});

describe('payouts while the rail is unavailable', () => {
  test('a rail timeout is 504, and the key is free', async () => {
    const key = randomUUID();
    bankIsUp = false;
    const answer = await pay([toBank()], {}, api.test, key);
    bankIsUp = true;
    expectError(answer, 504, 'BANK_RAIL_TIMEOUT');
    expect((await pay([toBank()], {}, api.test, key)).status).toBe(202);
  });

  test("a rail timeout while opening a destination's account is 504", async () => {
    accountsCanBeOpened = false;
    const answer = await pay([toWallet(await api.createWallet())]);
    accountsCanBeOpened = true;
    expectError(answer, 504, 'BANK_RAIL_TIMEOUT');
  });

  test('a payout without a configured rail is 503', async () => {
    const answer = await pay([toBank()], {}, api.live);
    expect([answer.status, answer.error.details]).toEqual([503, { retryable: false, service: 'bank_rail' }]);
  });
});

test('GET /payouts/:id returns the response of POST, and successCount and failureCount follow the items', async () => {
  const { data: payout } = await pay([toBank(1_000), toBank(1_001), toBank(1_002)]);
  const read = async () => (await api.test.get(`/payouts/${payout.id}`)).data;
  expect(await read()).toEqual(payout);
  const uuid = requireUuid('payout', payout.id);
  await api.sql`UPDATE payout_items SET status = 'completed' WHERE payout_id = ${uuid} AND position = 0`;
  await api.sql`
    UPDATE payout_items SET status = 'failed', failure_reason = 'no' WHERE payout_id = ${uuid} AND position = 2`;
  const data = await read();
  expect(data).toMatchObject({ status: 'processing', successCount: 1, failureCount: 1 });
  expect((data.items as Resource[]).map(({ status, failureReason }) => [status, failureReason])).toEqual([
    ['completed', null],
    ['pending', null],
    ['failed', 'no'],
  ]);
});

test('the number of queries is independent of the number of wallets in a batch and of payouts in a page', async () => {
  const book = { organisationId: api.organisation.organisationId, environment: 'test' as const };
  const queriesFor = async (read: (sql: TestApi['sql']) => Promise<unknown[]>): Promise<[number, number]> => {
    const { sql } = api.dependencies;
    const take = recordStatements([sql]);
    return [(await read(sql)).length, take().length];
  };
  const rail = await api.dependencies.rails.of(book);
  if (rail === null) throw new Error('the sandbox has no rail');
  const rows = await api.sql<{ id: string }[]>`SELECT id FROM wallets WHERE organisation_id = ${book.organisationId}`;
  const wallets = await queriesFor((sql) =>
    findPayoutWallets(
      sql,
      book,
      rail,
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
