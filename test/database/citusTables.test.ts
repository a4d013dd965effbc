// The lists of deploy/citus/distribute.sql have every table of the migrations: one that is added later is noticed here,
// without a Citus. What the cluster does with them is tested by `npm run test:citus`.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, expect, test } from '@jest/globals';
import { connect } from '../../src/database/pool.ts';
import { createDatabase, ownerOf } from '../support/stack.ts';

const script = readFileSync(new URL('../../deploy/citus/distribute.sql', import.meta.url), 'utf8');

function listed(name: string): string[] {
  const [, list] = new RegExp(`\\b${name} CONSTANT text\\[\\] := ARRAY\\[([^\\]]+)\\]`).exec(script) ?? [];
  if (list === undefined) throw new Error(`distribute.sql has no list ${name}`);
  return [...list.matchAll(/'([a-z_.]+)'/g)].map(([, table = '']) => table);
}

const onEachNode = listed('on_each_node');
const byOrganisation = listed('by_organisation');

/** Of a payment, by column. */
const paymentColumns = {
  method: 'bank_transfer',
  on_mismatch: 'hold',
  status: 'pending',
  base_amount: 1_000,
  fee: 0,
  amount_received: 0,
  amount_credited: 0,
  amount_refunding: 0,
  amount_refunded: 0,
  target_wallet_id: randomUUID(),
  expires_at: new Date(),
  created_at: new Date(),
};

const database = await createDatabase();
const sql = connect(ownerOf(database.url), { connectionsMax: 1, role: 'owner' });

afterAll(async () => {
  await sql.end();
  await database.drop();
});

test('every table of an organisation is in exactly one list, and every listed table exists', async () => {
  // The sandbox bank, a fake of an external system, stays on the coordinator.
  const tables = await sql<{ name: string }[]>`
    SELECT n.nspname || '.' || c.relname AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE a.attname = 'organisation_id' AND c.relkind IN ('r', 'p') AND n.nspname NOT IN ('sandbox_bank', 'template')`;
  expect([...onEachNode, ...byOrganisation].toSorted()).toEqual(tables.map(({ name }) => name).toSorted());
});

test('what is on each node is of the whole installation: no organisation has rows in it', async () => {
  const tables = await sql<{ name: string }[]>`
    SELECT conrelid::regclass::text AS name FROM pg_constraint
    WHERE contype = 'c' AND pg_get_constraintdef(oid) = ${"CHECK ((organisation_id = '00000000-0000-0000-0000-000000000000'::uuid))"}`;
  const ofInstallation = tables.map(({ name }) => `public.${name}`);
  expect(onEachNode.filter((table) => !ofInstallation.includes(table))).toEqual([]);
});

test('every unique index of a distributed table has the organisation, or Citus refuses to distribute it', async () => {
  const wrong = await sql<{ index: string }[]>`
    SELECT i.indexrelid::regclass::text AS index FROM pg_index i
    WHERE i.indisunique AND i.indrelid = ANY (${byOrganisation}::regclass[]) AND NOT EXISTS (
      SELECT FROM pg_attribute a
      WHERE a.attrelid = i.indrelid AND a.attname = 'organisation_id' AND a.attnum = ANY (i.indkey))`;
  expect(wrong.map(({ index }) => index)).toEqual([]);
});

test('a function of the ledger that takes an organisation takes it first, by the name that distribute.sql looks for', async () => {
  const wrong = await sql<{ name: string }[]>`
    SELECT p.proname AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'ledger' AND EXISTS (
      SELECT FROM unnest(p.proargnames, p.proallargtypes) AS a (name, type) WHERE a.name ~ '^organisation' AND a.type IS NULL)
      AND (p.proargnames[1] <> 'organisation' OR p.proargtypes[0] <> 'uuid'::regtype)`;
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

test('a function that reads or writes tables of organisations is in plpgsql: one in SQL becomes part of the statement of its caller', async () => {
  const functions = await sql<{ name: string; language: string; source: string }[]>`
    SELECT p.proname AS name, l.lanname AS language, p.prosrc AS source
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.pronamespace = 'ledger'::regnamespace AND p.prokind = 'f'`;
  const tables = byOrganisation.map((table) => table.replace('.', '\\.')).join('|');
  const reading = functions.filter(({ source }) =>
    new RegExp(`\\b(FROM|JOIN|INTO|UPDATE) (${tables})\\b`).test(source),
  );
  expect(reading.length).toBeGreaterThan(20);
  expect(reading.filter(({ language }) => language !== 'plpgsql').map(({ name }) => name)).toEqual([]);
});

test('what a function has written of rows that may conflict is counted by RETURNING: Citus counts those that it has read', async () => {
  const [, found = ''] = /p\.prosrc ~ '([^']+)'/.exec(script) ?? [];
  const [, pattern = '', replacement = ''] =
    /regexp_replace\(\s*next\.definition, '([^']+)',\s*'([^']+)'\)/.exec(script) ?? [];
  const functions = await sql<{ name: string; isFound: boolean; counted: string }[]>`
    SELECT p.proname AS name, p.prosrc ~ ${found} AS is_found,
           regexp_replace(pg_get_functiondef(p.oid), ${pattern}, ${replacement}) AS counted
    FROM pg_proc p
    WHERE p.pronamespace = 'ledger'::regnamespace AND p.prosrc ~ 'SELECT[^;]*ON CONFLICT[^;]*;\\s*GET DIAGNOSTICS'
    ORDER BY 1`;
  expect(functions.map(({ name }) => name)).toContain('write_payments');
  expect(functions.filter(({ isFound }) => !isFound)).toEqual([]);
  for (const { counted } of functions) await sql.unsafe(counted);
  const row = { ...paymentColumns, id: randomUUID(), version: 2 };
  const organisation = randomUUID();
  const write = () =>
    sql`SELECT ledger.write_payments(${organisation}, 'test', ${JSON.stringify([row])}::text::json) AS is_written`;
  expect([await write(), await write()]).toMatchObject([[{ isWritten: true }], [{ isWritten: false }]]);
});
