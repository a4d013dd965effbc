// Queries for fee sweeps: fee income that an operator moved to the settlement wallet.
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import { FEE_INCOME } from '../../ledger/chart.ts';
import type { Book, Kobo } from '../../money.ts';

/** It never changes. */
export interface FeeSweep {
  id: Uuid;
  /** Names the sweep, unique in a book: a key sweeps once. */
  key: string;
  /** The settlement wallet. */
  walletId: Uuid;
  amount: Kobo;
  createdAt: Date;
}

/** The sweep with this key; null when there is none. */
export async function findFeeSweep(sql: Sql, book: Book, key: string): Promise<FeeSweep | null> {
  const [row] = await sql<FeeSweep[]>`
    SELECT id, key, wallet_id, amount, created_at FROM fee_sweeps
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND key = ${key}`;
  return row ?? null;
}

/** The settlement wallet of a book, and its fee income that was not swept; null when there is no such book. */
export async function findFeeIncome(sql: Sql, book: Book): Promise<{ walletId: Uuid; income: Kobo } | null> {
  const [row] = await sql<{ walletId: Uuid; income: Kobo }[]>`
    SELECT w.id AS wallet_id, coalesce((
      SELECT balance FROM ledger.balances_before(w.organisation_id, w.environment, 'infinity', ${FEE_INCOME})
    ), 0) AS income
    FROM wallets w
    WHERE w.organisation_id = ${book.organisationId} AND w.environment = ${book.environment} AND w.kind = 'settlement'`;
  return row ?? null;
}
