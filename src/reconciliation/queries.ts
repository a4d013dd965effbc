// Queries of stored breaks.
import { firstOf, type Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import type { ReviewCase } from '../resources/reviewCases/queries.ts';
import type { BookAtRail, StatementPeriod } from './lines.ts';
import type { NumberedBreak } from './match.ts';

/** A stored break: one row, however many runs find it. Its id is that of its review case. */
export interface StoredBreak extends NumberedBreak {
  id: Uuid;
  /** Incremented by each change; a change states the version that it read. */
  version: number;
  rail: string;
  /** Of an `unreadable` row: its text, sealed for `id`; null for any other. */
  sealedRow: string | null;
  /** Since when runs over its time no longer find it; null while they do. */
  clearedAt: Date | null;
  createdAt: Date;
}

/** A break with the status of its case. */
export type BreakWithCase = StoredBreak & { status: ReviewCase['status'] };

const breakColumns = (sql: Sql) => sql`
  b.id, b.version, b.rail, b.kind, b.line, b.reference, b.at, b.occurrence, b.ledger_amount, b.statement_amount,
  b.sealed_row, b.cleared_at, b.created_at`;

/** SQL: breaks `b`, each with its case `c`. */
const withCases = (sql: Sql) => sql`
  reconciliation_breaks b JOIN review_cases c ON c.organisation_id = b.organisation_id AND c.id = b.id`;

/** The breaks of all books that the last runs over their time have found, newest first, and their total number. */
export async function listBreaks(sql: Sql, max: number): Promise<{ breaks: (BreakWithCase & Book)[]; total: number }> {
  const rows = await sql<(BreakWithCase & Book & { total: number })[]>`
    SELECT b.organisation_id, b.environment, ${breakColumns(sql)}, c.status, count(*) OVER ()::int AS total
    FROM ${withCases(sql)} WHERE b.cleared_at IS NULL ORDER BY b.created_at DESC, b.id DESC LIMIT ${max}`;
  return { breaks: rows.map(({ total: _total, ...row }) => row), total: rows[0]?.total ?? 0 };
}

/** The breaks of lines of a period. */
export const listStoredBreaks = (
  sql: Sql,
  { book, rail }: BookAtRail,
  { from, to }: StatementPeriod,
): Promise<BreakWithCase[]> => sql<BreakWithCase[]>`
    SELECT ${breakColumns(sql)}, c.status FROM ${withCases(sql)}
    WHERE b.organisation_id = ${book.organisationId} AND b.environment = ${book.environment} AND b.rail = ${rail}
      AND b.at >= ${from} AND b.at < ${to} AND b.kind NOT IN ('unreadable', 'balance', 'reversal')`;

/** Those of these rows that were set aside before. */
export async function findSetAside(
  sql: Sql,
  { book, rail }: BookAtRail,
  references: readonly string[],
): Promise<Set<string>> {
  if (references.length === 0) return new Set();
  const rows = await sql<{ reference: string }[]>`
    SELECT reference FROM reconciliation_breaks
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND rail = ${rail}
      AND reference = ANY (${references as string[]}::text[]) AND kind = 'unreadable'`;
  return new Set(rows.map(({ reference }) => reference));
}

/** The break of a balance that has not cleared, or whose case is still open; null: there is none. */
export const findBalanceBreak = (
  sql: Sql,
  { book, rail }: BookAtRail,
  account: string,
): Promise<BreakWithCase | null> =>
  firstOf(sql<BreakWithCase[]>`
    SELECT ${breakColumns(sql)}, c.status FROM ${withCases(sql)}
    WHERE b.organisation_id = ${book.organisationId} AND b.environment = ${book.environment} AND b.rail = ${rail}
      AND b.kind = 'balance' AND b.reference = ${account}
      AND (b.cleared_at IS NULL OR c.status = 'open')
    ORDER BY b.cleared_at NULLS FIRST LIMIT 1`);

export const findBreak = (sql: Sql, organisationId: Uuid, caseId: Uuid): Promise<StoredBreak | null> =>
  firstOf(sql<StoredBreak[]>`
    SELECT ${breakColumns(sql)} FROM reconciliation_breaks b
    WHERE b.organisation_id = ${organisationId} AND b.id = ${caseId}`);
