// Queries for adjustments. Only `ledger.post` writes them, in the same statement as the money that an approval moves.
import { firstOf, hasRow, type Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { AccountCode } from '../../ledger/chart.ts';
import type { Posting } from '../../ledger/postings.ts';
import type { Book, Environment } from '../../money.ts';
import { type Month, monthOf } from '../../times.ts';
import { bookTable, type Versioned } from '../bookTable.ts';
import { parseResource, TABLES } from '../tables.ts';
import type { AuditEntry } from '../wallets/status.ts';

export type AdjustmentStatus = 'requested' | 'posted' | 'rejected';

export interface Adjustment extends Versioned {
  status: AdjustmentStatus;
  /** What is posted on approval; never changes. */
  postings: readonly Posting[];
  reason: string;
  evidence: string;
  /** The adjustment that it undoes. */
  reverses: Uuid | null;
  /** The time that it is about; null: when it is posted. */
  effectiveAt: Date | null;
  /** Public id of the resource that it corrects. */
  corrects: string | null;
  /** For the statements of the wallets that it changes. */
  description: string | null;
  /** Ids of operators. */
  requestedBy: Uuid;
  decidedBy: Uuid | null;
  createdAt: Date;
  decidedAt: Date | null;
}

const { find, columns } = bookTable<Adjustment>(
  'adjustments',
  (sql) => sql`
    id, version, status, postings, reason, evidence, reverses, effective_at, corrects, description, requested_by, decided_by,
    created_at, decided_at`,
);
export const findAdjustment = find;

/** An adjustment as operators read it. */
export interface AdjustmentReport extends Adjustment {
  environment: Environment;
  /** The adjustment that undoes this one, requested or posted. */
  reversedBy: Uuid | null;
}

const reports = (sql: Sql, organisationId: Uuid) => sql`
  SELECT environment, ${columns(sql)}, (
    SELECT r.id FROM adjustments r
    WHERE r.organisation_id = ${organisationId} AND r.reverses = a.id AND r.status <> 'rejected') AS reversed_by,
    count(*) OVER ()::int AS total
  FROM adjustments a WHERE organisation_id = ${organisationId}`;

/** One adjustment of an organisation, in either environment. */
export const reportAdjustment = (sql: Sql, organisationId: Uuid, id: Uuid): Promise<AdjustmentReport | null> =>
  firstOf(sql<AdjustmentReport[]>`${reports(sql, organisationId)} AND id = ${id}`);

/** The adjustments of one organisation, newest first, at most `max`, and their total number. */
export async function listAdjustments(
  sql: Sql,
  organisationId: Uuid,
  { status, environment }: Partial<Pick<AdjustmentReport, 'status' | 'environment'>>,
  max: number,
): Promise<{ adjustments: AdjustmentReport[]; total: number }> {
  const adjustments = await sql<(AdjustmentReport & { total: number })[]>`
    ${reports(sql, organisationId)}
    ${status === undefined ? sql`` : sql`AND status = ${status}`}
    ${environment === undefined ? sql`` : sql`AND environment = ${environment}`}
    ORDER BY created_at DESC, id DESC LIMIT ${max}`;
  return { adjustments, total: adjustments[0]?.total ?? 0 };
}

/** What operators did about an adjustment, oldest first. */
export async function listAuditEntries(sql: Sql, organisationId: Uuid, adjustmentId: string): Promise<AuditEntry[]> {
  return await sql<AuditEntry[]>`
    SELECT operator, action, reason, created_at FROM audit_log
    WHERE organisation_id = ${organisationId} AND subject = ${adjustmentId} ORDER BY created_at, id`;
}

/** Those of these accounts that the book has. */
export async function findAccounts(sql: Sql, book: Book, codes: readonly AccountCode[]): Promise<Set<AccountCode>> {
  const rows = await sql<{ code: AccountCode }[]>`
    SELECT code FROM ledger.accounts
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND code = ANY(${codes}::text[])`;
  return new Set(rows.map(({ code }) => code));
}

/** Whether the book has the resource of a public id. */
export async function hasResource(sql: Sql, book: Book, publicId: string): Promise<boolean> {
  const named = parseResource(publicId);
  if (named === null) return false;
  return await hasRow(sql`
    SELECT FROM ${sql(TABLES[named.kind])}
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND id = ${named.id}`);
}

/** The month of the time that an adjustment is about, if it is closed in the book; null: it is not. */
export async function findClosedPeriod(
  sql: Sql,
  book: Book,
  { effectiveAt: at = null }: Partial<Pick<Adjustment, 'effectiveAt'>>,
): Promise<Month | null> {
  if (at === null) return null;
  const month = monthOf(at);
  const isClosed = await hasRow(sql`
    SELECT FROM ledger.closed_periods
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND period = ${`${month}-01`}::date`);
  return isClosed ? month : null;
}
