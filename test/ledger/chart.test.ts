// The chart of accounts: the account codes, whose money they have, and which balances are stored.
import { expect, test } from '@jest/globals';
import { newUuid, publicId } from '../../src/ids.ts';
import {
  accountKind,
  BANK_RECEIVABLE,
  CHART,
  clearingAccount,
  DRAWINGS,
  FEE_INCOME,
  floatAccount,
  IN_TRANSIT_PAYOUTS,
  IN_TRANSIT_REFUNDS,
  IN_TRANSIT_RETURNS,
  IN_TRANSIT_WITHDRAWALS,
  INTEREST_INCOME,
  mayBeNegative,
  OPERATING_LOSS,
  paymentSuspenseAccount,
  payoutReserveAccount,
  RAIL_EXPENSE,
  settlementAccount,
  UNCLAIMED,
  UNMATCHED,
  walletAccount,
  walletOf,
  walletReceivable,
} from '../../src/ledger/chart.ts';
import { openBooks } from './books.ts';

const id = newUuid();

const ACCOUNTS = [
  // code, kind of balance, class
  [walletAccount(id), 'wallet', 'customer'],
  [paymentSuspenseAccount(id), 'stored_balance', 'customer'],
  [payoutReserveAccount(id), 'stored_balance', 'customer'],
  [clearingAccount('sandbox'), 'derived_balance', 'bank'],
  [floatAccount('sandbox'), 'derived_balance', 'bank'],
  [IN_TRANSIT_WITHDRAWALS, 'derived_balance', 'customer'],
  [IN_TRANSIT_REFUNDS, 'derived_balance', 'customer'],
  [IN_TRANSIT_PAYOUTS, 'derived_balance', 'customer'],
  [IN_TRANSIT_RETURNS, 'derived_balance', 'customer'],
  [UNCLAIMED, 'derived_balance', 'customer'],
  [UNMATCHED, 'derived_balance', 'customer'],
  [FEE_INCOME, 'derived_balance', 'own'],
  [RAIL_EXPENSE, 'derived_balance', 'own'],
  [settlementAccount('sandbox'), 'derived_balance', 'bank'],
  [INTEREST_INCOME, 'derived_balance', 'own'],
  [OPERATING_LOSS, 'derived_balance', 'own'],
  [DRAWINGS, 'derived_balance', 'own'],
  [BANK_RECEIVABLE, 'derived_balance', 'receivable'],
  [walletReceivable(id), 'derived_balance', 'receivable'],
  ['liability:vat', 'derived_balance', 'statutory'],
] as const;

test.each(ACCOUNTS)('the account %s is of the kind %s', (code, kind, _class) => {
  expect(accountKind(code)).toBe(kind);
});

test('only what rails and banks owe, debts, fee income, an expense, a loss or a drawing may be negative', () => {
  expect(ACCOUNTS.map(([code]) => code).filter(mayBeNegative)).toEqual([
    clearingAccount('sandbox'),
    floatAccount('sandbox'),
    FEE_INCOME,
    RAIL_EXPENSE,
    settlementAccount('sandbox'),
    OPERATING_LOSS,
    DRAWINGS,
    BANK_RECEIVABLE,
    walletReceivable(id),
  ]);
});

/** The class of every prefix of the chart, by its first segment. */
const CLASSES: Record<string, string> = {
  clearing: 'bank',
  float: 'bank',
  settlement: 'bank',
  income: 'own',
  expense: 'own',
  loss: 'own',
  own: 'own',
  liability: 'statutory',
  receivable: 'receivable',
};

test('the database gives every account the class of the chart, and a code that the chart does not have to customers', async () => {
  const books = await openBooks();
  const others = [...CHART.map(({ prefix }) => `${prefix}x`), 'other:x', 'incomes:x'];
  const codes = [...ACCOUNTS.map(([code]) => code), ...others];
  const rows = await books.owner<
    { class: string }[]
  >`SELECT ledger.class_of(code) AS class FROM unnest(${codes}::text[]) AS code`;
  const expected = others.map((code) => CLASSES[code.split(':')[0] ?? ''] ?? 'customer');
  expect(rows.map((row) => row.class)).toEqual([...ACCOUNTS.map(([, , accountClass]) => accountClass), ...expected]);
  await books.close();
});

test('every account code has the form that the database requires', () => {
  for (const [code] of ACCOUNTS) expect(code).toMatch(/^[a-z_]+(:[a-z0-9_]+)+$/);
});

test('a wallet account code contains the id of its wallet, and no other code does', () => {
  expect(walletOf(walletAccount(id))).toBe(publicId('wallet', id));
  expect(walletOf(paymentSuspenseAccount(id))).toBeNull();
  expect(walletOf(FEE_INCOME)).toBeNull();
});

test('the database derives the account code of a wallet from its id, and refuses another one', async () => {
  const books = await openBooks();
  const ids = [
    ...Array.from({ length: 50 }, newUuid),
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
  ];
  const rows = await books.owner<{ code: string }[]>`
    INSERT INTO wallets (organisation_id, environment, id, kind, email, created_at)
    SELECT ${books.book.organisationId}, 'test', id, 'end_user', 'ada@test.example', now() FROM unnest(${ids}::uuid[]) AS w (id)
    RETURNING account_code AS code`;
  expect(rows.map(({ code }) => code)).toEqual(ids.map(walletAccount));
  const move = books.owner`UPDATE wallets SET account_code = ${walletAccount(newUuid())}`;
  await expect(move).rejects.toMatchObject({ code: '428C9' });
  await books.close();
});
