// The chart of accounts: every code that money can stand under, and whether its balance is kept row by row (and so
// locked when money moves) or is the sum of its postings (shared platform accounts, on which nothing may queue).
import { publicId, type Uuid } from '../ids.ts';

/** An account's code within a book, segments joined by colons. */
export type AccountCode = string;

/** What belongs to one customer: a liability, never below zero. */
export const walletAccount = (walletId: Uuid): AccountCode => `wallet:${publicId('wallet', walletId)}`;

/** What a rail holds for us or owes us. Debited when money arrives at the rail, credited when it leaves. */
export const clearingAccount = (rail: string): AccountCode => `clearing:${rail}`;

/** Money received for one payment that is not settled yet. */
export const paymentSuspenseAccount = (paymentId: Uuid): AccountCode =>
  `suspense:payment:${publicId('payment', paymentId)}`;

/** Money that arrived and could not be placed: each amount has an open review case. */
export const UNMATCHED: AccountCode = 'suspense:unmatched';

/** Money that nobody could be found for, and that an operator decided to keep. It is still owed. */
export const UNCLAIMED: AccountCode = 'unclaimed:credits';

/** Money on its way out through a rail, by what sent it: held until the rail's word is final. */
export const IN_TRANSIT_WITHDRAWALS: AccountCode = 'in_transit:withdrawals';
export const IN_TRANSIT_REFUNDS: AccountCode = 'in_transit:refunds';
export const IN_TRANSIT_PAYOUTS: AccountCode = 'in_transit:payouts';
export const IN_TRANSIT_RETURNS: AccountCode = 'in_transit:returns';

/** What a payout was given to pay its items with. */
export const payoutReserveAccount = (payoutId: Uuid): AccountCode => `reserve:payout:${publicId('payout', payoutId)}`;

/** What the service earned. */
export const FEE_INCOME: AccountCode = 'income:fees';

/** `wallet`: opened with its wallet. `kept`: opened by its first posting, balance kept. `shared`: balance not kept. */
export type AccountKind = 'wallet' | 'stored_balance' | 'derived_balance';

export function accountKind(code: AccountCode): AccountKind {
  if (code.startsWith('wallet:')) return 'wallet';
  if (code.startsWith('suspense:payment:') || code.startsWith('reserve:')) return 'stored_balance';
  return 'derived_balance';
}

/** The wallet behind an account code, as a public id; null for any other account. */
export function walletOf(code: AccountCode): string | null {
  return code.startsWith('wallet:') ? code.slice('wallet:'.length) : null;
}
