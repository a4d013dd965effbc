// The chart of accounts: the account codes, and which balances are stored.
import { expect, test } from '@jest/globals';
import { newUuid, publicId } from '../../src/ids.ts';
import {
  accountKind,
  BANK_RECEIVABLE,
  clearingAccount,
  FEE_INCOME,
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
} from '../../src/ledger/chart.ts';
import { openBooks } from './books.ts';

const id = newUuid();

const ACCOUNTS = [
  // code, kind of balance
  [walletAccount(id), 'wallet'],
  [paymentSuspenseAccount(id), 'stored_balance'],
  [payoutReserveAccount(id), 'stored_balance'],
  [clearingAccount('sandbox'), 'derived_balance'],
  [IN_TRANSIT_WITHDRAWALS, 'derived_balance'],
  [IN_TRANSIT_REFUNDS, 'derived_balance'],
  [IN_TRANSIT_PAYOUTS, 'derived_balance'],
  [IN_TRANSIT_RETURNS, 'derived_balance'],
  [UNCLAIMED, 'derived_balance'],
  [UNMATCHED, 'derived_balance'],
  [FEE_INCOME, 'derived_balance'],
  [RAIL_EXPENSE, 'derived_balance'],
  [settlementAccount('sandbox'), 'derived_balance'],
  [INTEREST_INCOME, 'derived_balance'],
  [OPERATING_LOSS, 'derived_balance'],
  [BANK_RECEIVABLE, 'derived_balance'],
] as const;

test.each(ACCOUNTS)('the account %s is of the kind %s', (code, kind) => {
  expect(accountKind(code)).toBe(kind);
});

test('only what rails and banks owe, fee income, an expense, a loss or a settlement may be negative', () => {
  expect(ACCOUNTS.map(([code]) => code).filter(mayBeNegative)).toEqual([
    clearingAccount('sandbox'),
    FEE_INCOME,
    RAIL_EXPENSE,
    settlementAccount('sandbox'),
    OPERATING_LOSS,
    BANK_RECEIVABLE,
  ]);
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
