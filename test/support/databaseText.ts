// Searches all tables of a database for text that must not be stored.
import type { Sql } from '../../src/database/pool.ts';

/** Returns the tables of all schemas with a row that contains this text, as text or as bytes. */
export async function tablesThatHold(sql: Sql, text: string): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')`;
  const hex = Buffer.from(text).toString('hex');
  const matches: string[] = [];
  for (const { name } of tables) {
    const [row] = await sql.unsafe<{ isMatch: boolean }[]>(
      `SELECT EXISTS (SELECT 1 FROM ${name} t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0) AS is_match`,
      [text, hex],
    );
    if (row?.isMatch) matches.push(name);
  }
  return matches;
}
