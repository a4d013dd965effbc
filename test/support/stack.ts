// Access to the test stack that globalSetup starts for all test files: one Postgres, one Temporal server and the
// workflow bundle. Each test file creates its own database.
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';

export interface TestStack {
  /** The superuser's URL of the database `postgres`. */
  adminDatabaseUrl: string;
  temporalAddress: string;
  /** The bundle of src/workflows, built once per run: `{ workflowBundle: { codePath: workflowBundlePath } }`. */
  workflowBundlePath: string;
}

/** The environment variable through which globalSetup passes the stack to Jest's worker processes. */
export const STACK_VARIABLE = 'MANILLA_TEST_STACK';

/** The migrated template database of all test databases. */
export const TEMPLATE = 'manilla_template';

/** The role that owns it: as in production, it may create roles and databases but is not a superuser. */
export const OWNER = 'manilla';

export function testStack(): TestStack {
  const stack = process.env[STACK_VARIABLE];
  if (stack === undefined) throw new Error('The test stack is not running: run the tests with `npm test`.');
  return JSON.parse(stack) as TestStack;
}

export interface TestDatabase {
  /** URL for the service, as the owner. */
  url: string;
  /** Drops the database, also with open connections. */
  drop: () => Promise<void>;
}

/** Creates a migrated, empty database for the caller, in about 50 ms, by copying the template. */
export async function createDatabase(): Promise<TestDatabase> {
  const { adminDatabaseUrl } = testStack();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(adminDatabaseUrl, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} OWNER ${OWNER}`);
  return {
    url: databaseUrl(adminDatabaseUrl, OWNER, name),
    drop: () => administer(adminDatabaseUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** The URL of another role and database on the same server; both roles of the test server have the same password. */
export function databaseUrl(adminDatabaseUrl: string, role: string, database: string): string {
  const url = new URL(adminDatabaseUrl);
  url.username = role;
  url.pathname = database;
  return url.href;
}

/** Runs `work` in a database as a superuser without triggers, so past all privileges and checks by trigger. */
export async function asSuperuser(url: string, work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const { adminDatabaseUrl } = testStack();
  const role = new URL(adminDatabaseUrl).username;
  const sql = postgres(databaseUrl(adminDatabaseUrl, role, new URL(url).pathname), {
    max: 1,
    connection: { session_replication_role: 'replica' }, // disables triggers
    onnotice: () => {},
  });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}

export async function administer(adminDatabaseUrl: string, statement: string): Promise<void> {
  const sql = postgres(adminDatabaseUrl, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}
