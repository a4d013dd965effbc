// Lists are complete, or report on standard error how many rows are missing and how to see them; with --json too.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect, type Sql } from '../../src/database/pool.ts';
import type { Uuid } from '../../src/ids.ts';
import { createOrganisation } from '../../src/resources/organisations.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { createDatabase, ownerOf, type TestDatabase } from '../support/stack.ts';
import { type Ended, runCli } from './run.ts';

/** More than the list of review cases shows. */
const CASES = 503;
const BREAKS = 2;
const FOUND = 31;
const KEYS = 600;

let database: TestDatabase;
let sql: Sql;
let home: string;
let organisationId: Uuid;

beforeAll(async () => {
  database = await createDatabase();
  home = await mkdtemp(path.join(tmpdir(), 'manilla-cli-'));
  sql = connect(ownerOf(database.url), { connectionsMax: 1, role: 'owner' });
  ({ organisationId } = await createOrganisation(sql, {
    name: 'Ada',
    email: 'ada@example.com',
    proof: OWNER_PROOF,
  }));
  // The newest cases are breaks in live.
  await sql`
    INSERT INTO review_cases (organisation_id, environment, id, version, reason, status, amount, account_code, attempts, created_at)
    SELECT ${organisationId}, CASE WHEN is_break THEN 'live' ELSE 'test' END, gen_random_uuid(), 1,
      CASE WHEN is_break THEN 'reconciliation_break' ELSE 'unknown_account' END, 'open', 100,
      CASE WHEN NOT is_break THEN 'suspense:unclaimed' END, 0, now() + n * interval '1 second'
    FROM (SELECT n, n > ${CASES - BREAKS} AS is_break FROM generate_series(1, ${CASES}) n) numbered`;
  await sql`
    INSERT INTO reconciliation_breaks
      (organisation_id, environment, id, version, rail, kind, line, reference, at, occurrence, created_at)
    SELECT organisation_id, environment, id, 1, 'sandbox', 'status', 'sent', id::text, now(), 1, now()
    FROM review_cases ORDER BY created_at LIMIT ${FOUND}`;
  await sql`
    INSERT INTO api_keys (organisation_id, environment, id, hash, hint, scopes, budgets)
    SELECT ${organisationId}, 'test', gen_random_uuid(), sha256(n::text::bytea), 'abcd', '{wallet}', ARRAY[gen_random_uuid()]
    FROM generate_series(1, ${KEYS}) n`;
});

afterAll(async () => {
  await sql.end();
  await database.drop();
  await rm(home, { recursive: true });
});

const run = (...words: string[]): Promise<Ended> => runCli(words, { databaseUrl: database.url, home });

/** The printed list, and the note on standard error. */
async function list(...words: string[]): Promise<{ rows: Record<string, unknown>[]; note: string }> {
  const { exitCode, output, errors } = await run(...words, '--json');
  expect(exitCode).toBe(0);
  return { rows: JSON.parse(output) as Record<string, unknown>[], note: errors };
}

test('a truncated list of review cases reports the total and the options that narrow it', async () => {
  const { rows, note } = await list('reviews', 'list');
  expect(rows).toHaveLength(500);
  expect(note).toBe(`Showing 500 of ${CASES}: the oldest. Narrow with --reason, --environment or --status.\n`);
  const table = await run('reviews', 'list');
  expect([table.exitCode, table.errors]).toEqual([0, note]);
  // Naira for people, kobo for programs.
  expect(table.output).toContain('₦1.00');
  expect(rows[0]).toMatchObject({ amount: 100 });
});

test.each([
  [['--reason', 'reconciliation_break'], BREAKS],
  [['--environment', 'live'], BREAKS],
  [['--environment', 'test', '--reason', 'reconciliation_break'], 0],
  [['--status', 'unclaimed'], 0],
])('review cases narrowed by %j are listed in full', async (words, count) => {
  const { rows, note } = await list('reviews', 'list', ...words);
  expect([rows.length, note]).toEqual([count, '']);
});

test('an unknown review reason is rejected with the allowed ones', async () => {
  expect(await run('reviews', 'list', '--reason', 'none')).toMatchObject({
    exitCode: 2,
    errors: expect.stringMatching(/Allowed choices are late_credit, .*reconciliation_break/),
  });
});

test('a truncated list of breaks is reported, and --limit shows more', async () => {
  const { rows, note } = await list('reconciliation', 'show');
  expect(rows).toHaveLength(30);
  expect(note).toBe(`Showing 30 of ${FOUND}: the newest. See more with --limit.\n`);
  const more = await list('reconciliation', 'show', '--limit', '100');
  expect(more.rows).toHaveLength(FOUND);
  expect(more.note).not.toContain('--limit');
});

test('keys and organisations are listed in full', async () => {
  const keys = await list('keys', 'list');
  expect([keys.rows.length, keys.note]).toEqual([KEYS, '']);
  const organisations = await list('organisations', 'list');
  expect([organisations.rows.length, organisations.note]).toEqual([1, '']);
});
