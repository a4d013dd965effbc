// Searches everything that a database holds, for what must not be in it.
import type { Sql } from '../../src/database/pool.ts';

/** The tables of every schema in which this text stands in some row, as text or as bytes. */
export async function tablesThatHold(sql: Sql, text: string): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')`;
  const hex = Buffer.from(text).toString('hex');
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await sql.unsafe<{ held: boolean }[]>(
      `SELECT EXISTS (SELECT FROM ${name} t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0) AS held`,
      [text, hex],
    );
    if (row?.held) found.push(name);
  }
  return found;
}
