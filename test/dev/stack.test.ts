// The test stack, on which every other test file depends.
import { expect, test } from '@jest/globals';
import postgres from 'postgres';
import { createDatabase, ownerOf } from '../support/stack.ts';

test('each test database is migrated, empty and isolated from the others', async () => {
  const [first, second] = await Promise.all([createDatabase(), createDatabase()]);
  const [one, two] = [postgres(ownerOf(first.url)), postgres(ownerOf(second.url))];
  try {
    await one`CREATE TABLE only_here ()`;
    const [row] =
      await two`SELECT to_regclass('only_here') AS found, (SELECT count(*)::int FROM migrations) AS migrations`;
    expect(row).toEqual({ found: null, migrations: expect.any(Number) });
    expect(row?.migrations).toBeGreaterThan(0);
  } finally {
    await Promise.all([one.end(), two.end()]);
    await Promise.all([first.drop(), second.drop()]);
  }
});

test('a test database can be dropped while a client is connected', async () => {
  const database = await createDatabase();
  const sql = postgres(database.url, { max: 1 });
  await sql`SELECT 1`;
  await database.drop();
  await expect(sql`SELECT 1`).rejects.toThrow(/terminat|CONNECTION|does not exist/);
  await sql.end();
});
