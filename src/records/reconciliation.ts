// Reconciliation's reads and its reports: what went through a rail's clearing account, which references are ours, and
// what each comparison came to.
import type { Sql } from '../database.ts';
import { parseId, type Uuid } from '../ids.ts';
import { clearingAccount } from '../ledger/chart.ts';
import type { Book, Environment } from '../money.ts';
import type { Break, Line, LineKind } from '../reconciliation/match.ts';

/** A time: from inclusive, to exclusive. */
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
  /** At most as many as are kept; `breakCount` counts all. Times are ISO 8601 texts. */
  breaks: (Omit<Break, 'at'> & { at: string })[];
  createdAt: Date;
}

/**
 * What our books say went through a rail in a period, as lines. A credit is known by the session id in its business key,
 * a transfer by the resource that caused it.
 */
export async function listClearingLines(sql: Sql, book: Book, rail: string, { from, to }: Period): Promise<Line[]> {
  const creditKey = `credit/${rail}/`;
  return await sql<Line[]>`
    SELECT CASE WHEN p.credit_account_id = a.id THEN 'sent'
                WHEN starts_with(t.key, ${creditKey}) THEN 'credit' ELSE 'returned' END AS kind,
           CASE WHEN starts_with(t.key, ${creditKey}) THEN substr(t.key, ${creditKey.length + 1}::int) ELSE t.resource END AS reference,
           sum(p.amount)::bigint AS amount, t.created_at AS at
    FROM ledger.accounts a
    JOIN ledger.postings p ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
    JOIN ledger.transactions t ON t.organisation_id = p.organisation_id AND t.id = p.transaction_id
    WHERE a.organisation_id = ${book.organisationId} AND a.environment = ${book.environment}
      AND a.code = ${clearingAccount(rail)} AND p.created_at >= ${from} AND p.created_at < ${to}
    GROUP BY 1, 2, t.id, t.created_at`;
}

/** Of these references, those that belong to something of ours, whether or not it is in the books. */
export async function findKnownReferences(
  sql: Sql,
  book: Book,
  rail: string,
  lines: readonly { kind: LineKind; reference: string }[],
): Promise<Set<string>> {
  const { organisationId, environment } = book;
  const sessions = lines.filter(({ kind }) => kind === 'credit').map(({ reference }) => reference);
  const transfers = lines.filter(({ kind }) => kind !== 'credit').map(({ reference }) => reference);
  const ids = (kind: 'withdrawal' | 'refund' | 'payoutItem' | 'reviewCase') =>
    new Map(
      transfers.flatMap((reference) => {
        const uuid = parseId(kind, reference);
        return uuid === null ? [] : [[uuid, reference] as const];
      }),
    );
  const [withdrawals, refunds, items, cases] = [ids('withdrawal'), ids('refund'), ids('payoutItem'), ids('reviewCase')];
  const found = await sql<{ reference: string; id: Uuid | null }[]>`
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
  return new Set(found.map(({ reference, id }) => reference ?? references.get(id ?? '') ?? ''));
}

/** Every book of an environment. */
export async function listBooks(sql: Sql, environment: Environment): Promise<Book[]> {
  const rows = await sql<
    { organisationId: Uuid }[]
  >`SELECT organisation_id FROM organisations ORDER BY organisation_id`;
  return rows.map(({ organisationId }) => ({ organisationId, environment }));
}

/** Keeps a report. The same id again changes nothing. */
export async function insertReport(sql: Sql, report: Omit<ReconciliationReport, 'createdAt'>): Promise<void> {
  await sql`
    INSERT INTO reconciliation_reports (organisation_id, environment, id, rail, period_from, period_to, line_count,
                                        break_count, breaks)
    VALUES (${report.organisationId}, ${report.environment}, ${report.id}, ${report.rail}, ${report.periodFrom},
            ${report.periodTo}, ${report.lineCount}, ${report.breakCount}, ${JSON.stringify(report.breaks)}::text::jsonb)
    ON CONFLICT (organisation_id, id) DO NOTHING`;
}

/** The newest reports of all organisations. */
export async function listReports(sql: Sql, max: number): Promise<ReconciliationReport[]> {
  return await sql<ReconciliationReport[]>`
    SELECT organisation_id, environment, id, rail, period_from, period_to, line_count, break_count, breaks, created_at
    FROM reconciliation_reports ORDER BY created_at DESC, id DESC LIMIT ${max}`;
}
