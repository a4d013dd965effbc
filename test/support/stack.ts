// What globalSetup started for all test files: one Postgres, one Temporal server and the bundled workflows. A test file
// takes a database of its own from here.
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';

export interface TestStack {
  /** The superuser's, on the database `postgres`. */
  adminDatabaseUrl: string;
  temporalAddress: string;
  /** The code of src/workflows, bundled once for the whole run: `{ workflowBundle: { codePath: workflowBundlePath } }`. */
  workflowBundlePath: string;
}

/** Where globalSetup leaves the stack for the processes that run the test files. */
export const STACK_VARIABLE = 'MANILLA_TEST_STACK';

/** The migrated database that every test database is a copy of. */
export const TEMPLATE = 'manilla_template';

/** The role that owns it: as in production, it may create roles and databases and is no superuser. */
export const OWNER = 'manilla';

export function testStack(): TestStack {
  const stack = process.env[STACK_VARIABLE];
  if (stack === undefined) throw new Error('The test stack is not up: run the tests with `npm test`.');
  return JSON.parse(stack) as TestStack;
}

export interface TestDatabase {
  /** For the service, as its owner. */
  url: string;
  /** Removes the database, whoever is still connected to it. */
  drop: () => Promise<void>;
}

/** A migrated, empty database that nobody else uses; made in about 50 ms by copying the template. */
export async function createDatabase(): Promise<TestDatabase> {
  const { adminDatabaseUrl } = testStack();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(adminDatabaseUrl, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} OWNER ${OWNER}`);
  return {
    url: databaseUrl(adminDatabaseUrl, OWNER, name),
    drop: () => administer(adminDatabaseUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** The URL of another database on the same server; both roles of the test server have one password. */
export function databaseUrl(adminDatabaseUrl: string, role: string, database: string): string {
  const url = new URL(adminDatabaseUrl);
  url.username = role;
  url.pathname = database;
  return url.href;
}

export async function administer(adminDatabaseUrl: string, statement: string): Promise<void> {
  const sql = postgres(adminDatabaseUrl, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}
