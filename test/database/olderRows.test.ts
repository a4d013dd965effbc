// A process of the release before writes complete rows as it knows them: without a column that this release has added.
// A function that writes the column gives it the default of the table.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import postgres from 'postgres';
import { createDatabase, ownerOf, type TestDatabase } from '../support/stack.ts';

let database: TestDatabase;
let sql: postgres.Sql;

beforeAll(async () => {
  database = await createDatabase();
  sql = postgres(ownerOf(database.url), { max: 1 });
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

/** `INSERT INTO table (columns) SELECT expressions FROM`, as each function of write_rows.sql writes its rows. */
const INSERT = /INSERT INTO (\w+) \(([^)]+)\)\s+SELECT\s+(.+?)\s+FROM jsonb_populate_recordset/gs;

test('a column with a default that must not be NULL is read with coalesce', async () => {
  const functions = await sql<{ name: string; source: string }[]>`
    SELECT proname AS name, prosrc AS source FROM pg_proc
    WHERE pronamespace = 'ledger'::regnamespace AND starts_with(proname, 'write_') AND prosrc ~ 'jsonb_populate_recordset'`;
  const columns = await sql<{ table: string; column: string }[]>`
    SELECT attrelid::regclass::text AS table, attname AS column FROM pg_attribute
    WHERE attnotnull AND atthasdef AND attgenerated = '' AND NOT attisdropped AND attnum > 0
      AND attname <> 'created_at' -- from the beginning: every release writes it`;
  const withDefault = new Set(columns.map(({ table, column }) => `${table}.${column}`));
  const inserts = functions.flatMap(({ name, source }) =>
    [...source.matchAll(INSERT)].map((match) => ({ name, match })),
  );
  expect(inserts.length).toBeGreaterThan(10);

  const found = inserts.flatMap(({ name, match: [, table, names = '', expressions = ''] }) => {
    // Commas between parentheses do not separate expressions.
    const written = expressions.split(/,\s*(?![^(]*\))/);
    return names
      .split(/,\s*/)
      .map((column, index) => ({ name, column: column.trim(), written: written[index]?.trim() ?? '' }))
      .filter(({ column, written: text }) => withDefault.has(`${table}.${column}`) && !text.startsWith('coalesce('));
  });
  expect(found).toEqual([]);
});
