// Several statements on one snapshot. While a snapshot is held, Postgres keeps every old version of every row, and a row
// that changes often, such as the balance of a hot account, becomes slow: so read a page, and let it go.
import type postgres from 'postgres';
import type { Sql } from './pool.ts';

export type Snapshot = postgres.TransactionSql<{ bigint: number }>;

/**
 * Reads on one read-only snapshot. After a lost connection the driver can continue outside of the transaction
 * (docs/decisions/0001), without a snapshot: then it throws.
 */
export async function onOneSnapshot<Result>(sql: Sql, read: (snapshot: Snapshot) => Promise<Result>): Promise<Result> {
  const results: Result[] = [];
  await sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (snapshot) => {
    results.push(await read(snapshot));
    const [row] = await snapshot<{ isolation: string; readOnly: string }[]>`
      SELECT current_setting('transaction_isolation') AS isolation, current_setting('transaction_read_only') AS read_only`;
    if (row?.isolation !== 'repeatable read' || row.readOnly !== 'on') {
      throw new Error('The connection to the database was lost while reading. Try again.');
    }
  });
  return results[0] as Result;
}
