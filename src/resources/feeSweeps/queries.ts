// Queries for fee sweeps: net income that an operator moved to the settlement wallet.
import { firstOf, type Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
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
export const findFeeSweep = (sql: Sql, book: Book, key: string): Promise<FeeSweep | null> =>
  firstOf(sql<FeeSweep[]>`
    SELECT id, key, wallet_id, amount, created_at FROM fee_sweeps
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND key = ${key}`);

/**
 * The settlement wallet of a book, and its net income that was not swept: less costs, losses and what is receivable;
 * null when there is no such book.
 */
export async function findNetIncome(sql: Sql, book: Book): Promise<{ walletId: Uuid; net: Kobo } | null> {
  const [wallet] = await sql<{ id: Uuid }[]>`
    SELECT id FROM wallets
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND kind = 'settlement'`;
  if (wallet === undefined) return null;
  const [own] = await sql<{ net: Kobo }[]>`
    SELECT ledger.own_platform_balance(${book.organisationId}, ${book.environment}) AS net`;
  return { walletId: wallet.id, net: own?.net ?? 0 };
}
