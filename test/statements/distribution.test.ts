// Every statement in the source, of the code and of the functions, is one that a distributed Postgres runs too. Those
// that are composed of fragments are seen whole in oneOrganisation.slow.test.ts.
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect, type Sql } from '../../src/database/pool.ts';
import { statementsOfCode, statementsOfFunctions } from '../support/sqlBlocks.ts';
import { createDatabase, ownerOf, type TestDatabase } from '../support/stack.ts';
import { delegation, RULES, type Schema } from './distribution.ts';
import { EXCEPTIONS } from './distributionExceptions.ts';
import { readSchema } from './schema.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('the rules', () => {
  const schema: Schema = {
    columns: new Map([
      ['wallets', new Set(['organisation_id', 'id', 'email', 'created_at'])],
      ['outbox', new Set(['organisation_id', 'id', 'topic', 'available_at'])],
      ['ledger.postings', new Set(['organisation_id', 'id', 'amount', 'created_at'])],
    ]),
    identities: new Map([
      ['outbox', 'id'],
      ['ledger.postings', 'id'],
    ]),
    functions: new Set(['open_account', 'reset_all']),
    delegated: new Set(['open_account']),
  };

  const UPSERT =
    'INSERT INTO wallets AS w (organisation_id, id, email) VALUES ($1, $2, $3) ON CONFLICT (organisation_id, id)';
  const NOT_THERE = 'NOT EXISTS (SELECT FROM wallets w WHERE w.organisation_id = $1 AND w.email = k.email)';
  const WRONG: Record<keyof typeof RULES, string[]> = {
    upserts: [
      `${UPSERT} DO UPDATE SET created_at = now()`,
      `${UPSERT} DO UPDATE SET created_at = current_timestamp`,
      `${UPSERT} DO UPDATE SET email = $3`,
      `${UPSERT} DO UPDATE SET email = lower(excluded.email)`,
      `${UPSERT} DO UPDATE SET email = excluded.email WHERE w.created_at < now() RETURNING id`,
      `${UPSERT} DO UPDATE SET email = CASE WHEN w.id = other THEN w.email ELSE excluded.email END`,
      `WITH written AS (${UPSERT} DO UPDATE SET created_at = now() RETURNING id) SELECT id FROM written`,
      'ON CONFLICT (id) DO UPDATE SET email = excluded.email',
    ],
    correlations: [
      `SELECT k.email FROM unnest($1::text[]) AS k (email) WHERE ${NOT_THERE}`,
      `INSERT INTO wallets (email) SELECT k.email FROM (SELECT unnest($1) AS email) k WHERE ${NOT_THERE}`,
      'SELECT (SELECT min(created_at) FROM wallets w WHERE w.email = k.email) FROM (VALUES ($1), ($2)) AS k (email)',
      'SELECT coalesce((SELECT max(id) FROM wallets w WHERE w.email = k.email), $1) FROM unnest($2) AS k (email)',
    ],
    laterals: [
      `SELECT w.id FROM unnest($1, $2) AS k (organisation_id, email), LATERAL (
         SELECT id FROM wallets w WHERE w.organisation_id = k.organisation_id AND w.email = k.email OFFSET 0) w`,
      `SELECT n.count FROM (VALUES ($1)) AS k (email) CROSS JOIN LATERAL (
         SELECT count(*) FROM wallets w WHERE w.email = k.email) n`,
      `SELECT w.id FROM (SELECT unnest($1) AS email) k JOIN LATERAL (
         SELECT id FROM wallets w WHERE w.email = k.email ORDER BY created_at LIMIT 1) w ON true`,
    ],
    joins: [
      `SELECT o.id FROM (SELECT * FROM wallets WHERE organisation_id = $1 ORDER BY id LIMIT 5) w
       LEFT JOIN outbox o ON o.organisation_id = w.organisation_id AND o.topic = w.email`,
      `SELECT n.id FROM outbox n JOIN (SELECT organisation_id FROM wallets OFFSET 0) w
       ON w.organisation_id = n.organisation_id`,
    ],
    locks: [
      'SELECT id FROM outbox ORDER BY available_at LIMIT 1 FOR UPDATE SKIP LOCKED',
      'WITH old AS (SELECT id FROM outbox WHERE topic = $1 FOR NO KEY UPDATE) DELETE FROM outbox o USING old WHERE o.id = old.id',
      'SELECT o.id FROM outbox o JOIN wallets w ON o.organisation_id = w.organisation_id FOR SHARE OF o',
    ],
    updates: [
      'UPDATE wallets SET created_at = clock_timestamp() WHERE organisation_id = $1',
      'UPDATE outbox o SET available_at = o.available_at + make_interval(secs => $1) WHERE o.organisation_id = $2',
      'WITH t AS (SELECT 1 AS n) DELETE FROM outbox USING t WHERE organisation_id = $1 AND random() < $2',
      `DELETE FROM outbox WHERE organisation_id = $1 AND date_trunc('day', available_at) < $2`,
    ],
    returns: [
      'UPDATE outbox SET topic = $1 WHERE organisation_id = $2 RETURNING id, available_at > now() AS is_due',
      'UPDATE wallets SET email = $1 WHERE organisation_id = $2 RETURNING $3',
      'WITH gone AS (DELETE FROM outbox WHERE organisation_id = $1 RETURNING date_trunc($2, available_at)) SELECT FROM gone',
    ],
    arrays: [
      'SELECT ARRAY(SELECT a.place FROM unnest($1::text[], $2::int[]) AS a (key, place), LATERAL (SELECT FROM outbox o WHERE o.organisation_id = $3 AND o.topic = a.key) found)',
    ],
    calls: [
      "WITH wallet AS (INSERT INTO wallets (id) VALUES ($1) RETURNING *) SELECT ledger.open_account(id, 'test') FROM wallet",
      'SELECT id, ledger.open_account(organisation_id, id) FROM wallets WHERE organisation_id = $1',
      'UPDATE wallets SET email = $1 WHERE id = (SELECT id FROM ledger.open_account($2) AS id)',
    ],
    orders: [
      'SELECT id FROM ledger.postings WHERE organisation_id = $1 ORDER BY id DESC LIMIT 1',
      'SELECT p.amount FROM ledger.postings p ORDER BY p.created_at, p.id',
      'SELECT string_agg(p.amount, $1 ORDER BY p.id) FROM ledger.postings p',
      'SELECT row_number() OVER (ORDER BY q.id) FROM ((SELECT id FROM ledger.postings) UNION ALL (SELECT 1)) q',
      'SELECT e.id FROM wallets w JOIN ledger.postings e ON e.organisation_id = w.organisation_id ORDER BY e.id',
      'SELECT id FROM outbox WHERE organisation_id = $1 ORDER BY id',
      'SELECT id FROM outbox WHERE organisation_id = $1 ORDER BY topic, id',
    ],
  };

  test.each(Object.entries(WRONG).flatMap(([rule, statements]) => statements.map((statement) => [rule, statement])))(
    '%s: %s',
    (rule, statement) => {
      expect(RULES[rule as keyof typeof RULES](statement, schema)).not.toEqual([]);
    },
  );

  test.each([
    `${UPSERT} DO NOTHING`,
    `${UPSERT} DO UPDATE SET email = coalesce(excluded.email, w.email), created_at = excluded.created_at
     WHERE w.created_at IS DISTINCT FROM excluded.created_at RETURNING now()`,
    "INSERT INTO wallets (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET email = 'now()' -- of $1",
    'INSERT INTO elsewhere.counters (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET at = now()',
    'SELECT w.id FROM unnest($1) AS k (email) JOIN wallets w ON w.organisation_id = $2 AND w.email = k.email',
    'SELECT w.id FROM unnest($1) AS k (email), LATERAL (SELECT id FROM wallets w WHERE w.email = k.email) w',
    `SELECT w.id FROM unnest($1) AS k (email), LATERAL (
       SELECT id FROM wallets w WHERE w.organisation_id = $2 AND w.email = k.email OFFSET 0) w`,
    `SELECT o.id FROM wallets w, unnest($1) AS k (topic), LATERAL (
       SELECT id FROM outbox o WHERE o.organisation_id = w.organisation_id AND o.topic = k.topic LIMIT 1) o`,
    `SELECT n.count FROM wallets k CROSS JOIN LATERAL (
       SELECT count(*) FROM outbox o WHERE o.organisation_id = k.organisation_id AND o.topic = k.email) n`,
    `SELECT o.id FROM (SELECT * FROM wallets WHERE organisation_id = $1 ORDER BY id LIMIT 5) w
     LEFT JOIN outbox o ON o.organisation_id = $1 AND o.topic = w.email`,
    `SELECT id FROM wallets k WHERE ${NOT_THERE}`,
    'SELECT k.email FROM unnest($1) AS k (email) WHERE EXISTS (SELECT FROM wallets w WHERE w.organisation_id = $2)',
    `WITH k AS (SELECT email FROM wallets) SELECT email FROM k WHERE ${NOT_THERE}`,
    'SELECT id FROM outbox WHERE organisation_id = $1 AND topic = $2 LIMIT 1 FOR UPDATE SKIP LOCKED',
    'SELECT o.id FROM outbox o WHERE o.organisation_id = owner FOR UPDATE',
    'SELECT id FROM elsewhere.jobs FOR UPDATE SKIP LOCKED',
    'UPDATE outbox SET available_at = now() + make_interval(secs => $1) WHERE organisation_id = $2 AND id = $3',
    'WITH t AS (SELECT available_at + make_interval(secs => 1) AS at FROM outbox) UPDATE outbox SET available_at = t.at FROM t',
    'INSERT INTO wallets (organisation_id, created_at) VALUES ($1, clock_timestamp())',
    'SELECT FROM ledger.open_account($1, $2)',
    'SELECT ledger.public_id(id) FROM wallets',
    'SELECT id FROM wallets ORDER BY id',
    'SELECT id FROM outbox ORDER BY available_at, id LIMIT 5',
    'SELECT amount FROM ledger.postings p ORDER BY p.created_at',
    'SELECT w.id FROM wallets w JOIN ledger.postings p ON p.organisation_id = w.organisation_id ORDER BY w.id',
  ])('allow: %s', (statement) => {
    expect(Object.values(RULES).flatMap((rule) => rule(statement, schema))).toEqual([]);
  });
});

