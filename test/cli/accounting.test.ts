// `ledger trial-balance | account | income | close-period | sweep-fees`: the reports as table, CSV and JSON, and
// refusals that say what to do.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { publicId } from '../../src/ids.ts';
import { dayOf } from '../../src/times.ts';
import { createSettlementWallets, expectPosted, move, newWallet, openBooks, RAIL } from '../ledger/books.ts';
import { type Ended, runCli } from './run.ts';

const books = await openBooks();
const home = await mkdtemp(path.join(tmpdir(), 'manilla-cli-'));
await createSettlementWallets(books);
const wallet = await newWallet(books, { balance: 150_000 });
await expectPosted(books.journal.post(move(books.book, wallet, 'income:fees', 5)));

afterAll(async () => {
  await books.close();
  await rm(home, { recursive: true });
});

const ledger = (...words: string[]): Promise<Ended> =>
  runCli(['ledger', ...words, '--environment', 'test'], { databaseUrl: books.url, home });

test('a trial balance is printed as a table, as CSV in naira and as JSON in kobo', async () => {
  const csv = await ledger('trial-balance', '--format', 'csv');
  expect(csv).toEqual({
    exitCode: 0,
    output: [
      'Account,Debit (NGN),Credit (NGN)',
      `${RAIL},1500.00,0.00`,
      'income:fees,0.00,0.05',
      `${wallet},0.00,1499.95`,
      'Total,1500.00,1500.00',
      '',
    ].join('\r\n'),
    errors: '',
  });
  expect((await ledger('trial-balance')).output).toContain('1499.95');
  const json = await ledger('trial-balance', '--json');
  expect(JSON.parse(json.output)).toMatchObject({
    organisation: publicId('organisation', books.book.organisationId),
    environment: 'test',
    accounts: [
      { account: RAIL, debit: 150_000, credit: 0 },
      { account: 'income:fees', debit: 0, credit: 5 },
      { account: wallet, debit: 0, credit: 149_995 },
    ],
    total: { debit: 150_000, credit: 150_000 },
  });
  expect((await ledger('trial-balance', '--format', 'json', '--at', '2020-01')).output).toContain('"accounts": []');
});

test('an account is printed with its opening, running and closing balance', async () => {
  const { output } = await ledger('account', wallet, '--json');
  expect(JSON.parse(output)).toMatchObject({
    opening: 0,
    entries: [
      { contra: RAIL, debit: 0, credit: 150_000, balance: 150_000, belongsTo: null },
      { contra: 'income:fees', debit: 5, credit: 0, balance: 149_995 },
    ],
    closing: 149_995,
    amountOwed: 0,
  });
  const csv = (await ledger('account', wallet, '--format', 'csv')).output.trim().split('\r\n');
  expect(csv).toHaveLength(6);
  expect(csv[3]).toMatch(/,income:fees,0.05,0.00,1499.95,/);
  expect(csv.slice(4)).toEqual(['Closing,,,,,,,1499.95,,', 'Owes now,,,,,,,0.00,,']);
});

test('income is printed by day and month, with its sum', async () => {
  const today = dayOf(new Date());
  const csv = (await ledger('income', '--from', today, '--format', 'csv')).output.trim().split('\r\n');
  expect(csv).toEqual([
    'Period,Income (NGN),Cost of rails (NGN),Losses (NGN),Tax (NGN),Net (NGN)',
    ...[today, today.slice(0, 7), 'Total'].map((period) => `${period},0.05,0.00,0.00,0.00,0.05`),
  ]);
  const json = JSON.parse((await ledger('income', '--json')).output);
  expect(json.total).toEqual({ income: 5, railCosts: 0, losses: 0, tax: 0, net: 5 });
});

test('the days of a book are shown at each bank, and one that is not over is not proved', async () => {
  const today = dayOf(new Date());
  const [heading, row, ...more] = (await ledger('days', '--day', today, '--format', 'csv')).output.trim().split('\r\n');
  expect([heading?.split(',').slice(0, 5), row?.split(',').slice(0, 5), more]).toEqual([
    ['Day', 'Bank', 'State', 'Statement', 'Books'],
    [today, 'sandbox', 'not over', '', '1500.00'],
    [],
  ]);
  const proving = await ledger('prove', '--day', today, '--json');
  expect(proving).toMatchObject({ exitCode: 1, output: expect.stringContaining('"state": "not over"') });
  expect(await ledger('days', '--day', '2026-11-31')).toMatchObject({
    exitCode: 2,
    errors: expect.stringContaining('It must be a day, such as 2026-11-30.'),
  });
});

test('fees are swept once per key', async () => {
  const sweep = async (...words: string[]) => (await ledger('sweep-fees', '--key', 'november', ...words)).output;
  expect(JSON.parse(await sweep('--amount', '2', '--json'))).toMatchObject({
    key: 'november',
    amount: 2,
    changed: true,
  });
  expect(await sweep()).toContain('₦0.02 was already swept with the key november.');
  expect((await ledger('account', 'income:fees', '--json')).output).toContain('"closing": 5');
});

test.each([
  [['sweep-fees', '--amount', '6', '--key', 'more'], 1, /net income that was not swept is ₦0.03/],
  [['account', 'income:nothing'], 1, /There is no account income:nothing in this book/],
  [['trial-balance', '--at', '2026-11-31'], 2, /Write it as 2026-11, 2026-11-30 or/],
  [['close-period', '2026-13'], 2, /2026-13 is not a month/],
  [['close-period', '2999-01'], 1, /The period 2999-01 is not over/],
])('%j exits with an error that says what to do', async (words, exitCode, message) => {
  expect(await ledger(...words)).toEqual({ exitCode, output: '', errors: expect.stringMatching(message) });
});
