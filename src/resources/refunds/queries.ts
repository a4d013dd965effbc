// Queries for refunds. Only `ledger.post` writes them, in the same statement as the money and the payment that they
// change.
import { rowOf, type Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book, Kobo } from '../../money.ts';
import type { BankTransferRow, TransferSource } from '../bankTransfers/rows.ts';
import { bookTable } from '../bookTable.ts';
import type { Attached } from '../references.ts';

/** A wallet that gives a part of a refund. */
export interface RefundSource extends TransferSource {
  /** The wallet of the payment that gives it, or in whose place another wallet does. */
  onBehalfOf: Uuid;
  /** What that wallet owes for it. */
  owed: Kobo;
  /** Of a refund that was not paid: what the wallet had repaid of that, and has in suspense. */
  repaid: Kobo;
  /** What came back of it and went to suspense, because the wallet did not take it. */
  suspended: Kobo;
}

export interface Refund extends BankTransferRow, Attached {
  paymentId: Uuid;
  destination: 'bank' | 'wallet';
  status: 'processing' | 'completed' | 'failed';
  /** Empty: all of it is the target's of the payment. */
  sources: readonly RefundSource[];
  /** Free text from the caller. */
  reason: string | null;
  accountNumber: string | null;
  accountName: string | null;
  bankCode: string | null;
  rail: string | null;
  createdAt: Date;
  completedAt: Date | null;
  /** When the bank returned the money; null if it did not. */
  returnedAt: Date | null;
}

type Filter = 'paymentId' | 'status' | 'destination' | 'reference';

export const {
  find: findRefund,
  findAll: findRefunds,
  list: listRefunds,
} = bookTable<Refund, Filter>(
  'refunds',
  (sql) => sql`
    id, version, payment_id, amount, sources, destination, status, reason, account_number, account_name, bank_code, reference,
    metadata, failure_code, failure_reason, failure_detail, rail, session_id, created_at, completed_at, returned_at, clawed_back`,
);

/** The sum of a payment's completed refunds, without one of them. */
export async function sumOtherRefunds(sql: Sql, book: Book, { id, paymentId }: Refund): Promise<Kobo> {
  const [row] = await sql<{ amount: Kobo }[]>`
    SELECT coalesce(sum(amount), 0)::bigint AS amount FROM refunds
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND payment_id = ${paymentId}
      AND status = 'completed' AND id <> ${id}`;
  return row?.amount ?? 0;
}

/** What a payment was credited and has kept, less its refunds that did not fail. */
export async function readRefundable(sql: Sql, { organisationId, environment }: Book, paymentId: Uuid): Promise<Kobo> {
  const { amount } = await rowOf(sql<{ amount: Kobo }[]>`
    SELECT greatest(0, p.amount_credited - p.amount_recalled - coalesce(sum(r.amount), 0))::bigint AS amount
    FROM payments p
    LEFT JOIN refunds r ON r.organisation_id = p.organisation_id AND r.environment = p.environment
      AND r.payment_id = p.id AND r.status <> 'failed'
    WHERE p.organisation_id = ${organisationId} AND p.environment = ${environment} AND p.id = ${paymentId}
    GROUP BY p.amount_credited, p.amount_recalled`);
  return amount;
}

/** The bank account of a payer. */
export interface PayerAccount {
  accountNumber: string;
  bankCode: string;
  accountName: string | null;
}
