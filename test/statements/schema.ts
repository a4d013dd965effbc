// What the rules for statements know about the schema, read from a migrated database.
import type { Sql } from '../../src/database/pool.ts';
import type { Schema } from './distribution.ts';

export async function readSchema(sql: Sql): Promise<Schema> {
  const tables = await sql<{ name: string; columns: string[]; identity: string | null }[]>`
    SELECT CASE n.nspname WHEN 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END AS name,
           array_agg(a.attname::text) AS columns, max(a.attname::text) FILTER (WHERE a.attidentity <> '') AS identity
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p') AND n.nspname IN ('public', 'ledger') AND a.attnum > 0 AND NOT a.attisdropped
    GROUP BY 1 HAVING bool_or(a.attname = 'organisation_id')`;
  const bodies = await sql<{ name: string; body: string; isOfOrganisation: boolean }[]>`
    SELECT proname AS name, prosrc AS body, coalesce(proargnames[1] = 'organisation', false) AS is_of_organisation
    FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace`;
  const columns = new Map(tables.map(({ name, columns: names }) => [name, new Set(names)]));
  const identities = tables.flatMap(({ name, identity }) => (identity === null ? [] : [[name, identity] as const]));
  const functions = accessing(bodies, [...columns.keys()]);
  const delegated = bodies.filter(({ name, isOfOrganisation }) => isOfOrganisation && functions.has(name));
  return { columns, identities: new Map(identities), functions, delegated: new Set(delegated.map(({ name }) => name)) };
}

/** The functions that read or write a table, or call one that does. */
function accessing(bodies: readonly { name: string; body: string }[], tables: readonly string[]): Set<string> {
  const functions = new Set<string>();
  for (let before = -1; before < functions.size; ) {
    before = functions.size;
    const names = [...tables, ...[...functions].map((name) => `ledger.${name}`)].map((name) =>
      name.replace('.', '\\.'),
    );
    const access = new RegExp(`(?<![\\w.])(?:${names.join('|')})(?![\\w.])`);
    for (const { name, body } of bodies) if (access.test(body)) functions.add(name);
  }
  return functions;
}
