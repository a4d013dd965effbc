// The statement of a wallet: its side of each posting, newest first, with what the posting is, who was on the other
// side, and the caller's own words for it.
import type postgres from 'postgres';
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { AccountCode } from '../../ledger/chart.ts';
import { componentOf, type PostingComponent } from '../../ledger/components.ts';
import { entryNumber, type Side } from '../../ledger/entries.ts';
import type { Book, Kobo } from '../../money.ts';
import type { ListFilters, PageRequest } from '../pages.ts';
import type { Wallet } from './queries.ts';
import { type LineFacts, readLineFacts } from './statementFacts.ts';

/** Inlined: with LIMIT as a parameter, Postgres would plan each execution, longer than reading a page. */
export const literal = (sql: Sql, number: number) => sql.unsafe(String(Math.trunc(number)));

/**
 * SQL: the postings on one side of an account, newest first. BETWEEN instead of an equality is intended: it leaves the
 * planner only the index by account. With an equality it may scan the primary key backwards, which is slow for an
 * account with few postings among many.
 */
const newestPostings = (
  sql: Sql,
  book: Book,
  accountId: number,
  side: Side,
  condition: (number: postgres.Fragment) => postgres.Fragment,
  max: number,
) => sql`
  SELECT id AS posting_id, ${entryNumber(sql, side)} AS number, transaction_id, amount, created_at, ${side}::text AS direction,
         ${sql(`${side}_balance_after`)} AS balance_after,
         ${sql(`${side === 'debit' ? 'credit' : 'debit'}_account_id`)} AS other_account_id
  FROM ledger.postings
  WHERE organisation_id = ${book.organisationId} AND ${sql(`${side}_account_id`)} BETWEEN ${accountId} AND ${accountId}
    ${condition(entryNumber(sql, side))}
  ORDER BY ${sql(`${side}_account_id`)} DESC, ${entryNumber(sql, side)} DESC LIMIT ${literal(sql, max)}`;

/** The balance of a wallet at a time: the balance after its last entry up to then. */
export async function balanceAt(sql: Sql, book: Book, wallet: Wallet, at: Date): Promise<Kobo> {
  const [row] = await sql<{ balance: Kobo }[]>`
    SELECT balance FROM ledger.last_posting(${book.organisationId}, ${wallet.accountId}, ${at})`;
  if (row === undefined) throw new Error('ledger.last_posting returned no row');
  return row.balance;
}

/** The last entry of a wallet before a period and the last one in it, by number; null where the period has no bound. */
interface EntryRange {
  before: number | null;
  last: number | null;
}

export async function entriesOf(
  sql: Sql,
  book: Book,
  wallet: Pick<Wallet, 'accountId'>,
  { createdAtFrom, createdAtTo }: ListFilters,
): Promise<EntryRange> {
  // A statement for each bound: a function that reads tables stands alone in it.
  const lastBefore = async (at: Date): Promise<number> => {
    const [row] = await sql<{ number: number }[]>`
      SELECT number FROM ledger.last_posting(
        ${book.organisationId}, ${wallet.accountId}, ${at}::timestamptz - interval '1 ms')`;
    if (row === undefined) throw new Error('ledger.last_posting returned no row');
    return row.number;
  };
  const [before, last] = await Promise.all([
    createdAtFrom === undefined ? null : lastBefore(createdAtFrom),
    createdAtTo === undefined ? null : lastBefore(createdAtTo),
  ]);
  return { before, last };
}

export interface StatementLine extends LineFacts {
  /** The number of the entry in the account of the wallet, which orders the statement. */
  number: number;
  /** The place of the posting in its transaction, from 1. */
  place: number;
  component: PostingComponent;
  transactionId: Uuid;
  kind: string;
  resource: string;
  direction: 'credit' | 'debit';
  amount: Kobo;
  balanceAfter: Kobo;
  effectiveAt: Date;
  createdAt: Date;
}

/** A page of a wallet's statement, newest first, plus one line when another page exists. */
export async function listStatement(
  sql: Sql,
  book: Book,
  wallet: Wallet,
  filters: ListFilters,
  page: PageRequest,
): Promise<StatementLine[]> {
  // A statement of its own: it may wait for a posting that is not in the snapshot of this statement.
  const { before, last } = await entriesOf(sql, book, wallet, filters);
  const condition = (number: postgres.Fragment) => sql`
    ${page.after ? sql`AND ${number} < ${Number(page.after.id)}` : sql``}
    ${before === null ? sql`` : sql`AND ${number} > ${before}`} ${last === null ? sql`` : sql`AND ${number} <= ${last}`}`;
  const side = (direction: Side) => newestPostings(sql, book, wallet.accountId, direction, condition, page.limit + 1);
  // LIMIT before the joins: otherwise the transactions of both sides are looked up and half of them discarded. Each
  // transaction's postings are numbered once: a page may have a thousand lines of one payout.
  const lines = await sql<LineRow[]>`
    WITH lines AS MATERIALIZED (
      SELECT * FROM ((${side('credit')}) UNION ALL (${side('debit')})) sides
      ORDER BY number DESC LIMIT ${literal(sql, page.limit + 1)}
    )
    SELECT p.*, t.kind, t.resource, t.effective_at, o.code AS other_account, n.place, n.count
    FROM lines p
    JOIN ledger.transactions t ON t.organisation_id = ${book.organisationId} AND t.id = p.transaction_id
    JOIN ledger.accounts o ON o.organisation_id = ${book.organisationId} AND o.id = p.other_account_id
    JOIN (
      SELECT numbered.* FROM (SELECT DISTINCT transaction_id FROM lines) d
      CROSS JOIN LATERAL (
        SELECT q.transaction_id, q.id, (row_number() OVER (ORDER BY q.id))::int AS place, (count(*) OVER ())::int AS count
        FROM ledger.postings q
        WHERE q.organisation_id = ${book.organisationId} AND q.transaction_id = d.transaction_id
      ) numbered
    ) n ON n.transaction_id = p.transaction_id AND n.id = p.posting_id
    ORDER BY p.number DESC`;
  const entries = lines.map((line) => {
    const [debit, credit] =
      line.direction === 'debit' ? [wallet.id, line.otherAccount] : [line.otherAccount, wallet.id];
    return { ...line, component: componentOf({ ...line, debit, credit }) };
  });
  return await readLineFacts(sql, book, wallet.id, entries);
}

type LineRow = Omit<StatementLine, keyof LineFacts | 'component'> & { otherAccount: AccountCode; count: number };
