// The ledger's side of a statement: what is posted on a rail's accounts, by time and by reference, and whether
// the resources behind a statement's lines may still post.
import { inBatches } from '../concurrency/batches.ts';
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import { entryNumber, type Side } from '../ledger/entries.ts';
import type { Kobo } from '../money.ts';
import { railAccounts } from '../resources/rails/accounts.ts';
import { caseOfReference, transferOf } from '../resources/tables.ts';
import {
  type BankLine,
  type BookAtRail,
  counterpartOf,
  keysOfLine,
  type LineName,
  lineOfKey,
  nameOf,
  type StatementPeriod,
} from './lines.ts';
import type { ResourceState } from './match.ts';

/**
 * The accounts of a rail have derived balances, so an entry has the id of its posting for a number: the microsecond at
 * which it was posted, counted on within a statement, which is far less than a minute.
 */
const numberAt = (time: Date): number => time.getTime() * 1_000;
const MARGIN = 60_000_000;

const KEYS_PER_QUERY = 5_000;

/** A line as the ledger posted it. `at` is when it was posted. */
export interface PostedLine extends BankLine {
  /** When it happened; the bank's own time for a credit and for what was posted from a statement. */
  effectiveAt: Date;
}

/**
 * A posting on a clearing account, by the business key of its transaction. `amount` adds to the balance at the rail.
 */
interface ClearingPosting {
  key: string;
  amount: Kobo;
  at: Date;
  effectiveAt: Date;
}

const toLines = (rail: string, postings: readonly ClearingPosting[]): PostedLine[] =>
  postings.flatMap(({ key, amount, at, effectiveAt }) => {
    const name = lineOfKey(rail, key);
    return name === null ? [] : [{ ...name, amount: Math.abs(amount), at, effectiveAt }];
  });

/** What the ledger posted through a rail in a period, as lines. Reads the postings of the period only. */
export async function listClearingLines(
  sql: Sql,
  { book, rail }: BookAtRail,
  { from, to }: StatementPeriod,
): Promise<PostedLine[]> {
  // OFFSET 0: the postings are read by the index of their numbers, whatever the planner believes about the tables.
  const entries = (side: Side) => sql`
    SELECT transaction_id, ${side === 'debit' ? sql`amount` : sql`-amount`} AS amount, created_at FROM ledger.postings
    WHERE organisation_id = ${book.organisationId} AND ${sql(`${side}_account_id`)} = a.id
      AND ${entryNumber(sql, side)} BETWEEN ${numberAt(from) - MARGIN} AND ${numberAt(to) + MARGIN}
      AND created_at >= ${from} AND created_at < ${to}
    OFFSET 0`;
  const postings = await sql<ClearingPosting[]>`
    SELECT t.key, sum(e.amount)::bigint AS amount, max(e.created_at) AS at, t.effective_at
    FROM ledger.accounts a
    CROSS JOIN LATERAL ((${entries('debit')}) UNION ALL (${entries('credit')})) e
    CROSS JOIN LATERAL (
      SELECT id, key, effective_at FROM ledger.transactions
      WHERE organisation_id = ${book.organisationId} AND id = e.transaction_id OFFSET 0
    ) t
    WHERE a.organisation_id = ${book.organisationId} AND a.environment = ${book.environment}
      AND a.code = ANY (${railAccounts(rail)})
    GROUP BY t.id, t.key, t.effective_at HAVING sum(e.amount) <> 0`;
  return toLines(rail, postings);
}

/**
 * What the ledger posted under the references of these lines, at any time: a late posting is found as well as an early
 * one. For a transfer both of its lines are looked up, so that a late return meets its old transfer.
 */
