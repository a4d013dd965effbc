// Several statements on one snapshot. While a snapshot is held, Postgres keeps every old version of every row, and a
// row that changes often, such as the balance of a hot account, becomes slow: so read a page, and let it go.
import { connectAlone, type Sql } from './pool.ts';

/** A connection of its own, in a transaction. */
export type Snapshot = Sql;

/**
 * Reads on read-only snapshots, one after the other, with the settings of the pool; close it with `end`. On a
 * connection of its own and not with `sql.begin`: when its connection is lost, `begin` writes to the closed socket,
 * which ends the process (porsager/postgres #1208). A pool of one connects again and continues outside of the
 * transaction, without a snapshot: then `read` throws. The connection is kept between reads, because opening one takes
 * as long as reading some thousand rows.
 */
export class Snapshots {
  readonly #sql: Sql;
  #connection: Sql | null = null;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async read<Result>(read: (snapshot: Snapshot) => Promise<Result>): Promise<Result> {
    this.#connection ??= connectAlone(this.#sql);
    const snapshot = this.#connection;
    try {
      // Statements of a page have a LIMIT: a plan for any limit may read a whole table for each page.
      await snapshot.unsafe(
        'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan',
      );
      const result = await read(snapshot);
      const [row] = await snapshot<{ isolation: string; readOnly: string }[]>`
        SELECT current_setting('transaction_isolation') AS isolation,
               current_setting('transaction_read_only') AS read_only`;
      if (row?.isolation !== 'repeatable read' || row.readOnly !== 'on') {
        throw new Error('The connection to the database was lost while reading. Try again.');
      }
      await snapshot.unsafe('COMMIT');
      return result;
    } catch (error) {
      // Its transaction has failed, or it is another connection by now.
      await this.end();
      throw error;
    }
  }

  async end(): Promise<void> {
    const connection = this.#connection;
    this.#connection = null;
    await connection?.end();
  }
}
