// Query plans are cached. A plan made while a table was empty must still be efficient when the table is full, before
// statistics are gathered: it finds the rows of a batch by index and reads no others.
import { expect, test } from '@jest/globals';
import { IdempotencyKeys } from '../../src/api/admission/idempotency.ts';
import { RateLimiter } from '../../src/api/admission/rateLimit.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid } from '../../src/ids.ts';
import { openBooks } from '../ledger/books.ts';

/** Far more rows than a lookup may read, and than the plan of an empty table expects. */
const ROWS = 5_000;

/** From the sixth execution on, Postgres may cache a generic plan. */
const RUNS = 8;

/** A rate check, a claim and its repeat read a handful of rows. */
const READ_MAX = 20;

/** Rows of the table that the database has read so far. */
async function rowsRead(sql: Sql): Promise<number> {
  await sql`SELECT pg_stat_force_next_flush()`;
  const [row] = await sql<{ rows: number }[]>`
    SELECT seq_tup_read + idx_tup_fetch AS rows FROM pg_stat_all_tables WHERE relid = 'idempotency_keys'::regclass`;
  return row?.rows ?? Number.NaN;
}

test.each([['never had a row'], ['was emptied']])(
  'the rate check and the claim of an Idempotency-Key read only rows of that key, in a table that %s',
  async (history) => {
    const database = await openBooks();
    const { organisationId, environment } = database.book;
    // The table that never had a row has no statistics.
    if (history === 'was emptied') await database.owner`ANALYZE idempotency_keys`;
    const sql = connect(database.url, { connectionsMax: 1, synchronousCommit: 'off' });
    const keys = new IdempotencyKeys({ asyncCommitSql: sql, sql: database.sql, keptDays: 7 });
    const admission = new RateLimiter(sql, ROWS);
    const caller = { keyId: newUuid(), scopes: [], book: database.book };
    const claimTwice = async () => {
      const key = newUuid();
      expect(await admission.check(caller, key)).toMatchObject({ keyIsKnown: false });
      await keys.claim(database.book, key, 'AAAA');
      expect(await admission.check(caller, key)).toMatchObject({ keyIsKnown: true });
      await expect(keys.claim(database.book, key, 'AAAA')).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' });
    };
    for (let run = 0; run < RUNS; run += 1) await claimTwice();
    await database.owner`
      INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, claim, claimed_until)
      SELECT ${organisationId}, ${environment}, 'full/' || n, '', gen_random_uuid(), now() FROM generate_series(1, ${ROWS}) AS n`;
    const before = await rowsRead(sql);
    await claimTwice();
    expect((await rowsRead(sql)) - before).toBeLessThan(READ_MAX);
    await sql.end();
    await database.close();
  },
);
