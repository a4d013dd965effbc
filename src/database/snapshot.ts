// Several statements on one snapshot. While a snapshot is held, Postgres keeps every old version of every row, and a
// row that changes often, such as the balance of a hot account, becomes slow: so read a page, and let it go.
import { connectAlone, type Sql } from './pool.ts';

/** A connection of its own, in a transaction. */
export type Snapshot = Sql;

/**
 * Reads on one read-only snapshot, with the settings of the pool. On a connection of its own and not with `sql.begin`:
 * when its connection is lost, `begin` writes to the closed socket, which ends the process (porsager/postgres #1208). A
 * pool of one connects again and continues outside of the transaction, without a snapshot: then this throws.
 */
export async function onOneSnapshot<Result>(sql: Sql, read: (snapshot: Snapshot) => Promise<Result>): Promise<Result> {
  const snapshot = connectAlone(sql);
  try {
    await snapshot.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const result = await read(snapshot);
    const [row] = await snapshot<{ isolation: string; readOnly: string }[]>`
      SELECT current_setting('transaction_isolation') AS isolation, current_setting('transaction_read_only') AS read_only`;
    if (row?.isolation !== 'repeatable read' || row.readOnly !== 'on') {
      throw new Error('The connection to the database was lost while reading. Try again.');
    }
    return result;
  } finally {
    await snapshot.end();
  }
}
