// Reports of a book for accountants: the balances of all accounts at a time, the entries of one account in a period,
// and what was earned on each day. All start from closing balances, so their cost does not depend on the date.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book, Kobo } from '../money.ts';
import { type Day, dayAfter, dayStart } from '../times.ts';
import { type AccountCode, TAX_EXPENSE, walletOf } from './chart.ts';

export interface AccountBalance {
  account: AccountCode;
  /** Credits less debits. */
  balance: Kobo;
}

/** The balances of a book before a time; accounts with a balance of zero are left out. */
export async function trialBalance(sql: Sql, book: Book, before: Date): Promise<AccountBalance[]> {
  const balances = await sql<AccountBalance[]>`
    SELECT account, balance FROM ledger.balances_before(${book.organisationId}, ${book.environment}, ${before})
    ORDER BY account COLLATE "C"`;
  return balances.filter(({ balance }) => balance !== 0);
}

/** One side of a posting, from the account that it debits or credits. */
export interface Entry {
  /** Its number in the account, which orders the entries. */
  number: number;
  transactionId: Uuid;
  kind: string;
  resource: string;
  /** The account on the other side. */
  contra: AccountCode;
  debit: Kobo;
  credit: Kobo;
  /** After this entry. */
  balance: Kobo;
  createdAt: Date;
  effectiveAt: Date;
  /** The month in which it happened, if it was booked in a later one. */
  belongsTo: string | null;
}

/**
 * The entries of an account in a period, `from` inclusive and `to` exclusive; null when there is no such account.
 * `amountOwed`: what a wallet owes now; null: it is another account.
 */
export async function reportAccount(sql: Sql, book: Book, code: AccountCode, { from, to }: { from: Date; to: Date }) {
  const { organisationId, environment } = book;
  // The numbers limit what is read; the times decide.
  const [account] = await sql<{ id: number; opening: Kobo; after: string; until: string; owed: Kobo }[]>`
    SELECT o.account_id AS id, o.balance AS opening, o.after::text, c.until::text, a.owed
    FROM ledger.balances_before(${organisationId}, ${environment}, ${from}, ${[code]}::text[]) o
    CROSS JOIN ledger.balances_before(${organisationId}, ${environment}, ${to}, ${[code]}::text[]) c
    JOIN ledger.accounts a ON a.organisation_id = ${organisationId} AND a.id = o.account_id`;
  if (account === undefined) return null;
  const { opening } = account;
  const amountOwed = walletOf(code) === null ? null : account.owed;
  const entries = await sql<Entry[]>`
    SELECT number, transaction_id, kind, resource, contra, debit, credit, created_at, effective_at, belongs_to,
           (${opening} + sum(credit - debit) OVER (ORDER BY number, transaction_id))::bigint AS balance
    FROM ledger.entries
    WHERE organisation_id = ${organisationId} AND account_id = ${account.id} AND created_at >= ${from} AND created_at < ${to}
      AND number > ${account.after}::text::bigint AND number <= ${account.until}::text::bigint
    ORDER BY number, transaction_id`;
  return { amountOwed, opening, entries: [...entries], closing: entries.at(-1)?.balance ?? opening };
}

export const NO_INCOME = { income: 0, railCosts: 0, losses: 0, tax: 0, net: 0 };

/** What was earned and what it cost. `net`: the first less the others. */
export type Income = Record<keyof typeof NO_INCOME, Kobo>;

export const addIncome = (one: Income, other: Income, times = 1): Income => ({
  income: one.income + times * other.income,
  railCosts: one.railCosts + times * other.railCosts,
  losses: one.losses + times * other.losses,
  tax: one.tax + times * other.tax,
  net: one.net + times * other.net,
});

/** The sums of the accounts `income:`, `expense:` and `loss:`, which no sweep changes. */
export function incomeOf(balances: readonly AccountBalance[]): Income {
  const sumOf = (prefix: string): Kobo =>
    balances.reduce((sum, { account, balance }) => (account.startsWith(prefix) ? sum + balance : sum), 0);
  const [income, costs, losses, tax] = [sumOf('income:'), -sumOf('expense:'), -sumOf('loss:'), -sumOf(TAX_EXPENSE)];
  return { income, railCosts: costs - tax, losses, tax, net: income - costs - losses };
}

/** What was earned on each day of a period, both ends inclusive. */
export async function reportIncome(
  sql: Sql,
  { organisationId, environment }: Book,
  { from, to }: { from: Day; to: Day },
): Promise<(Income & { day: Day })[]> {
  const earnedBefore = async (before: Date): Promise<Income> =>
    incomeOf(
      await sql<AccountBalance[]>`
        SELECT account, balance FROM ledger.balances_before(${organisationId}, ${environment}, ${before}, NULL, true)`,
    );
  const days: (Income & { day: Day })[] = [];
  let before = await earnedBefore(dayStart(from));
  for (let day = from; day <= to; day = dayAfter(day)) {
    const after = await earnedBefore(dayStart(dayAfter(day)));
    days.push({ day, ...addIncome(after, before, -1) });
    before = after;
  }
  return days;
}
