// Queries of reconciliation: reports and stored breaks.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book, Environment } from '../money.ts';
import type { ReviewCase } from '../resources/reviewCases/queries.ts';
import type { NumberedBreak } from './compare.ts';
import type { Period } from './lines.ts';
import type { Break } from './match.ts';

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

/** Stores a report. Idempotent by its id. */
export async function insertReport(sql: Sql, report: Omit<ReconciliationReport, 'createdAt'>): Promise<void> {
  await sql`
    INSERT INTO reconciliation_reports (organisation_id, environment, id, rail, period_from, period_to, line_count,
                                        break_count, breaks)
    VALUES (${report.organisationId}, ${report.environment}, ${report.id}, ${report.rail}, ${report.periodFrom},
            ${report.periodTo}, ${report.lineCount}, ${report.breakCount}, ${JSON.stringify(report.breaks)}::text::jsonb)
    ON CONFLICT (organisation_id, id) DO NOTHING`;
}

/** The newest reports of all organisations. */
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
  /** Since when runs over its time no longer find it; null while they do. */
  clearedAt: Date | null;
  createdAt: Date;
}

/** A break with the status of its case. */
export type BreakWithCase = StoredBreak & { status: ReviewCase['status'] };

const breakColumns = (sql: Sql) => sql`
  b.id, b.version, b.rail, b.kind, b.line, b.reference, b.at, b.occurrence, b.ledger_amount, b.statement_amount, b.cleared_at, b.created_at`;

/** The stored breaks of a rail in a period. */
export async function listStoredBreaks(
  sql: Sql,
  book: Book,
  rail: string,
  { from, to }: Period,
): Promise<BreakWithCase[]> {
  return await sql<BreakWithCase[]>`
    SELECT ${breakColumns(sql)}, c.status FROM reconciliation_breaks b
    JOIN review_cases c ON c.organisation_id = b.organisation_id AND c.id = b.id
    WHERE b.organisation_id = ${book.organisationId} AND b.environment = ${book.environment} AND b.rail = ${rail}
      AND b.at >= ${from} AND b.at < ${to}`;
}

/** The break behind a review case; null if the case has none. */
export async function findBreak(sql: Sql, organisationId: Uuid, caseId: Uuid): Promise<StoredBreak | null> {
  const [row] = await sql<StoredBreak[]>`
    SELECT ${breakColumns(sql)} FROM reconciliation_breaks b WHERE b.organisation_id = ${organisationId} AND b.id = ${caseId}`;
  return row ?? null;
}
