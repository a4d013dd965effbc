// The login of the service owns nothing and cannot become the owner: history cannot be rewritten on its connection.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import postgres from 'postgres';
import { createDatabase, ownerOf } from '../support/stack.ts';

const database = await createDatabase();

afterAll(() => database.drop());

test.each([
  'SET ROLE manilla',
  'SET SESSION AUTHORIZATION manilla',
  'GRANT manilla TO manilla_service',
  'ALTER ROLE manilla_service CREATEROLE',
  'ALTER TABLE ledger.postings DISABLE TRIGGER append_only',
  "SET session_replication_role = 'replica'",
  'UPDATE ledger.postings SET amount = 1',
  'DELETE FROM ledger.transactions',
  'TRUNCATE ledger.postings CASCADE',
  'UPDATE ledger.accounts SET balance = 1',
  'INSERT INTO ledger.accounts (organisation_id, environment, code) SELECT gen_random_uuid(), $$test$$, $$income:fees$$',
  'DELETE FROM audit_log',
  'DROP TABLE ledger.postings',
  'DROP FUNCTION ledger.post',
  'CREATE TABLE public.mine (id integer)',
  'CREATE FUNCTION ledger.mine() RETURNS integer LANGUAGE sql AS $$SELECT 1$$',
])('the connection of the service may not %s', async (statement) => {
  // Not by way of the pool, which would act as manilla_app: as the login itself.
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  try {
    await expect(sql.unsafe(`SET ROLE NONE; ${statement}`)).rejects.toMatchObject({
      code: expect.stringMatching(/^(42501|0LP01)$/),
    });
  } finally {
    await sql.end();
  }
});

test.each(['api', 'worker'])('the %s does not start with the login of the owner', async (name) => {
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
    execFile(
      process.execPath,
      [fileURLToPath(new URL(`../../src/${name}/main.ts`, import.meta.url))],
      {
        env: {
          ...process.env,
          DATABASE_URL: ownerOf(database.url),
          MANILLA_KEYS: `k1:${'A'.repeat(43)}`,
          TEMPORAL_ADDRESS: '127.0.0.1:1',
        },
      },
      (error, stdout, stderr) => resolve({ code: error?.code, output: stdout + stderr }),
    );
  });
  expect(output).toContain('DATABASE_URL logs in as manilla, who can become the owner of the ledger');
  expect(code).toBe(1);
});
