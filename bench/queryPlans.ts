// The plans that the database ran a piece of the service with, those inside its functions too.
import postgres from 'postgres';
import type { Sql } from '../src/database/pool.ts';
import { superuserUrl } from './stage.ts';

/** Runs the work on a connection that tells every plan, as EXPLAIN (ANALYZE, BUFFERS) shows it. */
export async function plansOf(
  adminUrl: string,
  databaseUrl: string,
  work: (sql: Sql) => Promise<unknown>,
): Promise<string> {
  const told: string[] = [];
  let listening = false;
  // auto_explain is a superuser's.
  const sql = postgres(superuserUrl(adminUrl, databaseUrl), {
    max: 1,
    transform: { column: { from: postgres.toCamel } },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
    onnotice: ({ message }) => {
      if (listening && message !== undefined) told.push(message);
    },
  });
  try {
    // Twice unheard: a connection's first statements fill its caches.
    await work(sql);
    await work(sql);
    await sql`LOAD 'auto_explain'`;
    const settings = { log_min_duration: '0', log_analyze: 'on', log_buffers: 'on', log_nested_statements: 'on' };
    for (const [name, value] of Object.entries(settings)) await sql.unsafe(`SET auto_explain.${name} = '${value}'`);
    await sql`SET client_min_messages = 'log'`;
    listening = true;
    await work(sql);
  } finally {
    await sql.end();
  }
  // Without the values of arrays, which can be long.
  return told.map((plan) => plan.replaceAll(/'\{[^']{200,}\}'/g, "'{…}'")).join('\n\n');
}
