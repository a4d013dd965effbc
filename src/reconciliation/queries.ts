// Queries of reconciliation: the postings of a rail's clearing account, references that belong to our resources,
// reports and stored breaks.
import type { Sql } from '../database/pool.ts';
import { type IdKind, parseId, type Uuid } from '../ids.ts';
import { clearingAccount } from '../ledger/chart.ts';
import type { Book, Environment } from '../money.ts';
import { creditKey, recallKey } from '../resources/inboundCredits/movements.ts';
import { caseOfReference, type ReviewCase } from '../resources/reviewCases/queries.ts';
import type { NumberedBreak } from './compare.ts';
import type { Break, Line, LineKind } from './match.ts';

/** A period: `from` inclusive, `to` exclusive. */
export interface Period {
  from: Date;
  to: Date;
}

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

/**
 * What the ledger posted through a rail in a period, as lines. The reference of a credit or its recall is the session id
 * in its business key; that of a transfer is the rail's reference at the start of the key.
 */
export async function listClearingLines(sql: Sql, book: Book, rail: string, { from, to }: Period): Promise<Line[]> {
  const creditPrefix = creditKey({ rail, sessionId: '' });
  const recallPrefix = recallKey({ rail, sessionId: '' });
  return await sql<Line[]>`
    SELECT CASE WHEN p.credit_account_id = a.id THEN 'sent'
                WHEN starts_with(t.key, ${creditPrefix}) THEN 'credit' ELSE 'returned' END AS kind,
           CASE WHEN starts_with(t.key, ${creditPrefix}) THEN substr(t.key, ${creditPrefix.length + 1}::int)
                WHEN starts_with(t.key, ${recallPrefix}) THEN substr(t.key, ${recallPrefix.length + 1}::int)
                ELSE split_part(t.key, '/', 1) END AS reference,
           sum(p.amount)::bigint AS amount, t.created_at AS at
    FROM ledger.accounts a
    JOIN ledger.postings p ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
    JOIN ledger.transactions t ON t.organisation_id = p.organisation_id AND t.id = p.transaction_id
    WHERE a.organisation_id = ${book.organisationId} AND a.environment = ${book.environment}
      AND a.code = ${clearingAccount(rail)} AND p.created_at >= ${from} AND p.created_at < ${to}
    GROUP BY 1, 2, t.id, t.created_at`;
}

/** Those of the references that belong to a resource of ours, posted or not. */
export async function findKnownReferences(
  sql: Sql,
  book: Book,
  rail: string,
  lines: readonly { kind: LineKind; reference: string }[],
): Promise<Set<string>> {
  const { organisationId, environment } = book;
  const sessions = lines.filter(({ kind }) => kind === 'credit').map(({ reference }) => reference);
  const transfers = lines.filter(({ kind }) => kind !== 'credit').map(({ reference }) => reference);
  /** References grouped by the id in each; a review case may have more than one reference. */
  const groupById = (idOf: (reference: string) => Uuid | null) => {
    const pairs = transfers.flatMap((reference) => {
      const id = idOf(reference);
      return id === null ? [] : [{ id, reference }];
    });
    return Map.groupBy(pairs, ({ id }) => id);
  };
  const idOf = (kind: IdKind) => (reference: string) => parseId(kind, reference);
  const withdrawals = groupById(idOf('withdrawal'));
  const refunds = groupById(idOf('refund'));
  const items = groupById(idOf('payoutItem'));
  const cases = groupById(caseOfReference);
  const found = await sql<{ reference: string | null; id: Uuid | null }[]>`
    SELECT session_id AS reference, NULL::uuid AS id FROM inbound_credits
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND rail = ${rail} AND session_id = ANY (${sessions}::text[])
    UNION ALL SELECT NULL, id FROM withdrawals
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND id = ANY (${[...withdrawals.keys()]}::uuid[])
    UNION ALL SELECT NULL, id FROM refunds
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND id = ANY (${[...refunds.keys()]}::uuid[])
    UNION ALL SELECT NULL, id FROM payout_items
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND id = ANY (${[...items.keys()]}::uuid[])
    UNION ALL SELECT NULL, id FROM review_cases
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND id = ANY (${[...cases.keys()]}::uuid[])`;
  const references = new Map([...withdrawals, ...refunds, ...items, ...cases]);
  return new Set(
    found.flatMap(({ reference, id }) =>
      reference === null ? (references.get(id ?? '') ?? []).map((one) => one.reference) : [reference],
    ),
  );
}

/** Every book of an environment. */
export async function listBooks(sql: Sql, environment: Environment): Promise<Book[]> {
  const rows = await sql<
    { organisationId: Uuid }[]
  >`SELECT organisation_id FROM organisations ORDER BY organisation_id`;
  return rows.map(({ organisationId }) => ({ organisationId, environment }));
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
