// The statement of a wallet: its side of each posting, in the order of its entries, with what the posting is, who was
// on the other side, and the caller's own words for it.
import type postgres from 'postgres';
import { rowOf, type Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { AccountCode } from '../../ledger/chart.ts';
import { componentOf, type PostingComponent } from '../../ledger/components.ts';
import { entryNumber, type Side } from '../../ledger/entries.ts';
import type { EntryKind } from '../../ledger/entryKinds.ts';
import type { Book, Kobo } from '../../money.ts';
import { directionOf, type ListFilters, type PageRequest } from '../pages.ts';
import type { Wallet } from './queries.ts';
import { type LineFacts, readLineFacts } from './statementFacts.ts';

/** Inlined: with LIMIT as a parameter, Postgres would plan each execution, longer than reading a page. */
export const literal = (sql: Sql, number: number) => sql.unsafe(String(Math.trunc(number)));

/**
 * SQL: the first postings on one side of an account in an order. BETWEEN instead of an equality is intended: it leaves
 * the planner only the index by account. With an equality it may scan the primary key backwards, which is slow for an
 * account with few postings among many.
 */
const firstPostings = (
  sql: Sql,
  book: Book,
  accountId: number,
  side: Side,
  condition: (number: postgres.Fragment) => postgres.Fragment,
  max: number,
  direction: postgres.Fragment,
) => sql`
  SELECT id AS posting_id, ${entryNumber(sql, side)} AS number, transaction_id, amount, ${side}::text AS direction,
         ${sql(`${side}_balance_after`)} AS balance_after,
         ${sql(`${side === 'debit' ? 'credit' : 'debit'}_account_id`)} AS other_account_id
  FROM ledger.postings
  WHERE organisation_id = ${book.organisationId} AND ${sql(`${side}_account_id`)} BETWEEN ${accountId} AND ${accountId}
    ${condition(entryNumber(sql, side))}
  ORDER BY ${sql(`${side}_account_id`)} ${direction}, ${entryNumber(sql, side)} ${direction} LIMIT ${literal(sql, max)}`;

/**
 * How far the time of a movement, which its resource shows, may be from the time at which it was posted, which orders
 * the entries of a wallet: a minute (ledger.post), and as long as a statement may wait for a lock.
 */
export const POSTED_WITHIN_MS = 120_000;
const POSTED_WITHIN = `${POSTED_WITHIN_MS} milliseconds`;

/** The last entry of a wallet that was posted up to a time, and the balance after it; zeros if there is none. */
const lastEntry = (sql: Sql, book: Book, accountId: number, at: postgres.Fragment) =>
  // A statement of its own: a function that reads tables stands alone in it.
  rowOf(sql<{ number: number; balance: Kobo }[]>`
    SELECT number, balance FROM ledger.last_posting(${book.organisationId}, ${accountId}, ${at})`);

/** The last entries of a wallet that were posted certainly before, and perhaps in, a period; not without its bound. */
export async function entriesAround(
  sql: Sql,
  book: Book,
  { accountId }: Pick<Wallet, 'accountId'>,
  { createdAtFrom: from, createdAtTo: to }: ListFilters,
) {
  const [before, last] = await Promise.all([
    from && lastEntry(sql, book, accountId, sql`${from}::timestamptz - ${POSTED_WITHIN}::interval`),
    // Not of a time to come, which would be waited for.
    to &&
      lastEntry(sql, book, accountId, sql`least(${to}::timestamptz + ${POSTED_WITHIN}::interval, clock_timestamp())`),
  ]);
  return { before, last };
}

/** SQL: when the money of a posting moved, as its resource and the statement show it. */
const movedAt = (sql: Sql, { organisationId }: Book) => sql`(
  SELECT t.moved_at FROM ledger.transactions t WHERE t.organisation_id = ${organisationId} AND t.id = transaction_id)`;

/** The balance of a wallet at a time: the sum of its entries whose movement was at or before it. */
export async function balanceAt(sql: Sql, book: Book, wallet: Wallet, at: Date): Promise<Kobo> {
  const { before, last } = await entriesAround(sql, book, wallet, { createdAtFrom: at, createdAtTo: at });
  const sumOf = (side: Side) => sql`(
    SELECT coalesce(sum(amount), 0)::bigint FROM ledger.postings
    WHERE organisation_id = ${book.organisationId}
      AND ${sql(`${side}_account_id`)} BETWEEN ${wallet.accountId} AND ${wallet.accountId}
      AND ${entryNumber(sql, side)} > ${before?.number ?? 0} AND ${entryNumber(sql, side)} <= ${last?.number ?? 0}
      AND ${movedAt(sql, book)} <= ${at})`;
  const [row] = await sql<{ change: Kobo }[]>`SELECT ${sumOf('credit')} - ${sumOf('debit')} AS change`;
  return (before?.balance ?? 0) + (row?.change ?? 0);
}

export interface StatementLine extends LineFacts {
  /** The number of the entry in the account of the wallet, which orders the statement. */
  number: number;
  /** The place of the posting in its transaction, from 1. */
  place: number;
  component: PostingComponent;
  transactionId: Uuid;
  kind: EntryKind;
  resource: string;
  direction: 'credit' | 'debit';
  amount: Kobo;
  balanceAfter: Kobo;
  effectiveAt: Date;
  createdAt: Date;
}

/** A page of a wallet's statement, plus one line when another page exists. */
export async function listStatement(
  sql: Sql,
  book: Book,
  wallet: Wallet,
  filters: ListFilters,
  page: PageRequest,
): Promise<StatementLine[]> {
  // A statement of its own: it may wait for a posting that is not in the snapshot of this statement.
  const { before, last } = await entriesAround(sql, book, wallet, filters);
  const { createdAtFrom, createdAtTo } = filters;
  const [direction, isAfter] = directionOf(sql, page);
  const condition = (number: postgres.Fragment) => sql`
    ${page.after ? sql`AND ${number} ${isAfter} ${Number(page.after.id)}` : sql``}
    ${before ? sql`AND ${number} > ${before.number}` : sql``} ${last ? sql`AND ${number} <= ${last.number}` : sql``}
    ${createdAtFrom ? sql`AND ${movedAt(sql, book)} >= ${createdAtFrom}` : sql``}
    ${createdAtTo ? sql`AND ${movedAt(sql, book)} < ${createdAtTo}` : sql``}`;
  const of = (side: Side) => firstPostings(sql, book, wallet.accountId, side, condition, page.limit + 1, direction);
  // LIMIT before the joins: otherwise the transactions of both sides are looked up and half of them discarded. Each
  // transaction's postings are numbered once: a page may have a thousand lines of one payout. Materialised, because a
  // generic plan expects few lines, and would number the postings again for each.
  const lines = await sql<LineRow[]>`
    WITH lines AS MATERIALIZED (
      SELECT * FROM ((${of('credit')}) UNION ALL (${of('debit')})) sides
      ORDER BY number ${direction} LIMIT ${literal(sql, page.limit + 1)}
    ), places AS MATERIALIZED (
      SELECT numbered.* FROM (SELECT DISTINCT transaction_id FROM lines) d
      CROSS JOIN LATERAL (
        SELECT q.transaction_id, q.id, (row_number() OVER (ORDER BY q.id))::int AS place, (count(*) OVER ())::int AS count
        FROM ledger.postings q
        WHERE q.organisation_id = ${book.organisationId} AND q.transaction_id = d.transaction_id
      ) numbered
    )
    SELECT p.*, t.kind, t.resource, t.effective_at, t.moved_at AS created_at, o.code AS other_account, n.place, n.count
    FROM lines p
    JOIN ledger.transactions t ON t.organisation_id = ${book.organisationId} AND t.id = p.transaction_id
    JOIN ledger.accounts o ON o.organisation_id = ${book.organisationId} AND o.id = p.other_account_id
    JOIN places n ON n.transaction_id = p.transaction_id AND n.id = p.posting_id
    ORDER BY p.number ${direction}`;
  const entries = lines.map((line) => {
    const [debit, credit] =
      line.direction === 'debit' ? [wallet.id, line.otherAccount] : [line.otherAccount, wallet.id];
    return { ...line, component: componentOf({ ...line, debit, credit }) };
  });
  return await readLineFacts(sql, book, wallet.id, entries);
}

type LineRow = Omit<StatementLine, keyof LineFacts | 'component'> & { otherAccount: AccountCode; count: number };
