// Ledger transactions as rows, for telling one's own posting from somebody else's.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';

/** The transaction that was posted under a business key; null while there is none. */
export async function findTransactionId(sql: Sql, book: Book, key: string): Promise<Uuid | null> {
  const [row] = await sql<{ id: Uuid }[]>`
    SELECT id FROM ledger.transactions
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND key = ${key}`;
  return row?.id ?? null;
}
