// Queries of reconciliation: reports and stored breaks.
import type { Sql } from '../database/pool.ts';
import { newUuid, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';
import type { ReviewCase } from '../resources/reviewCases/queries.ts';
import type { NumberedBreak } from './compare.ts';
import type { BookAtRail, StatementPeriod } from './lines.ts';
import type { Break } from './match.ts';

/** Breaks that a report stores. */
const BREAKS_STORED_MAX = 1_000;

export interface ReconciliationReport {
  organisationId: Uuid;
  environment: Environment;
  id: Uuid;
  rail: string;
  periodFrom: Date;
  periodTo: Date;
  lineCount: number;
  breakCount: number;
  /** A report stores a limited number of breaks; `breakCount` counts all. Times are ISO 8601. */
  breaks: (Omit<Break, 'at'> & { at: string })[];
  createdAt: Date;
}

export async function insertReport(
  sql: Sql,
  { book: { organisationId, environment }, rail }: BookAtRail,
  { from, to }: StatementPeriod,
  lineCount: number,
  breaks: readonly Break[],
): Promise<void> {
  const stored = JSON.stringify(breaks.slice(0, BREAKS_STORED_MAX));
  await sql`
    INSERT INTO reconciliation_reports (organisation_id, environment, id, rail, period_from, period_to, line_count,
                                        break_count, breaks)
    VALUES (${organisationId}, ${environment}, ${newUuid()}, ${rail}, ${from}, ${to}, ${lineCount}, ${breaks.length},
            ${stored}::text::jsonb)`;
}

export async function listReports(sql: Sql, max: number): Promise<{ reports: ReconciliationReport[]; total: number }> {
  const reports = await sql<ReconciliationReport[]>`
    SELECT organisation_id, environment, id, rail, period_from, period_to, line_count, break_count, breaks, created_at
    FROM reconciliation_reports ORDER BY created_at DESC, id DESC LIMIT ${max}`;
  if (reports.length < max) return { reports, total: reports.length };
  const [row] = await sql<{ total: number }[]>`SELECT count(*)::int AS total FROM reconciliation_reports`;
  return { reports, total: row?.total ?? reports.length };
}

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

/** The breaks of lines of a period. */
export async function listStoredBreaks(
  sql: Sql,
  { book, rail }: BookAtRail,
  { from, to }: StatementPeriod,
): Promise<BreakWithCase[]> {
  return await sql<BreakWithCase[]>`
    SELECT ${breakColumns(sql)}, c.status FROM reconciliation_breaks b
    JOIN review_cases c ON c.organisation_id = b.organisation_id AND c.id = b.id
    WHERE b.organisation_id = ${book.organisationId} AND b.environment = ${book.environment} AND b.rail = ${rail}
      AND b.at >= ${from} AND b.at < ${to} AND b.kind NOT IN ('unreadable', 'balance')`;
}

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
export async function findBalanceBreak(
  sql: Sql,
  { book, rail }: BookAtRail,
  account: string,
): Promise<BreakWithCase | null> {
  const [row] = await sql<BreakWithCase[]>`
    SELECT ${breakColumns(sql)}, c.status FROM reconciliation_breaks b
    JOIN review_cases c ON c.organisation_id = b.organisation_id AND c.id = b.id
    WHERE b.organisation_id = ${book.organisationId} AND b.environment = ${book.environment} AND b.rail = ${rail}
      AND b.kind = 'balance' AND b.reference = ${account}
      AND (b.cleared_at IS NULL OR c.status = 'open')
    ORDER BY b.cleared_at NULLS FIRST LIMIT 1`;
  return row ?? null;
}

export async function findBreak(sql: Sql, organisationId: Uuid, caseId: Uuid): Promise<StoredBreak | null> {
  const [row] = await sql<StoredBreak[]>`
    SELECT ${breakColumns(sql)} FROM reconciliation_breaks b
    WHERE b.organisation_id = ${organisationId} AND b.id = ${caseId}`;
  return row ?? null;
}
