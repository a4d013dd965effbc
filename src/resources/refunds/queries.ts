// Queries for refunds. Only `ledger.post` writes them, in the same statement as the money and the payment that they
// change.
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book, Kobo } from '../../money.ts';
import type { FailureCode } from '../failureCodes.ts';
import { type ListFilters, type PageRequest, pageClause } from '../pages.ts';
import type { Attached } from '../references.ts';

export interface Refund extends Attached {
  id: Uuid;
  /** Incremented by each change, for optimistic locking: a stale version is a conflict. */
  version: number;
  paymentId: Uuid;
  amount: Kobo;
  destination: 'bank' | 'wallet';
  status: 'processing' | 'completed' | 'failed';
  /** Free text from the caller. */
  reason: string | null;
  accountNumber: string | null;
  accountName: string | null;
  bankCode: string | null;
  failureCode: FailureCode | null;
  failureReason: string | null;
  rail: string | null;
  sessionId: string | null;
  createdAt: Date;
  completedAt: Date | null;
  /** When the bank returned the money; null if it did not. */
  returnedAt: Date | null;
  /** What was taken back from the wallet, if the bank paid it after reporting it as failed. */
  clawedBack: Kobo | null;
}

const columns = (sql: Sql) => sql`
  id, version, payment_id, amount, destination, status, reason, account_number, account_name, bank_code, reference, metadata,
  failure_code, failure_reason, rail, session_id, created_at, completed_at, returned_at, clawed_back`;

export async function findRefund(sql: Sql, book: Book, id: Uuid): Promise<Refund | null> {
  const [row] = await sql<Refund[]>`
    SELECT ${columns(sql)} FROM refunds
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND id = ${id}`;
  return row ?? null;
}

/** The sum of a payment's completed refunds, without one of them. */
export async function sumOtherRefunds(sql: Sql, book: Book, { id, paymentId }: Refund): Promise<Kobo> {
  const [row] = await sql<{ amount: Kobo }[]>`
    SELECT coalesce(sum(amount), 0)::bigint AS amount FROM refunds
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND payment_id = ${paymentId}
      AND status = 'completed' AND id <> ${id}`;
  return row?.amount ?? 0;
}

export interface RefundFilters extends ListFilters {
  paymentId?: Uuid | undefined;
  status?: Refund['status'] | undefined;
  destination?: Refund['destination'] | undefined;
  reference?: string | undefined;
}

/** A page of refunds, newest first, plus one row when another page exists. */
export async function listRefunds(sql: Sql, book: Book, filters: RefundFilters, page: PageRequest): Promise<Refund[]> {
  return await sql<Refund[]>`
    SELECT ${columns(sql)} FROM refunds
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
    ${pageClause(sql, filters, page)}`;
}

/** The bank account of a payer. */
export interface PayerAccount {
  accountNumber: string;
  bankCode: string;
  accountName: string | null;
}