describe('the rule of delegation', () => {
  const schema: Schema = {
    columns: new Map(),
    identities: new Map(),
    functions: new Set(['open_account', 'reset_all']),
    delegated: new Set(['open_account']),
  };

  test.each([
    'SELECT ledger.open_account($1)::text AS id',
    'SELECT coalesce(ledger.open_account($1), 0)',
    'SELECT id FROM ledger.open_account($1) AS id WHERE id > 0',
    'SELECT id FROM ledger.open_account($1) AS id, unnest($2) AS k',
    'SELECT id FROM ledger.open_account($1) AS id JOIN ledger.open_account($2) AS other USING (id)',
    'SELECT ledger.open_account($1), ledger.open_account($2)',
    'SELECT to_char(at, $2) FROM ledger.open_account($1)',
    'SELECT (SELECT id FROM ledger.open_account($1)) AS id',
    'WITH a AS (SELECT id FROM ledger.open_account($1)) SELECT id FROM a',
    'INSERT INTO wallets (id) SELECT id FROM ledger.open_account($1) AS id',
    'SELECT ledger.open_account((SELECT $1))',
    'SELECT ledger.open_account($1, clock_timestamp())',
  ])('%s', (statement) => {
    expect(delegation(statement, schema)).not.toEqual([]);
  });

  test.each([
    'SELECT ledger.open_account($1)',
    'SELECT ledger.open_account($1, now() - make_interval(secs => $2)) AS id',
    'SELECT FROM ledger.open_account($1)',
    "SELECT id::text, to_char(at, 'YYYY') AS at FROM ledger.open_account($1) AS a (id, at) ORDER BY id LIMIT 1",
    'SELECT id::text FROM ledger.open_account($1) AS id',
    'SELECT ledger.reset_all()::text WHERE $1',
  ])('allow: %s', (statement) => {
    expect(delegation(statement, schema)).toEqual([]);
  });
});

