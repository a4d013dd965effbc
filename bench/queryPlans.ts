// The query plans with which the database executed a piece of the service, including statements inside functions.
import postgres from 'postgres';
import type { Sql } from '../src/database/pool.ts';
import { superuserUrl } from './stage.ts';

/** Runs the work on a connection with auto_explain. Returns every plan in the format of EXPLAIN (ANALYZE, BUFFERS). */
export async function plansOf(
  adminUrl: string,
  databaseUrl: string,
  work: (sql: Sql) => Promise<unknown>,
): Promise<string> {
  const plans: string[] = [];
  let isRecording = false;
  // Only a superuser may load auto_explain.
  const sql = postgres(superuserUrl(adminUrl, databaseUrl), {
    max: 1,
    transform: { column: { from: postgres.toCamel } },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
    onnotice: ({ message }) => {
      if (isRecording && message !== undefined) plans.push(message);
    },
  });
  try {
    // Two runs without recording: the first statements of a connection fill its caches.
    await work(sql);
    await work(sql);
    await sql`LOAD 'auto_explain'`;
    const settings = { log_min_duration: '0', log_analyze: 'on', log_buffers: 'on', log_nested_statements: 'on' };
    for (const [name, value] of Object.entries(settings)) await sql.unsafe(`SET auto_explain.${name} = '${value}'`);
    await sql`SET client_min_messages = 'log'`;
    isRecording = true;
    await work(sql);
  } finally {
    await sql.end();
  }
  // Abbreviate long array values.
  return plans.map((plan) => plan.replaceAll(/'\{[^']{200,}\}'/g, "'{…}'")).join('\n\n');
}
