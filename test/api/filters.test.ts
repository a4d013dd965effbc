// Filters of lists that need more than a column of their own: transfers of a wallet, payments by account number, all
// refunds; changes of a wallet's contact details; the check of a payout.

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newUuid, publicId } from '../../src/ids.ts';
import { CONTRACT_TIER1 } from '../../src/ledger/limits.ts';
import { RailUnavailableError } from '../../src/rail/errors.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { setPolicy } from '../../src/resources/wallets/limits.ts';
import { type Resource, startTestApi } from '../support/api.ts';
import { changedRail } from '../support/changedRail.ts';

/** Whether name enquiry is out of order. */
let bankIsSilent = false;

const api = await startTestApi({
  rails: changedRail((bank) => ({
    resolveAccount: (request, signal) =>
      bankIsSilent
        ? Promise.reject(new RailUnavailableError('no response', { timedOut: true }))
        : bank.resolveAccount(request, signal),
  })),
});

afterAll(() => api.close());

const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };

describe('GET /transfers by wallet', () => {
  let [ada, bola, chidi] = ['', '', ''];
  let sent: Resource[] = [];

  beforeAll(async () => {
    ada = await api.createWallet(api.test, { balance: 10_000 });
    bola = await api.createWallet(api.test, { balance: 10_000 });
    chidi = await api.createWallet();
    const move = async (from: string, to: string, reference: string) =>
      (await api.test.money(`/wallets/${from}/transfer`, { amount: 10, destinationWalletId: to, reference })).data;
    sent = [];
    for (let count = 0; count < 4; count += 1) {
      sent.unshift(await move(ada, count % 2 === 0 ? bola : chidi, `ada ${count}`));
      await move(bola, ada, `bola ${count}`);
    }
    await api.test.money(`/wallets/${ada}/withdraw`, { amount: 100, ...BANK_ACCOUNT });
  });

  const list = async (query: string) => (await api.test.get(`/transfers?${query}`)).items;

  test('by source, by destination, by both, and with a reference', async () => {
    expect(await list(`sourceWalletId=${ada}`)).toEqual(sent);
    const received = await list(`destinationWalletId=${ada}`);
    expect(received.map(({ reference }) => reference)).toEqual([3, 2, 1, 0].map((count) => `bola ${count}`));
    expect(await list(`sourceWalletId=${ada}&destinationWalletId=${chidi}`)).toEqual([sent[0], sent[2]]);
    expect(await list(`sourceWalletId=${ada}&reference=ada%201`)).toEqual([sent[2]]);
    expect(await list(`sourceWalletId=${chidi}`)).toEqual([]);
  });

  test.each([1, 2, 3])('pages of %i cover them once', async (limit) => {
    const seen: Resource[] = [];
    for (let query = `sourceWalletId=${ada}&limit=${limit}`; query !== ''; ) {
      const { items, pagination } = await api.test.get(`/transfers?${query}`);
      seen.push(...items);
      query = pagination.nextCursor === null ? '' : `cursor=${pagination.nextCursor}`;
    }
    expect(seen).toEqual(sent);
  });

  test('the times of creation bound them', async () => {
    const at = encodeURIComponent(String(sent[1]?.createdAt));
    const until = await list(`sourceWalletId=${ada}&createdAtTo=2001-01-01T00:00:00Z`);
    const from = await list(`sourceWalletId=${ada}&createdAtFrom=${at}`);
    expect([until, from.length >= 2 && from.length <= 4]).toEqual([[], true]);
  });

  test('an unknown wallet, or one of another organisation, has none', async () => {
    const other = await api.createOrganisation();
    expect((await other.test.get(`/transfers?sourceWalletId=${ada}`)).items).toEqual([]);
    expect(await list(`destinationWalletId=${publicId('wallet', newUuid())}`)).toEqual([]);
    expect((await api.test.get('/transfers?sourceWalletId=nonsense')).status).toBe(400);
  });
});

