// The clock of the database, which dates every posting and every line of the sandbox bank. Code that
// compares with those dates reads it: the clock of a process may be minutes off.
import type { Sql } from './pool.ts';

export async function readDatabaseTime(sql: Sql): Promise<Date> {
  const [row] = await sql<{ now: Date }[]>`SELECT now()::timestamptz(3) AS now`;
  if (row === undefined) throw new Error('the database returned no time');
  return row.now;
}