describe('the statements', () => {
  let database: TestDatabase;
  let owner: Sql;
  let schema: Schema;
  let problems: { file: string; problem: string }[];
  let statements: { file: string; statement: string }[];

  beforeAll(async () => {
    database = await createDatabase();
    owner = connect(ownerOf(database.url), { connectionsMax: 1, role: 'owner' });
    schema = await readSchema(owner);
    statements = globSync(['src/**/*.ts', 'src/ledger/sql/*.sql'], { cwd: ROOT }).flatMap((file) => {
      const text = readFileSync(`${ROOT}/${file}`, 'utf8');
      const found = file.endsWith('.ts') ? statementsOfCode(text) : statementsOfFunctions(text);
      return found.map((statement) => ({ file: file.replaceAll('\\', '/'), statement }));
    });
    problems = statements.flatMap(({ file, statement }) => {
      const rules: (typeof delegation)[] = [...Object.values(RULES), ...(file.endsWith('.ts') ? [delegation] : [])];
      return rules.flatMap((rule) => rule(statement, schema).map((problem) => ({ file, problem })));
    });
  });

  afterAll(async () => {
    await owner.end();
    await database.drop();
  });

  test('every statement keeps the rules', () => {
    const isExcepted = (found: { file: string; problem: string }): boolean =>
      EXCEPTIONS.some(({ files, problem }) => files.includes(found.file) && problem === found.problem);
    expect(problems.filter((found) => !isExcepted(found))).toEqual([]);
  });

  test.each(EXCEPTIONS.flatMap(({ files, problem }) => files.map((file) => ({ file, problem }))))(
    'the exception of $file is still needed: $problem',
    (exception) => {
      expect(problems).toContainEqual(exception);
    },
  );

  test('a function that reads or writes a table is in plpgsql: one in SQL is not planned with its arguments', async () => {
    const inSql = await owner<{ name: string }[]>`
      SELECT p.proname AS name FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
      WHERE p.pronamespace = 'ledger'::regnamespace AND l.lanname = 'sql' ORDER BY 1`;
    const names = inSql.map(({ name }) => name);
    expect(names).toContain('public_id');
    expect(names.filter((name) => schema.functions.has(name))).toEqual([]);
  });

  test('the application may take the next number of every identity column that it writes', async () => {
    const columns = await owner<{ table: string; mayTake: boolean }[]>`
      SELECT a.attrelid::regclass::text AS "table", has_sequence_privilege(
        'manilla_app', pg_get_serial_sequence(a.attrelid::regclass::text, a.attname), 'USAGE') AS may_take
      FROM pg_attribute a
      WHERE a.attidentity <> '' AND a.attrelid::regclass::text !~ '^sandbox_bank\\.'
        AND has_table_privilege('manilla_app', a.attrelid, 'INSERT')
      ORDER BY 1`;
    expect(columns.map(({ table, mayTake }) => [table, mayTake])).toEqual([
      ['audit_log', true],
      ['outbox', true],
      ['webhook_attempts', true],
    ]);
  });

  test('the statements of the code and of the functions are found', () => {
    expect(statements.filter(({ file }) => file.endsWith('.ts')).length).toBeGreaterThan(350);
    const has = (file: string, part: string): boolean =>
      statements.some((one) => one.file === file && one.statement.includes(part));
    expect(has('src/worker/backlogGauges.ts', 'WITH waiting AS')).toBe(true);
    expect(has('src/recovery/openResources.ts', 'FROM payments WHERE status IN')).toBe(true); // `sql<OpenResource[]>`
    expect(has('src/ledger/sql/claim_messages.sql', 'with due as materialized')).toBe(true);
    expect(has('src/ledger/sql/write_rows.sql', 'insert into fee_sweeps')).toBe(true); // in a loop
    expect(has('src/ledger/sql/set_wallet_status.sql', 'update ledger.accounts a set status')).toBe(true); // in an IF
  });
});
