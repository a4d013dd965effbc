// Look-up of ledger transactions, to recognise a posting of one's own.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';

/** The id of the transaction with this business key; null if none was posted. */
export async function findTransactionId(sql: Sql, book: Book, key: string): Promise<Uuid | null> {
  const [row] = await sql<{ id: Uuid }[]>`
    SELECT id FROM ledger.transactions
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND key = ${key}`;
  return row?.id ?? null;
}
