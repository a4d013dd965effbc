// Queries for withdrawals. Only `ledger.post` writes them, in the same statement as the money that a change moves.
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book, Kobo } from '../../money.ts';
import type { FailureCode } from '../failureCodes.ts';
import { type ListFilters, type PageRequest, pageClause } from '../pages.ts';
import type { Attached } from '../references.ts';

export type WithdrawalStatus = 'processing' | 'completed' | 'failed' | 'returned';

export interface Withdrawal extends Attached {
  id: Uuid;
  /** Incremented by each change, for optimistic locking: a stale version is a conflict. */
  version: number;
  sourceWalletId: Uuid;
  amount: Kobo;
  fee: Kobo;
  status: WithdrawalStatus;
  accountNumber: string;
  accountName: string | null;
  bankCode: string;
  bankName: string | null;
  narration: string | null;
  failureCode: FailureCode | null;
  failureReason: string | null;
  rail: string;
  /** The interbank session id of the transfer, once the rail has reported it. */
  sessionId: string | null;
  createdAt: Date;
  completedAt: Date | null;
  /** What was taken back from the wallet, if the bank paid it after reporting it as failed. */
  clawedBack: Kobo | null;
}

const columns = (sql: Sql) => sql`
  id, version, source_wallet_id, amount, fee, status, account_number, account_name, bank_code, bank_name, narration,
  reference, metadata, failure_code, failure_reason, rail, session_id, created_at, completed_at, clawed_back`;

export async function findWithdrawal(sql: Sql, book: Book, id: Uuid): Promise<Withdrawal | null> {
  const [row] = await sql<Withdrawal[]>`
    SELECT ${columns(sql)} FROM withdrawals
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND id = ${id}`;
  return row ?? null;
}

export interface WithdrawalFilters extends ListFilters {
  status?: WithdrawalStatus | undefined;
  sourceWalletId?: Uuid | undefined;
  reference?: string | undefined;
}

/** A page of withdrawals, newest first, plus one row when another page exists. */
export async function listWithdrawals(
  sql: Sql,
  book: Book,
  filters: WithdrawalFilters,
  page: PageRequest,
): Promise<Withdrawal[]> {
  return await sql<Withdrawal[]>`
    SELECT ${columns(sql)} FROM withdrawals
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
    ${pageClause(sql, filters, page)}`;
}
