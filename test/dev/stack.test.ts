// The test stack itself: what every other test file leans on.
import { expect, test } from '@jest/globals';
import postgres from 'postgres';
import { createDatabase } from '../support/stack.ts';

test('each test database is migrated, is empty, and belongs to one test file', async () => {
  const [first, second] = await Promise.all([createDatabase(), createDatabase()]);
  const [one, two] = [postgres(first.url), postgres(second.url)];
  try {
    await one`CREATE TABLE only_here ()`;
    const [seen] =
      await two`SELECT to_regclass('only_here') AS found, (SELECT count(*)::int FROM migrations) AS migrations`;
    expect(seen).toEqual({ found: null, migrations: expect.any(Number) });
    expect(seen?.migrations).toBeGreaterThan(0);
  } finally {
    await Promise.all([one.end(), two.end()]);
    await Promise.all([first.drop(), second.drop()]);
  }
});

test('a test database goes away even while somebody is connected', async () => {
  const database = await createDatabase();
  const sql = postgres(database.url, { max: 1 });
  await sql`SELECT 1`;
  await database.drop();
  await expect(sql`SELECT 1`).rejects.toThrow(/terminat|CONNECTION|does not exist/);
  await sql.end();
});