test('payments are found by their account number, in their own book only', async () => {
  const body = { method: 'bank_transfer', baseAmount: 1_000, targetWalletId: await api.createWallet() };
  const { data } = await api.test.money('/payments', body);
  await api.test.money('/payments', body);
  const { accountNumber } = data.virtualAccount as { accountNumber: string };
  expect((await api.test.get(`/payments?accountNumber=${accountNumber}`)).items).toEqual([data]);
  expect((await api.test.get(`/payments?accountNumber=${accountNumber}&status=settled`)).items).toEqual([]);
  const other = await api.createOrganisation();
  expect((await other.test.get(`/payments?accountNumber=${accountNumber}`)).items).toEqual([]);
  expect((await api.test.get('/payments?accountNumber=12')).error.code).toBe('VALIDATION_FAILED');
});

test('all refunds are listed, newest first, by status, destination and reference', async () => {
  const { test: client } = await api.createOrganisation();
  const refunds: Resource[] = [];
  for (const reference of ['one', 'two']) {
    const payer = await api.createWallet(client, { balance: 1_000 });
    const bill = { method: 'virtual_wallet', baseAmount: 1_000, targetWalletId: await api.createWallet(client) };
    const paymentId = (await client.money('/payments', bill)).data.id;
    await client.money(`/wallets/${payer}/pay`, { paymentId });
    refunds.unshift((await client.money(`/payments/${paymentId}/refund`, { amount: 10, reference })).data);
  }
  expect((await client.get('/refunds')).items).toEqual(refunds);
  expect((await client.get('/refunds?reference=one')).items).toEqual([refunds[1]]);
  expect((await client.get('/refunds?status=completed&destination=wallet&limit=1')).items).toEqual([refunds[0]]);
  expect((await client.get('/refunds?destination=bank')).items).toEqual([]);
});

describe('PATCH /wallets/:id', () => {
  const patch = (walletId: string, body: object) => api.test.call('PATCH', `/wallets/${walletId}`, { body });

  test('given fields change, others stay, and null clears', async () => {
    const body = { email: 'ada@test.example', fullName: 'Ada Obi', phone: '1', externalReference: 'patched' };
    const { data } = await api.test.post('/wallets', body);
    const changed = await patch(data.id, { email: 'obi@test.example', phone: null });
    expect([changed.status, changed.data]).toEqual([200, { ...data, email: 'obi@test.example', phone: null }]);
    expect((await api.test.get(`/wallets/${data.id}`)).data).toEqual(changed.data);
    expect((await patch(data.id, { email: null })).data).toEqual(changed.data);
    expect((await patch(data.id, {})).status).toBe(400);
    expect((await patch(data.id, { fullName: null })).data).toEqual({ ...changed.data, fullName: null });
  });

  test('who the customer is does not change, in the database neither', async () => {
    const walletId = await api.createWallet();
    const { error } = await patch(walletId, { externalReference: 'mine' });
    expect(error.details.fields).toEqual([expect.objectContaining({ field: 'externalReference' })]);
    await expect(api.dependencies.sql`UPDATE wallets SET external_reference = 'mine'`).rejects.toThrow(
      /permission denied/,
    );
  });
});

