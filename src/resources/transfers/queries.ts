// Queries for transfers. `ledger.post` writes a transfer in the same statement as its money; it never changes
// afterwards.
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book, Kobo } from '../../money.ts';
import type { ListFilters, PageRequest } from '../pages.ts';

export interface Transfer {
  id: Uuid;
  sourceWalletId: Uuid;
  destinationWalletId: Uuid;
  amount: Kobo;
  fee: Kobo;
  status: 'completed' | 'failed';
  description: string | null;
  createdAt: Date;
}

const columns = (sql: Sql) =>
  sql`id, source_wallet_id, destination_wallet_id, amount, fee, status, description, created_at`;

export async function findTransfer(sql: Sql, book: Book, id: Uuid): Promise<Transfer | null> {
  const [row] = await sql<Transfer[]>`
    SELECT ${columns(sql)} FROM transfers
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND id = ${id}`;
  return row ?? null;
}

/** A page of transfers, newest first, plus one row when another page exists. */
export async function listTransfers(
  sql: Sql,
  book: Book,
  filters: ListFilters,
  page: PageRequest,
): Promise<Transfer[]> {
  return await sql<Transfer[]>`
    SELECT ${columns(sql)} FROM transfers
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment}
    ${page.after ? sql`AND (created_at, id) < (${page.after.createdAt}, ${page.after.id})` : sql``}
    ${filters.createdAtFrom ? sql`AND created_at >= ${filters.createdAtFrom}` : sql``}
    ${filters.createdAtTo ? sql`AND created_at <= ${filters.createdAtTo}` : sql``}
    ORDER BY created_at DESC, id DESC LIMIT ${page.limit + 1}`;
}
