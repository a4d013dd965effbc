// Constraints are known by the names of the migrations, whatever the server makes of them: errors of a plain Postgres,
// and errors as Citus passes them on from a shard.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isContention, isOutage, violatedCheck, violatedUnique } from '../../src/database/errors.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { createDatabase, ownerOf, type TestDatabase } from '../support/stack.ts';

const DUPLICATE = 'duplicate key value violates unique constraint';
test.each([
  [{ code: '40P01', message: 'deadlock detected' }, true],
  [{ code: 'XX000', message: 'could not find valid entry for shard 102067' }, true],
  [{ code: 'XX000', message: 'cache lookup failed' }, false],
  [{ code: '23505' }, false],
  [null, false],
])('a statement with %j may be sent again at once: %s', (error, may) => {
  expect(isContention(error)).toBe(may);
});

test.each([
  [{ code: '08006', message: 'connection to the remote node failed' }, true],
  [{ code: 'XX000', message: 'failure on connection marked as essential: db-worker-2:5432' }, true],
  [{ code: 'XX000', message: 'server closed the connection unexpectedly\n\tThis probably means…' }, true],
  [{ code: 'XX000', message: 'cache lookup failed' }, false],
  [{ code: '40P01' }, false],
  [null, false],
])('%j is an outage: %s', (error, is) => {
  expect(isOutage(error)).toBe(is);
});

const REFUSED = 'new row for relation "wallets_102040" violates check constraint';

test.each([
  [
    { code: '23505', constraint_name: 'one_settlement_wallet', message: `${DUPLICATE} "other"` },
    'one_settlement_wallet',
  ],
  [{ code: '23505', constraint_name: 'one_settlement_wallet_102047' }, 'one_settlement_wallet'],
  [{ code: '23505', message: `${DUPLICATE} "one_settlement_wallet_102047"` }, 'one_settlement_wallet'],
  [{ code: '23505', constraint_name: '', message: `${DUPLICATE} "wallets_pkey_1020471"` }, 'wallets_pkey'],
  [{ code: '23505', message: `${DUPLICATE} "tier_2024"` }, 'tier_2024'],
  [{ code: '23505', message: 'posted twice' }, null],
  [{ code: '23505' }, null],
  [{ code: '23514', constraint_name: 'closed_is_empty' }, null],
  [{ code: '23514', message: `${REFUSED} "one_settlement_wallet_102047"` }, null],
  [new Error('no such host'), null],
  [null, null],
])('the unique constraint that %j violates is %s', (error, name) => {
  expect(violatedUnique(error)).toBe(name);
});

test.each([
  [{ code: '23514', constraint_name: 'closed_is_empty' }, 'closed_is_empty'],
  [{ code: '23514', message: `${REFUSED} "closed_is_empty_102040"` }, 'closed_is_empty'],
  [{ code: '23514', message: 'unknown environment: staging' }, null],
  [{ code: '23505', constraint_name: 'one_settlement_wallet' }, null],
])('the CHECK constraint that %j violates is %s', (error, name) => {
  expect(violatedCheck(error)).toBe(name);
});

describe('on a server', () => {
  let database: TestDatabase;
  let owner: Sql;
  beforeAll(async () => {
    database = await createDatabase();
    owner = connect(ownerOf(database.url), { connectionsMax: 1, role: 'owner' });
  });
  afterAll(async () => {
    await owner.end();
    await database.drop();
  });

  const errorOf = (statement: string): Promise<unknown> =>
    owner.unsafe(statement).then(
      () => null,
      (error: unknown) => error,
    );

  test('errors of a table that is named like a shard name the constraints of the table', async () => {
    await owner`
      CREATE TABLE books_102008 (
        id integer, CONSTRAINT book_unique_102008 UNIQUE (id), CONSTRAINT book_positive_102008 CHECK (id > 0))`;
    expect(violatedUnique(await errorOf('INSERT INTO books_102008 VALUES (1), (1)'))).toBe('book_unique');
    expect(violatedCheck(await errorOf('INSERT INTO books_102008 VALUES (0)'))).toBe('book_positive');
  });

  test('errors that were passed on without their fields name the constraint too', async () => {
    const passedOn = (code: string, statement: string): string => `
      DO $$
      DECLARE told text;
      BEGIN
        ${statement};
      EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS told = MESSAGE_TEXT;
        RAISE EXCEPTION '%', told USING ERRCODE = '${code}';
      END $$`;
    await owner`
      CREATE TABLE shelves_102008 (
        id integer, CONSTRAINT shelf_unique_102008 UNIQUE (id), CONSTRAINT shelf_positive_102008 CHECK (id > 0))`;
    const twice = await errorOf(passedOn('23505', 'INSERT INTO shelves_102008 VALUES (1), (1)'));
    expect(twice).not.toHaveProperty('constraint_name');
    expect(violatedUnique(twice)).toBe('shelf_unique');
    expect(violatedCheck(await errorOf(passedOn('23514', 'INSERT INTO shelves_102008 VALUES (0)')))).toBe(
      'shelf_positive',
    );
  });

  test('no constraint is named like one of a shard, and each name has room for the number of a shard', async () => {
    const rows = await owner<{ name: string }[]>`
      SELECT DISTINCT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE i.indisunique AND c.relnamespace IN ('public'::regnamespace, 'ledger'::regnamespace)
      UNION SELECT conname FROM pg_constraint
      WHERE connamespace IN ('public'::regnamespace, 'ledger'::regnamespace)`;
    const names = rows.map(({ name }) => name).filter((name) => !/^(book|shelf)_/.test(name));
    expect(names).toContain('wallet_external_reference_unique');
    expect(names.filter((name) => /_\d{6,}$/.test(name) || name.length > 63 - '_1234567890'.length)).toEqual([]);
  });
});