describe('POST /payouts/validate', () => {
  const validate = (body: object) => api.test.post('/payouts/validate', body);

  interface CheckedItem {
    accountName: string | null;
    problems: { field: string; code: string }[];
  }

  const itemsOf = ({ items }: Resource) => items as CheckedItem[];

  test('a valid payout has its names, fees and totals, and nothing is reserved', async () => {
    const source = await api.createWallet(api.test, { balance: 10_000 });
    const destinationWalletId = await api.createWallet();
    const body = {
      sourceWalletId: source,
      items: [
        { amount: 1_000, reference: 'salary', bankAccount: BANK_ACCOUNT },
        { amount: 500, destinationWalletId },
      ],
    };
    const { status, data } = await validate(body);
    expect([status, data.isValid, data.totalAmount, data.totalFee, data.missingAmount]).toEqual([
      200,
      true,
      1_500,
      5_000,
      0,
    ]);
    expect(data.items).toEqual([
      {
        reference: 'salary',
        amount: 1_000,
        fee: 2_500,
        totalAmount: 3_500,
        accountName: expect.any(String),
        problems: [],
      },
      { reference: null, amount: 500, fee: 2_500, totalAmount: 3_000, accountName: null, problems: [] },
    ]);
    expect(await api.balanceOf(source)).toBe(10_000);
    expect((await api.test.money('/payouts', body)).status).toBe(202);
  });

  test('what would fail is listed for each item', async () => {
    const sourceWalletId = await api.createWallet(api.test, { balance: 10_000 });
    const { data } = await validate({
      sourceWalletId,
      items: [
        { amount: 1, bankAccount: { accountNumber: '9999999006', bankCode: '058' } },
        { amount: 1, bankAccount: { accountNumber: '9999999007', bankCode: '058', accountName: 'Ada Obi' } },
        { amount: 1, bankAccount: { accountNumber: '0123456789', bankCode: '000999' } },
        { amount: 1, destinationWalletId: sourceWalletId },
        { amount: 5_000_001, bankAccount: BANK_ACCOUNT },
      ],
    });
    expect(data.isValid).toBe(false);
    expect(itemsOf(data).map(({ problems }) => problems.map(({ field, code }) => `${field} ${code}`))).toEqual([
      ['items.0.bankAccount.accountNumber account_not_resolved'],
      ['items.1.bankAccount.accountName name_mismatch'],
      ['items.2.bankAccount.bankCode bank_code_unknown'],
      ['items.3.destinationWalletId same_wallet'],
      ['items.4.amount wallet_tier1_limit_exceeded'],
    ]);
    expect(data.missingAmount).toBeGreaterThan(4_990_000);
  });

  test('what exceeds a limit of the day or month is a problem of the whole, with the details of the refusal', async () => {
    const { organisationId, test: client } = await api.createOrganisation();
    const policy = { tier1: { ...CONTRACT_TIER1, daily_amount: 9_000, monthly_count: 2 } };
    const act = { proof: OWNER_PROOF, reason: 'test' };
    await setPolicy(api.sql, { organisationId, environment: 'test' }, policy, act);
    const sourceWalletId = await api.createWallet(client, { balance: 100_000 });
    const check = async (amount: number) => {
      const body = { sourceWalletId, items: [{ amount, bankAccount: BANK_ACCOUNT }] };
      const { data } = await client.post('/payouts/validate', body);
      const { status, error } = await client.money('/payouts', body);
      const [problem, ...others] = data.problems as { field: string; code: string; details: object }[];
      expect([data.isValid, others]).toEqual([status === 202, []]);
      expect(problem?.details).toEqual(error?.details);
      return [status, problem && `${problem.field} ${problem.code}`];
    };
    const exceeded = [422, 'items wallet_limit_exceeded'];
    expect(await check(1_000)).toEqual([202, undefined]); // the fee is 2,500
    expect(await check(3_001)).toEqual(exceeded);
    expect(await check(3_000)).toEqual([202, undefined]);
    expect(await check(1)).toEqual(exceeded); // of both, of which one is named
  });

  test('a bank that does not respond leaves items unchecked, and is not asked for each of them', async () => {
    bankIsSilent = true;
    const items = Array.from({ length: 50 }, (_, item) => ({
      amount: 1,
      bankAccount: { accountNumber: String(1_000_000_000 + item), bankCode: '058' },
    }));
    const { status, data } = await validate({ items });
    bankIsSilent = false;
    expect(status).toBe(200);
    expect(new Set(itemsOf(data).flatMap(({ problems }) => problems.map(({ code }) => code)))).toEqual(
      new Set(['not_checked']),
    );
  });

  test('an unknown wallet is 404, a source below tier1 422, a malformed item 400', async () => {
    const items = [{ amount: 1, bankAccount: BANK_ACCOUNT }];
    const unknown = publicId('wallet', newUuid());
    const untiered = await api.createWallet(api.test, { tier1: false });
    const codes = [
      (await validate({ sourceWalletId: unknown, items })).error.code,
      (await validate({ sourceWalletId: untiered, items })).error.code,
      (await validate({ items: [{ amount: 1 }] })).error.code,
    ];
    expect(codes).toEqual(['WALLET_NOT_FOUND', 'WALLET_KYC_REQUIRED', 'VALIDATION_FAILED']);
  });
});