export async function findPostings(
  sql: Sql,
  { book, rail }: BookAtRail,
  lines: readonly LineName[],
): Promise<PostedLine[]> {
  const names = lines.flatMap((line) => [line, counterpartOf(line)]).filter((line) => line !== null);
  const caseIds = names.flatMap(({ reference }) => caseOfReference(reference) ?? []);
  const versions = new Map<Uuid, number>();
  if (caseIds.length > 0) {
    const rows = await sql<{ id: Uuid; version: number }[]>`
      SELECT id, version FROM review_cases
      WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
        AND id = ANY (${caseIds}::uuid[])`;
    for (const { id, version } of rows) versions.set(id, version);
  }
  const keys = new Set(
    names.flatMap((name) => keysOfLine(rail, name, versions.get(caseOfReference(name.reference) ?? ''))),
  );
  const postings: ClearingPosting[] = [];
  for await (const page of inBatches(keys, KEYS_PER_QUERY)) {
    // OFFSET 0: one index look-up per key, whatever the planner believes about the tables.
    const found = await sql<ClearingPosting[]>`
      SELECT t.key, max(p.created_at) AS at, t.effective_at,
             -- What was settled is debited to one account of the rail and credited to the other: the sum is zero.
             CASE WHEN t.key LIKE 'settled/%' THEN max(p.amount)
                  ELSE sum(CASE WHEN p.debit_account_id = a.id THEN p.amount ELSE -p.amount END) END::bigint AS amount
      FROM unnest(${page}::text[]) AS k (key)
      CROSS JOIN LATERAL (
        SELECT id, key, effective_at FROM ledger.transactions
        WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND key = k.key OFFSET 0
      ) t
      CROSS JOIN LATERAL (
        SELECT debit_account_id, credit_account_id, amount, created_at FROM ledger.postings
        WHERE organisation_id = ${book.organisationId} AND transaction_id = t.id OFFSET 0
      ) p
      JOIN ledger.accounts a ON a.organisation_id = ${book.organisationId} AND a.environment = ${book.environment}
        AND a.code = ANY (${railAccounts(rail)}) AND a.id IN (p.debit_account_id, p.credit_account_id)
      GROUP BY t.id, t.key, t.effective_at`;
    postings.push(...found.filter(({ amount }) => amount !== 0));
  }
  return toLines(rail, postings);
}

/** Returns the state of the resource that one of these lines refers to. */
export async function findResourceStates(
  sql: Sql,
  { book: { organisationId, environment }, rail }: BookAtRail,
  lines: readonly LineName[],
): Promise<(line: LineName) => ResourceState> {
  const sessionsOf = (kind: 'credit' | 'recalled'): string[] =>
    lines.filter((line) => line.kind === kind).map(({ reference }) => reference);
  const transfers = lines.filter((line) => counterpartOf(line) !== null).map(({ reference }) => reference);
  const ids = transfers.flatMap((reference) => transferOf(reference)?.id ?? []);
  const ofBook = sql`organisation_id = ${organisationId} AND environment = ${environment}`;
  const byId = sql`${ofBook} AND id = ANY (${ids}::uuid[])`;
  const found = await sql<{ name: string; state: ResourceState }[]>`
    SELECT 'credit ' || session_id AS name,
           CASE status WHEN 'recalled' THEN 'void' WHEN 'received' THEN 'in_progress' ELSE 'ended' END AS state
    FROM inbound_credits WHERE ${ofBook} AND rail = ${rail} AND session_id = ANY (${sessionsOf('credit')}::text[])
    UNION ALL
    SELECT 'recalled ' || session_id,
           CASE WHEN status = 'recalled' THEN 'void' WHEN coalesce(recall, 'received') = 'received' THEN 'in_progress'
                ELSE 'ended' END
    FROM inbound_credits WHERE ${ofBook} AND rail = ${rail} AND session_id = ANY (${sessionsOf('recalled')}::text[])
    UNION ALL
    SELECT id::text, CASE WHEN status IN ('pending', 'processing', 'returning') THEN 'in_progress' ELSE 'ended' END
    FROM (
      SELECT id, status FROM withdrawals WHERE ${byId} UNION ALL SELECT id, status FROM refunds WHERE ${byId}
      UNION ALL SELECT id, status FROM payout_items WHERE ${byId}
      UNION ALL SELECT id, status FROM review_cases WHERE ${byId}
    ) r`;
  const states = new Map(found.map(({ name, state }) => [name, state]));
  return (line) => states.get(nameOf(line)) ?? states.get(transferOf(line.reference)?.id ?? '') ?? 'unknown';
}
