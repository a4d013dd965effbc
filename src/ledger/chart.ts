// The chart of accounts: every account code, and whether the account has a stored balance (its row is locked when money
// moves) or a derived one, the sum of its postings (accounts of the platform, whose rows must not be contended).
import { publicId, type Uuid } from '../ids.ts';

/** The code of an account within a book: segments joined by colons. */
export type AccountCode = string;

/** Money of one customer: a liability, never below zero. */
export const walletAccount = (walletId: Uuid): AccountCode => `wallet:${publicId('wallet', walletId)}`;

/** Money that a rail holds for us or owes us. Debited when money arrives at the rail, credited when it leaves. */
export const clearingAccount = (rail: string): AccountCode => `clearing:${rail}`;

/** What a rail pays transfers from, where it is not what collects: settlements move money there. */
export const floatAccount = (rail: string): AccountCode => `float:${rail}`;

/** Money received for one payment that is not settled yet. */
export const paymentSuspenseAccount = (paymentId: Uuid): AccountCode =>
  `suspense:payment:${publicId('payment', paymentId)}`;

/** Received money that could not be allocated: each amount has an open review case. */
export const UNMATCHED: AccountCode = 'suspense:unmatched';

/** Money whose owner could not be found, moved here by an operator (move_to_unclaimed). It is still owed. */
export const UNCLAIMED: AccountCode = 'unclaimed:credits';

/** Outgoing money at a rail, by kind of transfer: held until the rail reports a final outcome. */
export const IN_TRANSIT_WITHDRAWALS: AccountCode = 'in_transit:withdrawals';
export const IN_TRANSIT_REFUNDS: AccountCode = 'in_transit:refunds';
export const IN_TRANSIT_PAYOUTS: AccountCode = 'in_transit:payouts';
export const IN_TRANSIT_RETURNS: AccountCode = 'in_transit:returns';

/** Money reserved by a payout to pay its items. */
export const payoutReserveAccount = (payoutId: Uuid): AccountCode => `reserve:payout:${publicId('payout', payoutId)}`;

/** Fees earned by the service. */
export const FEE_INCOME: AccountCode = 'income:fees';

/** Money that a bank owes outside of clearing, until it is paid or given up as a loss. */
export const BANK_RECEIVABLE: AccountCode = 'receivable:bank';

/** Interest that rails paid on the money that they hold. */
export const INTEREST_INCOME: AccountCode = 'income:interest';

/** What rails charged. */
export const RAIL_EXPENSE: AccountCode = 'expense:rail';

/** Money that a rail paid out to our own bank account. */
export const settlementAccount = (rail: string): AccountCode => `settlement:${rail}`;

/** What the owner of a wallet owes, because a recalled credit was more than the wallet had. */
export const walletReceivable = (walletId: Uuid): AccountCode => `receivable:${walletAccount(walletId)}`;

/** Money lost by errors, our own or a bank's, that cannot be recovered. */
export const OPERATING_LOSS: AccountCode = 'loss:operations';

/** `wallet`: opened with its wallet, stored balance. The others are opened by the first posting. */
export type AccountKind = 'wallet' | 'stored_balance' | 'derived_balance';

/** What the code of an account says about it, by its first segments; the first entry that fits counts. */
const KINDS: readonly { prefix: string; kind: AccountKind; mayBeNegative: boolean }[] = [
  { prefix: 'wallet:', kind: 'wallet', mayBeNegative: false },
  { prefix: 'clearing:', kind: 'derived_balance', mayBeNegative: true },
  { prefix: 'float:', kind: 'derived_balance', mayBeNegative: true },
  { prefix: 'in_transit:', kind: 'derived_balance', mayBeNegative: false },
  { prefix: 'reserve:', kind: 'stored_balance', mayBeNegative: false },
  { prefix: 'suspense:payment:', kind: 'stored_balance', mayBeNegative: false },
  { prefix: 'suspense:', kind: 'derived_balance', mayBeNegative: false },
  { prefix: 'unclaimed:', kind: 'derived_balance', mayBeNegative: false },
  // A fee may be given back after it was swept.
  { prefix: FEE_INCOME, kind: 'derived_balance', mayBeNegative: true },
  { prefix: 'income:', kind: 'derived_balance', mayBeNegative: false },
  { prefix: 'receivable:', kind: 'derived_balance', mayBeNegative: true },
];
/** Any other account, such as an expense. */
const OTHER = { kind: 'derived_balance', mayBeNegative: true } as const;

const entryOf = (code: AccountCode) => KINDS.find(({ prefix }) => code.startsWith(prefix)) ?? OTHER;

export const accountKind = (code: AccountCode): AccountKind => entryOf(code).kind;

/** Whether a negative balance is no violation: the rail owes a clearing account, an expense was paid. */
export const mayBeNegative = (code: AccountCode): boolean => entryOf(code).mayBeNegative;

/** The public id of the wallet of an account code; null for any other account. */
export function walletOf(code: AccountCode): string | null {
  return code.startsWith('wallet:') ? code.slice('wallet:'.length) : null;
}
