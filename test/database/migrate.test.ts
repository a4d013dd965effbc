// Migrations: applied once under concurrent starts, immutable, never reversed; functions, which are applied when their
// version is newer; and rules for every table of the schema.
import { copyFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { migrate } from '../../src/database/migrate.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { LAST_MINORS, refuseRelease } from '../../src/database/releases.ts';
import { newUuid } from '../../src/ids.ts';
import { VERSION } from '../../src/release.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { createDatabase, createEmptyDatabase, ownerOf, type TestDatabase } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const FILES = (await readdir(new URL('../../src/database/migrations/', import.meta.url))).toSorted();
const FUNCTIONS = (await readdir(new URL('../../src/ledger/sql/', import.meta.url))).toSorted();

async function withOwner<Result>(url: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const sql = connect(ownerOf(url), { connectionsMax: 1, role: 'owner' });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

const recorded = (sql: Sql) => sql<{ name: string }[]>`SELECT name FROM migrations ORDER BY number`;

test('of twenty concurrent runs all succeed, and each file is applied once', async () => {
  const database = await createEmptyDatabase();
  const runs = await Promise.all(Array.from({ length: 20 }, () => migrate(ownerOf(database.url))));
  expect(runs.flatMap(({ applied }) => applied).toSorted()).toEqual([...FILES, ...FUNCTIONS].toSorted());
  expect((await withOwner(database.url, recorded)).map(({ name }) => name)).toEqual(FILES);
  expect(await migrate(ownerOf(database.url))).toEqual({ applied: [] });
  await database.drop();
});

test('the name of each file is logged as it is applied', async () => {
  const database = await createEmptyDatabase();
  const lines: string[] = [];
  await migrate(ownerOf(database.url), { log: (line) => lines.push(line) });
  expect(lines).toEqual([...FILES, ...FUNCTIONS].map((name) => `applied ${name}`));
  await database.drop();
});

test('a file that was edited after it was applied is refused by name', async () => {
  const database = await createDatabase();
  await withOwner(database.url, (sql) => sql`UPDATE migrations SET checksum = 'another' WHERE number = 2`);
  await expect(migrate(ownerOf(database.url))).rejects.toThrow(`Migration ${FILES[1]} was edited after it was applied`);
  await database.drop();
});

test('migrations of a later release stay, and it says so', async () => {
  const database = await createDatabase();
  await withOwner(
    database.url,
    (sql) => sql`INSERT INTO migrations (number, name, checksum) VALUES (9999, '9999_from_the_future.sql', 'x')`,
  );
  const lines: string[] = [];
  expect(await migrate(ownerOf(database.url), { log: (line) => lines.push(line) })).toEqual({ applied: [] });
  expect(lines).toEqual(['9999_from_the_future.sql is of a later release, and stays: this one runs on it']);
  await database.drop();
});

test('a database of another history is refused and left unchanged', async () => {
  const database = await createDatabase();
  await withOwner(database.url, (sql) => sql`UPDATE migrations SET number = 0 WHERE number = 2`);
  await expect(migrate(ownerOf(database.url))).rejects.toThrow('which is not of this history');
  await database.drop();
});

test('a release goes back on the database of the next minor, and up again, and none is left out', async () => {
  const database = await createDatabase();
  const run = (version: string) => migrate(ownerOf(database.url), { version });
  const [major, minor] = VERSION.split('.').map(Number) as [number, number];
  const [next, afterNext] = [`${major}.${minor + 1}.0`, `${major}.${minor + 2}.0`];
  await expect(run(afterNext)).rejects.toThrow(`last migrated by ${major}.${minor}. No minor may be left out`);
  for (const version of [next, VERSION, next]) await run(version);
  await run(afterNext);
  await expect(run(VERSION)).rejects.toThrow(`was migrated by ${major}.${minor + 2}. Only the minor before`);
  await database.drop();
});

test.each([
  ['0.2', [], null],
  ['0.1', ['0.1'], null],
  ['0.2', ['0.1'], null],
  ['0.3', ['0.1'], 'left out'],
  ['0.1', ['0.2', '0.1'], null],
  ['0.1', ['0.3', '0.2'], 'Only the minor before 0.3'],
  // Went back to 0.1, so 0.2 is not what runs now.
  ['0.3', ['0.1', '0.2'], 'last migrated by 0.1'],
  ['0.10', ['0.9'], null],
  ['1.0', ['0.9'], null],
  ['0.9', ['1.0', '0.9'], null],
  ['1.0', ['0.8'], 'No minor may be left out'],
  ['1.0', ['0.1'], 'No minor may be left out'],
  ['0.8', ['1.0', '0.9'], 'Only the minor before 1.0'],
  ['1.1', ['0.9'], 'left out'],
  ['2.0', ['1.0'], 'left out'],
])('%s after %j, where 0.9 is the last of its major: %s', (minor, minors, reason) => {
  const refusal = refuseRelease(minor, minors, { 0: 9 });
  expect(reason === null ? refusal : refusal?.includes(reason)).toBe(reason === null ? null : true);
});

test('the last minor of every major before this release is known', () => {
  const majors = Array.from({ length: Number(VERSION.split('.')[0]) }, (_, major) => major);
  expect(Object.keys(LAST_MINORS).map(Number)).toEqual(majors);
});

test('a failed file leaves no changes and is applied by the next run', async () => {
  const database = await createEmptyDatabase();
  // A table of the second file exists already.
  await withOwner(database.url, (sql) => sql`CREATE TABLE adjustments ()`);
  await expect(migrate(ownerOf(database.url))).rejects.toThrow('relation "adjustments" already exists');
  await withOwner(database.url, async (sql) => {
    expect((await recorded(sql)).map(({ name }) => name)).toEqual(FILES.slice(0, 1));
    expect(await sql`SELECT to_regclass('fee_sweeps') AS sweeps`).toEqual([{ sweeps: null }]);
    await sql`DROP TABLE adjustments`;
  });
  expect(await migrate(ownerOf(database.url))).toEqual({ applied: [...FILES.slice(1), ...FUNCTIONS] });
  await database.drop();
});

describe('a later migration', () => {
  /** A folder with the numbered files and one that a later release adds. */
  function withLater(name: string, text: string): URL {
    const folder = temporaryFolder();
    for (const file of FILES) {
      copyFileSync(new URL(`../../src/database/migrations/${file}`, import.meta.url), path.join(folder, file));
    }
    writeFileSync(path.join(folder, name), text);
    return pathToFileURL(`${folder}/`);
  }

  test('a migration retries while its table is locked and is applied when the lock is released', async () => {
    const database = await createDatabase();
    const name = '9000_wallets_with_a_note.sql';
    const folder = withLater(name, 'ALTER TABLE wallets ADD COLUMN note text;');
    const lines: string[] = [];
    const [holder, other] = [
      connect(database.url, { connectionsMax: 1 }),
      connect(database.url, { connectionsMax: 1 }),
    ];
    const locking = await holder.reserve();
    await locking`BEGIN`;
    await locking`SELECT FROM wallets`;
    const migrated = migrate(ownerOf(database.url), { folder, log: (line) => lines.push(line) });
    await waitFor('the migration to time out on the lock', () =>
      lines.includes(`${name}: lock timeout on a table; retrying`),
    );
    // A read queues behind the migration for no longer than its lock timeout.
    expect(await other`SELECT FROM wallets`).toHaveLength(0);
    await locking`COMMIT`;
    locking.release();
    expect(await migrated).toEqual({ applied: [name] });
    expect(await other`SELECT note FROM wallets`).toHaveLength(0);
    await Promise.all([holder.end(), other.end()]);
    await database.drop();
  });

  test('an index is built while other connections write, and rebuilt if a previous build was interrupted', async () => {
    const database = await createDatabase();
    const name = '9000_wallets_by_phone_concurrently.sql';
    const folder = withLater(
      name,
      '-- Why.\nCREATE INDEX CONCURRENTLY IF NOT EXISTS wallets_by_phone ON wallets (organisation_id, phone);',
    );
    const insert = (sql: Sql) => sql`
      INSERT INTO wallets (organisation_id, environment, id, kind, email, created_at)
      VALUES (gen_random_uuid(), 'test', gen_random_uuid(), 'end_user', 'ada@test.example', now())`;
    await withOwner(database.url, async (sql) => {
      await insert(sql);
      await insert(sql);
      const unique = sql`CREATE UNIQUE INDEX CONCURRENTLY wallets_by_phone ON wallets (email)`;
      // The failed build leaves an invalid index.
      await expect(unique).rejects.toMatchObject({ code: '23505' });
    });
    const connectOne = () => connect(ownerOf(database.url), { connectionsMax: 1, role: 'owner' });
    const [early, late] = [connectOne(), connectOne()];
    const writing = await early.reserve();
    await writing`BEGIN`;
    await insert(writing);
    const runs = Promise.all(Array.from({ length: 5 }, () => migrate(ownerOf(database.url), { folder })));
    await waitFor('the build to wait for the open transaction', async () => {
      const waiting = `SELECT FROM pg_stat_activity WHERE query ~ '^(CREATE|DROP) INDEX CONCURRENTLY' AND wait_event_type = 'Lock'`;
      return (await queryAsOwner(database.url, waiting)).length === 1;
    });
    // A plain CREATE INDEX would block this write.
    await insert(late);
    await writing`COMMIT`;
    writing.release();
    expect((await runs).flatMap(({ applied }) => applied)).toEqual([name]);
    const index = `SELECT pg_get_indexdef(indexrelid) AS text, indisvalid AS valid FROM pg_index WHERE indexrelid = 'wallets_by_phone'::regclass`;
    expect(await queryAsOwner(database.url, index)).toEqual([
      { text: expect.stringContaining('(organisation_id, phone)'), valid: true },
    ]);
    await Promise.all([early.end(), late.end()]);
    await database.drop();
  });
});

const queryAsOwner = <Row extends object>(url: string, text: string): Promise<Row[]> =>
  withOwner(url, async (sql) => [...(await sql.unsafe<Row[]>(text))]);

describe('files of functions', () => {
  const FILE = 'last_final_posting.sql';
  /** Replaces the function, and records the given version and checksum for its file. */
  const replaceFunction = (sql: Sql, version: number, checksum?: string) =>
    sql.unsafe(`
      CREATE OR REPLACE FUNCTION ledger.last_final_posting(organisation uuid, longest interval DEFAULT '15 s') RETURNS bigint
      LANGUAGE sql AS 'SELECT -1::bigint';
      UPDATE functions SET version = ${version}, checksum = coalesce(${checksum ? `'${checksum}'` : 'NULL'}, checksum)
      WHERE name = '${FILE}';`);
  const callFunction = async (sql: Sql): Promise<number | undefined> =>
    (await sql<{ id: number }[]>`SELECT ledger.last_final_posting(${newUuid()}) AS id`)[0]?.id;

  test("a file of functions is applied again if its version is newer than the database's", async () => {
    const database = await createDatabase();
    await withOwner(database.url, async (sql) => {
      await replaceFunction(sql, 0);
      expect(await migrate(ownerOf(database.url))).toEqual({ applied: [FILE] });
      expect(await callFunction(sql)).toBeGreaterThan(0);
    });
    expect(await migrate(ownerOf(database.url))).toEqual({ applied: [] });
    await database.drop();
  });

  test('a file of functions is not applied if the database has a newer version, so an older process cannot downgrade it', async () => {
    const database = await createDatabase();
    await withOwner(database.url, async (sql) => {
      await replaceFunction(sql, 99);
      expect(await migrate(ownerOf(database.url))).toEqual({ applied: [] });
      expect(await callFunction(sql)).toBe(-1);
    });
    await database.drop();
  });

  test('a file of functions that was edited without a new version is refused by name', async () => {
    const database = await createDatabase();
    const [applied] = await withOwner(
      database.url,
      (sql) => sql<{ version: number }[]>`SELECT version FROM functions WHERE name = ${FILE}`,
    );
    const version = Number(applied?.version);
    await withOwner(database.url, (sql) => replaceFunction(sql, version, 'another'));
    await expect(migrate(ownerOf(database.url))).rejects.toThrow(
      `${FILE} was edited and is still version ${version}. Raise the number in its first line.`,
    );
    await database.drop();
  });
});

describe('rules for tables and functions', () => {
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

  /**
   * All tables except the migration records, which are global, and those of the sandbox bank, which is an external
   * system.
   */
  const tables = () => owner<{ name: string; scoped: boolean; unscopedIndexes: string[] | null }[]>`
    SELECT c.oid::regclass::text AS name,
           EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'organisation_id' AND a.attnotnull) AS scoped,
           (SELECT array_agg(i.indexrelid::regclass::text) FROM pg_index i
            WHERE i.indrelid = c.oid AND i.indisunique AND NOT EXISTS (
              SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'organisation_id'
                AND a.attnum = ANY (i.indkey::smallint[]))) AS unscoped_indexes
    FROM pg_class c
    WHERE c.relkind IN ('r', 'p') AND c.relnamespace::regnamespace::text !~ '^pg_|^information_schema$|^sandbox_bank$|^template$'
      AND c.oid NOT IN ('migrations'::regclass, 'functions'::regclass, 'releases'::regclass)
    ORDER BY 1`;

  test('every table and every unique key has organisation_id, so that an organisation can be moved or sharded', async () => {
    const list = await tables();
    expect(list.length).toBeGreaterThanOrEqual(20);
    expect(list.filter(({ scoped }) => !scoped).map(({ name }) => name)).toEqual([]);
    expect(list.flatMap(({ unscopedIndexes }) => unscopedIndexes ?? [])).toEqual([]);
  });

  test('the check for organisation_id detects a table without it', async () => {
    await owner`CREATE TABLE stray (id bigint PRIMARY KEY, organisation_id uuid)`;
    const stray = (await tables()).find(({ name }) => name === 'stray');
    expect(stray).toMatchObject({ scoped: false, unscopedIndexes: ['stray_pkey'] });
    await owner`DROP TABLE stray`;
  });

  test('every table has an environment column, except organisations, operators and their limits, failing flows, rate counters and migration records', async () => {
    const rows = await owner<{ name: string }[]>`
      SELECT c.oid::regclass::text AS name FROM pg_class c
      WHERE c.relkind = 'r' AND c.relnamespace IN ('public'::regnamespace, 'ledger'::regnamespace)
        AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'environment')
      ORDER BY 1`;
    expect(rows.map(({ name }) => name)).toEqual([
      'decision_limits',
      'failing_flows',
      'functions',
      'migrations',
      'operator_codes',
      'operators',
      'organisations',
      'rate_counters',
      'releases',
    ]);
  });

  test('every table that movements write is accepted by ledger.write_rows, and no other', async () => {
    const rows = await owner<{ name: string }[]>`
      SELECT substr(proname, 7) AS name FROM pg_proc
      WHERE pronamespace = 'ledger'::regnamespace AND proname ~ '^write_' AND proname NOT IN ('write_rows', 'write_records')`;
    expect(rows.length).toBeGreaterThanOrEqual(10);
    const write = (table: string) =>
      owner`SELECT ledger.write_rows(${newUuid()}, 'test', ${table}, '[]') AS is_written`;
    for (const { name } of rows) expect(await write(name)).toEqual([{ isWritten: true }]);
    await expect(write('strays')).rejects.toMatchObject({ code: '20000' });
  });

  test('every column of a table that movements write is written', async () => {
    const columns = await owner<{ name: string }[]>`
      SELECT p.proname || ': ' || a.attname AS name
      FROM pg_proc p JOIN pg_attribute a ON a.attrelid = substr(p.proname, 7)::regclass
      WHERE p.pronamespace = 'ledger'::regnamespace AND p.proname ~ '^write_' AND p.proname NOT IN ('write_rows', 'write_records')
        AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity = '' AND p.prosrc !~ ('\\m' || a.attname || '\\M')`;
    expect(columns).toEqual([]);
  });

  test('no function of the ledger is executable by PUBLIC', async () => {
    const rows = await owner`
      SELECT p.oid::regprocedure::text AS name FROM pg_proc p
      WHERE p.pronamespace = 'ledger'::regnamespace AND has_function_privilege('public', p.oid, 'EXECUTE')`;
    expect([...rows]).toEqual([]);
  });
});
