// The chart of accounts: every account code, whose money the account has, and whether it has a stored balance (its row
// is locked when money moves) or a derived one, the sum of its postings (accounts of the platform, whose rows must not
// be contended).
import { publicId, type Uuid } from '../ids.ts';

/** The code of an account within a book: segments joined by colons. */
export type AccountCode = string;

/** Money of one customer: a liability, never below zero. */
export const walletAccount = (walletId: Uuid): AccountCode => `wallet:${publicId('wallet', walletId)}`;

/** Money beside a wallet, which it can spend once it is released. */
export const heldAccount = (walletId: Uuid): AccountCode => `held:${walletAccount(walletId)}`;

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

/** Interest that rails paid on the money that they hold: own, or of customers, until adjustments give it to them. */
export const INTEREST_OF_CUSTOMERS: AccountCode = 'unclaimed:interest';
export const INTEREST_INCOME: AccountCode = 'income:interest';

/** What rails charged. */
export const RAIL_EXPENSE: AccountCode = 'expense:rail';

/** Money that a rail paid out to our own bank account. */
export const settlementAccount = (rail: string): AccountCode => `settlement:${rail}`;

/** What the owner of a wallet owes, because a recalled credit was more than the wallet had. */
export const receivableOf = (wallet: AccountCode): AccountCode => `receivable:${wallet}`;
export const walletReceivable = (walletId: Uuid): AccountCode => receivableOf(walletAccount(walletId));

/** The account of the wallet whose owner owes a receivable; null for any other account. */
export const debtorOf = (code: AccountCode): AccountCode | null =>
  code.startsWith('receivable:wallet:') ? code.slice('receivable:'.length) : null;

/** Money lost by errors, our own or a bank's, that cannot be recovered. */
export const OPERATING_LOSS: AccountCode = 'loss:operations';

/** Taxes that the organisation bears. */
export const TAX_EXPENSE: AccountCode = 'expense:tax';

/** Money of its own that the organisation paid in. */
export const OWN_FUNDS: AccountCode = 'own:funds';

/** What wallets owe, or have repaid, for refunds of own money in their place; a sweep takes what is repaid. */
export const FUNDED_REFUNDS: AccountCode = 'own:funded_refunds';

/** What the owners took out of own funds, such as a sweep of fees: never a debit of income. */
export const DRAWINGS: AccountCode = 'own:drawings';

/** `wallet`: opened with its wallet, stored balance. The others are opened by the first posting. */
export type AccountKind = 'wallet' | 'stored_balance' | 'derived_balance';

/**
 * Whose money an account has, by its code (`ledger.class_of`); that of a settlement wallet is `own`. `bank`: what rails
 * and our own bank accounts hold. `customer`: what is owed to customers, on its way too. `own`: the organisation's.
 * `statutory`: taxes that are collected for others. `receivable`: what is owed to the organisation, at no bank yet.
 */
export type AccountClass = 'bank' | 'customer' | 'own' | 'statutory' | 'receivable';

interface Entry {
  prefix: string;
  kind: AccountKind;
  mayBeNegative: boolean;
}

const derived = (prefix: string, mayBeNegative: boolean): Entry => ({ prefix, kind: 'derived_balance', mayBeNegative });
const stored = (prefix: string): Entry => ({ prefix, kind: 'stored_balance', mayBeNegative: false });

/** What the code of an account says about it, by its first segments; the first entry that fits counts. */
export const CHART: readonly Entry[] = [
  { ...stored('wallet:'), kind: 'wallet' },
  stored('held:'),
  stored('reserve:'),
  stored('suspense:payment:'),
  derived('suspense:', false),
  derived('in_transit:', false),
  derived('unclaimed:', false),
  derived('clearing:', true),
  derived('float:', true),
  derived('settlement:', true),
  // A fee may be given back in a later period.
  derived(FEE_INCOME, true),
  derived('income:', false),
  derived('expense:', true),
  derived('loss:', true),
  derived('own:', true),
  // What a tax authority owes is a receivable.
  derived('liability:', false),
  derived('receivable:', true),
];
/** Any other account: what it has is owed. */
const OTHER = derived('', true);

const entryOf = (code: AccountCode): Entry => CHART.find(({ prefix }) => code.startsWith(prefix)) ?? OTHER;

export const accountKind = (code: AccountCode): AccountKind => entryOf(code).kind;

/** Whether a negative balance is no violation: the rail owes a clearing account, an expense was paid. */
export const mayBeNegative = (code: AccountCode): boolean => entryOf(code).mayBeNegative;

/** The public id of the wallet of an account code, or of that beside it; null for any other account. */
export const walletOf = (code: AccountCode): string | null => /^(?:held:)?wallet:(.+)$/.exec(code)?.[1] ?? null;
