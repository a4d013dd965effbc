// Review cases as rows: money in a suspense account, or a reconciliation break, and what a person needs to decide it.
import type { Sql } from '../../database/pool.ts';
import { parseId, publicId, type Uuid } from '../../ids.ts';
import type { AccountCode } from '../../ledger/chart.ts';
import type { Book, Environment, Kobo } from '../../money.ts';
import type { PayerAccount } from '../refunds/queries.ts';

/** Why money waits for a person; a `reconciliation_break` and a `credit_unconfirmed` hold none. */
export const REVIEW_REASONS = [
  'late_credit',
  'credit_after_settlement',
  'unknown_account',
  'partial_expired',
  'surplus_over_limit',
  'over_limit',
  'wallet_frozen',
  'wallet_closed',
  'wallet_unverified',
  'reconciliation_break',
  'credit_unconfirmed',
] as const;

export type ReviewReason = (typeof REVIEW_REASONS)[number];

/**
 * How an attempt to send money back ended: by the rail’s own word `refused` or `returned`; `never_received` by it; or
 * `decided` by operators.
 */
export type ReturnFailure = 'refused' | 'returned' | 'never_received' | 'decided';

export interface ReviewCase {
  id: Uuid;
  /** Counts the changes; a change names the version it saw. */
  version: number;
  reason: ReviewReason;
  /** `sending`: its money is on the way back to where it came from. `close`: nothing is open any more about a break or an unconfirmed credit. */
  status: 'open' | 'returning' | 'credited' | 'returned_to_sender' | 'unclaimed' | 'closed';
  /** What is in suspense; for a break or an unconfirmed credit, what is in question. */
  amount: Kobo;
  /** The suspense account that holds the money while the case is open; null where the case holds none. */
  accountCode: AccountCode | null;
  inboundCreditId: Uuid | null;
  paymentId: Uuid | null;
  /** Whom it came for, or whom it was given to. */
  walletId: Uuid | null;
  /** The rail that sends it back. */
  rail: string | null;
  /** References that the rail was given to send it back by. */
  attempts: number;
  /** How the last of them ended, when it did not send the money back; and in words. */
  failure: ReturnFailure | null;
  failureReason: string | null;
  createdAt: Date;
  resolvedAt: Date | null;
}

/**
 * What the rail knows the last attempt to send it back by: the case’s id, and from the second on with its number. At
 * most 40 characters of `[a-z0-9_]`, as rails ask for.
 */
export function returnReference({ id, attempts }: Pick<ReviewCase, 'id' | 'attempts'>): string {
  return attempts > 1 ? `${publicId('reviewCase', id)}_${attempts}` : publicId('reviewCase', id);
}

/** The case that a rail's reference belongs to; null when it is none of ours. */
export function caseOfReference(reference: string): Uuid | null {
  return parseId('reviewCase', reference.replace(/_[1-9]\d{0,4}$/, ''));
}

const columns = (sql: Sql) => sql`
  id, version, reason, status, amount, account_code, inbound_credit_id, payment_id, wallet_id, rail, attempts, failure,
  failure_reason, created_at, resolved_at`;

export async function findReviewCase(sql: Sql, book: Book, id: Uuid): Promise<ReviewCase | null> {
  const [row] = await sql<ReviewCase[]>`
    SELECT ${columns(sql)} FROM review_cases
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND id = ${id}`;
  return row ?? null;
}

interface ReviewCaseFilter {
  /** Without one: those that are not resolved. */
  status?: ReviewCase['status'] | undefined;
  reason?: ReviewReason | undefined;
  environment?: Environment | undefined;
}

/** One organisation's cases, the oldest first, and how many there are when these are not all. */
export async function listReviewCases(
  sql: Sql,
  organisationId: Uuid,
  { status, reason, environment }: ReviewCaseFilter,
  max: number,
): Promise<{ cases: (ReviewCase & { environment: Environment })[]; total: number }> {
  const found = sql`
    FROM review_cases
    WHERE organisation_id = ${organisationId}
      AND ${status === undefined ? sql`status IN ('open', 'returning')` : sql`status = ${status}`}
      ${reason === undefined ? sql`` : sql`AND reason = ${reason}`}
      ${environment === undefined ? sql`` : sql`AND environment = ${environment}`}`;
  const cases = await sql<(ReviewCase & { environment: Environment })[]>`
    SELECT environment, ${columns(sql)} ${found} ORDER BY created_at, id LIMIT ${max}`;
  if (cases.length < max) return { cases, total: cases.length };
  const [row] = await sql<{ total: number }[]>`SELECT count(*)::int AS total ${found}`;
  return { cases, total: row?.total ?? cases.length };
}

/** One case of an organisation, in whichever of its environments. */
export async function findCaseOf(
  sql: Sql,
  organisationId: Uuid,
  id: Uuid,
): Promise<(ReviewCase & { environment: Environment }) | null> {
  const [row] = await sql<(ReviewCase & { environment: Environment })[]>`
    SELECT environment, ${columns(sql)} FROM review_cases WHERE organisation_id = ${organisationId} AND id = ${id}`;
  return row ?? null;
}

/** The accounts that a case's money came from: of its own credit, or of all credits that its payment held. */
export async function findSenders(sql: Sql, book: Book, row: ReviewCase): Promise<(PayerAccount & { rail: string })[]> {
  return await sql<(PayerAccount & { rail: string })[]>`
    SELECT DISTINCT rail, sender_account_number AS account_number, sender_bank_code AS bank_code, sender_name AS account_name
    FROM inbound_credits
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
      AND ${row.inboundCreditId === null ? sql`owner_id = ${row.paymentId} AND status = 'posted'` : sql`id = ${row.inboundCreditId}`}
      AND sender_account_number IS NOT NULL AND sender_bank_code IS NOT NULL`;
}
