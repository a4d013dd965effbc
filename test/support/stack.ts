// Access to the test stack that globalSetup starts for all test files: one Postgres, one Temporal server and the
// workflow bundle. Each test file creates its own database. `npm run test:citus` has the same stack with a cluster in
// place of the one Postgres.
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { OWNER, ownerUrl, serviceUrl } from '../../dev/postgres.ts';
import type { Uuid } from '../../src/ids.ts';

export interface TestStack {
  /** The superuser's URL of the database `postgres`. */
  adminDatabaseUrl: string;
  /** The superuser's URLs of the other nodes of a cluster. Each has the template. */
  otherNodeUrls?: string[];
  temporalAddress: string;
  /** The bundle of src/workflows, built once per run: `{ workflowBundle: { codePath: workflowBundlePath } }`. */
  workflowBundlePath: string;
}

/** The environment variable through which globalSetup passes the stack to Jest's worker processes. */
export const STACK_VARIABLE = 'MANILLA_TEST_STACK';

/** The migrated template database of all test databases. */
export const TEMPLATE = 'manilla_template';

export function testStack(): TestStack {
  const stack = process.env[STACK_VARIABLE];
  if (stack === undefined) throw new Error('The test stack is not running: run the tests with `npm test`.');
  return JSON.parse(stack) as TestStack;
}

export interface TestDatabase {
  /** URL for the service's login; `ownerOf(url)` is the owner's. */
  url: string;
  /** Drops the database, also with open connections. */
  drop: () => Promise<void>;
}

/**
 * Creates a migrated, empty database for the caller, in about 50 ms, by copying the files of the template. The default
 * strategy writes every page to the log, which takes several times the processor time.
 */
export async function createDatabase(): Promise<TestDatabase> {
  const { adminDatabaseUrl, otherNodeUrls = [] } = testStack();
  const name = `test_${randomBytes(6).toString('hex')}`;
  const onEachNode = async (statement: string): Promise<void> => {
    await Promise.all([adminDatabaseUrl, ...otherNodeUrls].map((url) => administer(url, statement)));
  };
  await onEachNode(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} OWNER ${OWNER} STRATEGY file_copy`);
  return {
    url: serviceUrl(adminDatabaseUrl, name),
    drop: () => untilUnused(() => onEachNode(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  };
}

/** SQLSTATE object_in_use. */
const IN_USE = '55006';

/** Repeats what nodes of a cluster refuse while their connections with each other end. */
async function untilUnused(work: () => Promise<void>): Promise<void> {
  for (let left = 5; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== IN_USE || left === 0) throw error;
    }
  }
}

/** Creates a database without tables, to be migrated. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const { adminDatabaseUrl } = testStack();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(adminDatabaseUrl, `CREATE DATABASE ${name} OWNER ${OWNER}`);
  return {
    url: ownerUrl(adminDatabaseUrl, name),
    drop: () => administer(adminDatabaseUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** The URL of the same database for its owner, also by way of a proxy. */
export function ownerOf(url: string): string {
  const owner = new URL(url);
  const admin = new URL(testStack().adminDatabaseUrl);
  return ownerUrl(Object.assign(owner, { password: admin.password }).href, owner.pathname);
}

/** The URL of the same database, on the same server, for the superuser. */
export function adminOf(url: string): string {
  const { username, password } = new URL(testStack().adminDatabaseUrl);
  return Object.assign(new URL(url), { username, password }).href;
}

/** The URL of the same database on the node of a cluster that has the rows of an organisation, where its locks are. */
export async function nodeOf(url: string, organisationId: Uuid): Promise<string> {
  if (testStack().otherNodeUrls === undefined) return url;
  const sql = postgres(adminOf(url), { max: 1, onnotice: () => {} });
  try {
    const [node] = await sql<{ hostname: string; port: string }[]>`
      SELECT n.nodename AS hostname, n.nodeport::text AS port
      FROM pg_dist_placement p JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
      WHERE p.shardid = get_shard_id_for_distribution_column('organisations', ${organisationId}::uuid)`;
    return Object.assign(new URL(url), node).href;
  } finally {
    await sql.end();
  }
}

/** Runs `work` in a database as a superuser without triggers, so past all privileges and checks by trigger. */
export async function asSuperuser(url: string, work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const { adminDatabaseUrl, otherNodeUrls } = testStack();
  const superuser = new URL(adminDatabaseUrl);
  superuser.pathname = new URL(url).pathname;
  const sql = postgres(superuser.href, {
    max: 1,
    connection: { session_replication_role: 'replica' }, // disables triggers
    onnotice: () => {},
  });
  try {
    if (otherNodeUrls === undefined) {
      await work(sql);
      return;
    }
    // The nodes of a cluster take a setting over within a transaction only.
    await sql.unsafe(
      'BEGIN; SET LOCAL citus.propagate_set_commands = local; SET LOCAL session_replication_role = replica',
    );
    await work(sql);
    await sql`COMMIT`;
  } finally {
    await sql.end();
  }
}

/** The superuser's connections, by server. Kept for the next test file: to open one takes half as long as a copy. */
const servers = new Map<string, postgres.Sql>();

/** Runs a statement as a superuser. The connection closes when it is idle, so that the process can end. */
export async function administer(adminDatabaseUrl: string, statement: string): Promise<void> {
  const sql =
    servers.get(adminDatabaseUrl) ??
    postgres(adminDatabaseUrl, { max: 1, idle_timeout: 1, fetch_types: false, onnotice: () => {} });
  servers.set(adminDatabaseUrl, sql);
  await sql.unsafe(statement);
}
