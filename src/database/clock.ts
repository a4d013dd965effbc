// The clock of the database, which dates every posting and every line of the sandbox bank. Code that
// compares with those dates reads it: the clock of a process may be minutes off.
import { rowOf, type Sql } from './pool.ts';

export const readDatabaseTime = async (sql: Sql): Promise<Date> =>
  (await rowOf(sql<{ now: Date }[]>`SELECT now()::timestamptz(3) AS now`)).now;
