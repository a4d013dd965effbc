// Query plans are cached. A plan made while a table was empty must still be efficient when the table is full, before
// statistics are gathered: it finds the rows of a batch by index and reads no others.
import { expect, test } from '@jest/globals';
import { IdempotencyKeys, outcomeOf } from '../../src/api/admission/idempotency.ts';
import { RateLimiter } from '../../src/api/admission/rateLimit.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid } from '../../src/ids.ts';
import { Journal } from '../../src/ledger/journal.ts';
import { openBooks } from '../ledger/books.ts';

/** Far more rows than a lookup may read, and than the plan of an empty table expects. */
const ROWS = 5_000;

/** From the sixth execution on, Postgres may cache a generic plan. */
const RUNS = 8;

/** Two rate checks, an outcome and its repeats read a handful of rows. */
const READ_MAX = 20;

/** Rows of the table that the database has read so far. The connections are idle, and report what they have read. */
async function rowsRead(pools: readonly Sql[]): Promise<number> {
  for (const pool of pools) await pool`SELECT pg_stat_force_next_flush()`;
  const [row] = await (pools[0] as Sql)<{ rows: number }[]>`
    SELECT seq_tup_read + idx_tup_fetch AS rows FROM pg_stat_all_tables WHERE relid = 'idempotency_keys'::regclass`;
  return row?.rows ?? Number.NaN;
}

test.each([['never had a row'], ['was emptied']])(
  'the look-ups of an Idempotency-Key read only rows of that key, in a table that %s',
  async (history) => {
    const database = await openBooks();
    const { organisationId, environment } = database.book;
    // The table that never had a row has no statistics.
    if (history === 'was emptied') await database.owner`ANALYZE idempotency_keys`;
    const asyncCommitSql = connect(database.url, { connectionsMax: 1, synchronousCommit: 'off' });
    const sql = connect(database.url, { connectionsMax: 1 });
    const keys = new IdempotencyKeys({ sql, asyncCommitSql, keptDays: 7 });
    const admission = new RateLimiter(asyncCommitSql, ROWS);
    const journal = new Journal(sql);
    const caller = { keyId: newUuid(), scopes: [], rateLimit: null, book: database.book };
    const outcome = { statusCode: 201, response: '{}' };
    const useTwice = async () => {
      const key = newUuid();
      expect(await admission.check(caller, key)).toMatchObject({ keyIsKnown: false });
      const first = keys.reserve(database.book, key, 'AAAA');
      await journal.post({ book: database.book, outcome: outcomeOf(first, outcome) });
      expect(await admission.check(caller, key)).toMatchObject({ keyIsKnown: true });
      expect(await keys.find(database.book, key, 'AAAA')).toEqual(outcome);
      const late = { ...first, id: newUuid() };
      expect(await keys.storeRefusal(late, outcome)).toBe(false);
      const repeated = await journal.post({ book: database.book, outcome: outcomeOf(late, outcome) });
      expect(repeated).toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' });
    };
    for (let run = 0; run < RUNS; run += 1) await useTwice();
    await database.owner`
      INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, attempt, status_code, response)
      SELECT ${organisationId}, ${environment}, 'full/' || n, '', gen_random_uuid(), 201, '{}'
      FROM generate_series(1, ${ROWS}) AS n`;
    const before = await rowsRead([sql, asyncCommitSql]);
    await useTwice();
    expect((await rowsRead([sql, asyncCommitSql])) - before).toBeLessThan(READ_MAX);
    await asyncCommitSql.end();
    await sql.end();
    await database.close();
  },
);
