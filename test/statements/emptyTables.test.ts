// Plans are kept. One that was made while a table was empty must serve as well when the table is full, before the database has
// gathered statistics: it finds by index what a batch names, and reads nothing else.
import { expect, test } from '@jest/globals';
import { IdempotencyKeys } from '../../src/api/admission/idempotency.ts';
import { RateLimiter } from '../../src/api/admission/rateLimit.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid } from '../../src/ids.ts';
import { openBooks } from '../ledger/books.ts';

/** Far more than a look-up may read, and far more than an empty table's plan expects. */
const ROWS = 5_000;

/** From the sixth run on a plan may be kept. */
const RUNS = 8;

/** A look, a claim and its repeat look at a handful of rows. */
const READ_MAX = 20;

/** Rows of the table that the database has read so far. */
async function rowsRead(sql: Sql): Promise<number> {
  await sql`SELECT pg_stat_force_next_flush()`;
  const [row] = await sql<{ rows: number }[]>`
    SELECT seq_tup_read + idx_tup_fetch AS rows FROM pg_stat_all_tables WHERE relid = 'idempotency_keys'::regclass`;
  return row?.rows ?? Number.NaN;
}

test.each([['never had a row'], ['was emptied']])(
  'a look at an Idempotency-Key and a claim of it read that key, in a table that %s',
  async (past) => {
    const books = await openBooks();
    const { organisationId, environment } = books.book;
    if (past === 'was emptied') await books.owner`ANALYZE idempotency_keys`; // nothing is known of the one that never had a row
    const sql = connect(books.url, { connectionsMax: 1, synchronousCommit: 'off' });
    const keys = new IdempotencyKeys({ asyncCommitSql: sql, sql: books.sql, keptDays: 7 });
    const admission = new RateLimiter(sql, ROWS);
    const caller = { keyId: newUuid(), scopes: [], book: books.book };
    const claimTwice = async () => {
      const key = newUuid();
      expect(await admission.check(caller, key)).toMatchObject({ keyIsKnown: false });
      await keys.claim(books.book, key, 'AAAA');
      expect(await admission.check(caller, key)).toMatchObject({ keyIsKnown: true });
      await expect(keys.claim(books.book, key, 'AAAA')).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_PROGRESS' });
    };
    for (let run = 0; run < RUNS; run += 1) await claimTwice();
    await books.owner`
      INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, claim, claimed_until)
      SELECT ${organisationId}, ${environment}, 'full/' || n, '', gen_random_uuid(), now() FROM generate_series(1, ${ROWS}) AS n`;
    const before = await rowsRead(sql);
    await claimTwice();
    expect((await rowsRead(sql)) - before).toBeLessThan(READ_MAX);
    await sql.end();
    await books.close();
  },
);
