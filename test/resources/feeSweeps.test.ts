// Fee sweeps: once per key, never more than the net income, also when others sweep at the same time; income stays.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect } from '../../src/database/pool.ts';
import { publicId, requireUuid } from '../../src/ids.ts';
import { Journal } from '../../src/ledger/journal.ts';
import { trialBalance } from '../../src/ledger/reports.ts';
import type { Book } from '../../src/money.ts';
import { sweepFees } from '../../src/resources/feeSweeps/sweep.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { move, RAIL } from '../ledger/books.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { OPERATORS } from '../support/operators.ts';
import { nodeOf, ownerOf } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api.close());

const { proof } = OPERATORS.ngozi;

/** An organisation with this fee income. */
async function withIncome(amount: number): Promise<{ book: Book; settlementWalletId: string }> {
  const { organisationId, settlementWalletId } = await api.createOrganisation();
  const book: Book = { organisationId, environment: 'test' };
  await api.dependencies.journal.post(move(book, RAIL, 'income:fees', amount));
  return { book, settlementWalletId };
}

test('a key sweeps all of the income once, with its audit entry and event', async () => {
  const { book, settlementWalletId } = await withIncome(700);
  const sweep = (key: string, amount?: number) =>
    sweepFees(api.sql, api.dependencies.journal, book, { key, amount, proof });
  const swept = await sweep('november');
  expect(swept).toMatchObject({ outcome: 'swept', sweep: { amount: 700 } });
  expect(await api.balanceOf(settlementWalletId)).toBe(700);
  await api.dependencies.journal.post(move(book, RAIL, 'income:fees', 30));
  expect(await sweep('november')).toEqual({ ...swept, outcome: 'unchanged' });
  expect(await sweep('december', 31)).toEqual({ outcome: 'too_much', net: 30 });
  expect(await sweep('december', 20)).toMatchObject({ outcome: 'swept' });
  expect(await api.balanceOf(settlementWalletId)).toBe(720);

  const { organisationId } = book;
  const id = 'sweep' in swept ? publicId('feeSweep', swept.sweep.id) : '';
  expect(
    await api.sql`SELECT operator, subject FROM audit_log WHERE organisation_id = ${organisationId} AND action = 'fees.sweep' ORDER BY id`,
  ).toEqual([{ operator: 'ngozi', subject: id }, expect.anything()]);
  expect(
    await api.sql`SELECT data FROM events WHERE organisation_id = ${organisationId} AND type = 'wallet.credited' ORDER BY created_at, id`,
  ).toEqual([
    {
      data: {
        walletId: settlementWalletId,
        inboundCreditId: null,
        feeSweepId: id,
        amount: 700,
        currency: 'NGN',
        sessionId: null,
        status: 'active',
      },
    },
    expect.anything(),
  ]);
});

test('two sweeps at once, which together are more than the income, are one sweep', async () => {
  const { book, settlementWalletId } = await withIncome(100);
  const onNode = connect(await nodeOf(ownerOf(api.databaseUrl), book.organisationId), {
    connectionsMax: 2,
    role: 'owner',
  });
  const holder = await onNode.reserve();
  await holder`BEGIN`;
  await holder`
    SELECT FROM ledger.accounts
    WHERE organisation_id = ${book.organisationId} AND code = ${`wallet:${settlementWalletId}`} FOR UPDATE`;
  // Without turns, both would have added up the income by the time that they wait for the account.
  const outcomes = ['one', 'two'].map((key) =>
    sweepFees(api.sql, new Journal(api.dependencies.sql), book, { key, amount: 60, proof }),
  );
  await waitFor('both sweeps to wait', async () => {
    const waiting = await onNode`
      SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE '%ledger.post%' AND wait_event_type = 'Lock'`;
    return waiting.length === 2;
  });
  await holder`COMMIT`;
  holder.release();
  await onNode.end();
  expect((await Promise.all(outcomes)).map(({ outcome }) => outcome).toSorted()).toEqual(['swept', 'too_much']);
  expect(await api.balanceOf(settlementWalletId)).toBe(60);
});

test('commands with the same key sweep once, and a frozen settlement wallet refuses', async () => {
  const { book, settlementWalletId } = await withIncome(100);
  const journals = [new Journal(api.dependencies.sql), new Journal(api.dependencies.sql)];
  const sweep = (key: string, journal = api.dependencies.journal) =>
    sweepFees(api.sql, journal, book, { key, amount: 10, proof });
  const outcomes = await Promise.all(Array.from({ length: 8 }, (_, n) => sweep('one', journals[n % 2])));
  expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual(
    ['swept', ...Array.from({ length: 7 }, () => 'unchanged')].toSorted(),
  );
  expect(await api.balanceOf(settlementWalletId)).toBe(10);

  const act = { proof: OPERATORS.ngozi.proof, reason: 'test' };
  await setWalletStatus(api.sql, book.organisationId, requireUuid('wallet', settlementWalletId), 'frozen', act);
  expect(await sweep('two')).toEqual({ outcome: 'refused', code: 'WALLET_FROZEN' });
});

test('a sweep takes what is net of costs, losses and debts, and leaves income and costs as they were', async () => {
  const { book, settlementWalletId } = await withIncome(10_000);
  const { journal } = api.dependencies;
  const post = (debit: string, credit: string, amount: number) => journal.post(move(book, debit, credit, amount));
  await post('expense:rail', RAIL, 1_500);
  await post('loss:operations', RAIL, 400);
  await post('receivable:bank', RAIL, 100);
  const sweep = (key: string, amount?: number) => sweepFees(api.sql, journal, book, { key, amount, proof });
  expect(await sweep('gross', 10_000)).toEqual({ outcome: 'too_much', net: 8_000 });
  expect(await sweep('net')).toMatchObject({ outcome: 'swept', sweep: { amount: 8_000 } });
  expect(await api.balanceOf(settlementWalletId)).toBe(8_000);
  const balances = await trialBalance(api.sql, book, new Date(Date.now() + 1_000));
  expect(Object.fromEntries(balances.map(({ account, balance }) => [account, balance]))).toEqual({
    'clearing:sandbox': -8_000,
    'expense:rail': -1_500,
    'income:fees': 10_000,
    'loss:operations': -400,
    'own:drawings': -8_000,
    'receivable:bank': -100,
    [`wallet:${settlementWalletId}`]: 8_000,
  });
  await post(RAIL, 'receivable:bank', 100);
  expect(await sweep('paid back')).toMatchObject({ outcome: 'swept', sweep: { amount: 100 } });
});
