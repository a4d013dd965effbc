// The chart of accounts: which codes there are, and whose balance is kept row by row.
import { expect, test } from '@jest/globals';
import { newUuid, publicId } from '../../src/ids.ts';
import {
  accountKind,
  clearingAccount,
  FEE_INCOME,
  IN_TRANSIT_PAYOUTS,
  IN_TRANSIT_REFUNDS,
  IN_TRANSIT_RETURNS,
  IN_TRANSIT_WITHDRAWALS,
  paymentSuspenseAccount,
  payoutReserveAccount,
  UNCLAIMED,
  UNMATCHED,
  walletAccount,
  walletOf,
} from '../../src/ledger/chart.ts';

const id = newUuid();

const ACCOUNTS = [
  // code, how its balance is known
  [walletAccount(id), 'wallet'],
  [paymentSuspenseAccount(id), 'kept'],
  [payoutReserveAccount(id), 'kept'],
  [clearingAccount('sandbox'), 'shared'],
  [IN_TRANSIT_WITHDRAWALS, 'shared'],
  [IN_TRANSIT_REFUNDS, 'shared'],
  [IN_TRANSIT_PAYOUTS, 'shared'],
  [IN_TRANSIT_RETURNS, 'shared'],
  [UNCLAIMED, 'shared'],
  [UNMATCHED, 'shared'],
  [FEE_INCOME, 'shared'],
  ['expense:rail', 'shared'],
] as const;

test.each(ACCOUNTS)('%s is a %s account', (code, kind) => {
  expect(accountKind(code)).toBe(kind);
});

test('every code has the form that the database demands', () => {
  for (const [code] of ACCOUNTS) expect(code).toMatch(/^[a-z_]+(:[a-z0-9_]+)+$/);
});

test('a wallet account leads back to its wallet, any other to none', () => {
  expect(walletOf(walletAccount(id))).toBe(publicId('wallet', id));
  expect(walletOf(paymentSuspenseAccount(id))).toBeNull();
  expect(walletOf(FEE_INCOME)).toBeNull();
});
