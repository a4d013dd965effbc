// Compares the balance that a rail reports now with what the books expect there. What is on its way explains a part: a
// transfer may have left the bank before it is posted, and a credit may have come that is not posted yet. Anything
// beyond that is a break, of the size of the difference, since it was first found.
import type { Sql } from '../database/pool.ts';
import {
  type AccountCode,
  clearingAccount,
  IN_TRANSIT_PAYOUTS,
  IN_TRANSIT_REFUNDS,
  IN_TRANSIT_RETURNS,
  IN_TRANSIT_WITHDRAWALS,
} from '../ledger/chart.ts';
import type { Journal } from '../ledger/journal.ts';
import { type Kobo, sumOf } from '../money.ts';
import { DAY_MS } from '../times.ts';
import { clearStored, findAgain } from './cleared.ts';
import { findPostings, listClearingLines } from './clearing.ts';
import { type BankLine, type BookAtRail, COMMITTED_AFTER_MS, type StatementPeriod } from './lines.ts';
import { linesMissingIn } from './match.ts';
import { openBreak } from './movements.ts';
import { findBalanceBreak } from './queries.ts';

const IN_TRANSIT = [IN_TRANSIT_WITHDRAWALS, IN_TRANSIT_REFUNDS, IN_TRANSIT_PAYOUTS, IN_TRANSIT_RETURNS];

/** What was listed within this time may be in the balance, and not be posted yet. */
const RECENT_MS = 2 * 3_600_000;
/** Or, if lines of that time are not posted yet, within this time. */
const UNPOSTED_MS = DAY_MS;
/** What is posted now is dated up to so far ahead, after a clock that was ahead has gone back. */
const DATED_AHEAD_MS = 366 * DAY_MS;

/** An account of the books whose balance a bank reports. */
export interface ReportedAccount {
  account: AccountCode;
  /** Null: the bank does not report it; it is never negative. */
  read: (() => Promise<Kobo | null>) | null;
  /** What a line of the statement adds to it. */
  changeBy: (line: BankLine) => Kobo;
}

type Readers = BookAtRail & { readStatement: (period: StatementPeriod) => Promise<{ lines: readonly BankLine[] }> };

/**
 * Compares one account. `postedTo`: every older line is posted. Returns the number of breaks: found, and new.
 */
export async function compareBalance(
  { sql, journal }: { sql: Sql; journal: Journal },
  bank: Readers,
  { account, read, changeBy }: ReportedAccount,
  now: number,
  postedTo = new Date(now),
): Promise<{ breaks: number; opened: number }> {
  const young = { from: new Date(now - COMMITTED_AFTER_MS), to: new Date(now + DATED_AHEAD_MS) };
  const known = await listClearingLines(sql, bank, young);
  const before = await readBooks(sql, bank, account);
  const balance = read === null ? null : await read();
  if (read !== null && balance === null) return { breaks: 0, opened: 0 };
  // What came after the balance was read is on the statement, and what is on the statement may be posted by now.
  const since = Math.min(now - RECENT_MS, Math.max(now - UNPOSTED_MS, postedTo.getTime()));
  const period = { from: new Date(since), to: new Date(now + RECENT_MS) };
  const { lines } = await bank.readStatement(period);
  const postings = await findPostings(sql, bank, lines);
  const after = await readBooks(sql, bank, account);
  // Each line that was posted meanwhile may have been in the balance or not, whatever the others were: opposite ones
  // cancel out in the books before and after.
  const posted = linesMissingIn(await listClearingLines(sql, bank, young), known);
  const unsure = [...linesMissingIn(lines, [...postings, ...posted]), ...posted].map(changeBy);
  const withoutPosted = after.held - sumOf(posted.map(changeBy));
  const most = Math.max(before.held, withoutPosted) + sumOf(unsure.filter((amount) => amount > 0));
  const inTransit = Math.max(before.inTransit, after.inTransit) - sumOf(unsure.filter((amount) => amount < 0));
  const least = Math.min(before.held, withoutPosted) - inTransit;
  // Zero: the books explain the balance. One that the bank does not report is nothing at least.
  const difference = balance === null ? Math.max(0, -most) : balance - Math.min(Math.max(balance, least), most);
  return await updateBalanceBreak(
    { sql, journal },
    bank,
    account,
    { difference, ledgerAmount: after.held, balance },
    now,
  );
}

/**
 * Compares the closing balance of a statement with the books: with the postings before `committed`, and what was in
 * flight then.
 */
export async function compareClosing(
  { sql, journal }: { sql: Sql; journal: Journal },
  bank: BookAtRail,
  closing: { balance: Kobo; committed: Date; inFlight: Kobo },
  now: number,
): Promise<{ breaks: number; opened: number }> {
  const account = clearingAccount(bank.rail);
  const { held } = await readBooks(sql, bank, account, closing.committed);
  const expected = { ledgerAmount: held - closing.inFlight, balance: closing.balance };
  const difference = closing.balance - expected.ledgerAmount;
  return await updateBalanceBreak({ sql, journal }, bank, account, { difference, ...expected }, now);
}

/** The money of an account at the rail by the books, and what may have left the rail and is still in transit here. */
async function readBooks(sql: Sql, { book }: BookAtRail, account: AccountCode, before?: Date) {
  const moment = before === undefined ? sql`'infinity'` : sql`${before}`;
  const rows = await sql<{ account: AccountCode; balance: Kobo }[]>`
    SELECT account, balance
    FROM ledger.balances_before(${book.organisationId}, ${book.environment}, ${moment},
                                ${[account, ...IN_TRANSIT]}::text[])`;
  const balances = new Map(rows.map((row) => [row.account, row.balance]));
  const inTransit = IN_TRANSIT.reduce((sum, code) => sum + (balances.get(code) ?? 0), 0);
  return { held: -(balances.get(account) ?? 0), inTransit };
}

async function updateBalanceBreak(
  { sql, journal }: { sql: Sql; journal: Journal },
  bank: BookAtRail,
  account: AccountCode,
  { difference, ledgerAmount, balance }: { difference: Kobo; ledgerAmount: Kobo; balance: Kobo | null },
  now: number,
): Promise<{ breaks: number; opened: number }> {
  const { book, rail } = bank;
  const stored = await findBalanceBreak(sql, bank, account);
  const amounts = { ledgerAmount, statementAmount: balance };
  if (difference === 0) {
    if (stored !== null) await clearStored({ sql, journal }, book, stored, new Date(now));
    return { breaks: 0, opened: 0 };
  }
  if (stored !== null) {
    const isSame = stored.ledgerAmount === ledgerAmount && stored.statementAmount === balance;
    if (!isSame || stored.clearedAt !== null) await findAgain({ sql, journal }, book, stored, amounts);
    return { breaks: 1, opened: 0 };
  }
  const line = difference > 0 && balance !== null ? 'other_in' : 'other_out';
  const found = { kind: 'balance', line, reference: account, at: new Date(now), occurrence: 1, ...amounts } as const;
  const { outcome } = await journal.post(openBreak(book, rail, found));
  return { breaks: 1, opened: outcome === 'posted' ? 1 : 0 };
}
