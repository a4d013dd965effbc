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
  const [wallet] = await sql<{ id: Uuid }[]>`
    SELECT id FROM wallets
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND kind = 'settlement'`;
  if (wallet === undefined) return null;
  const [fees] = await sql<{ income: Kobo }[]>`
    SELECT balance AS income
    FROM ledger.balances_before(${book.organisationId}, ${book.environment}, 'infinity', ${FEE_INCOME})`;
  return { walletId: wallet.id, income: fees?.income ?? 0 };
}
