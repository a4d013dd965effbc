// The cluster of CITUS_URL: its nodes, the template of the test databases on each of them, and where organisations are.
//
// A template is the same on all nodes: what Citus knows about placements is in the database itself, and names nodes by
// their addresses. So a test database is a copy of the template on each node, as fast as on one server.
import { readFileSync } from 'node:fs';
import postgres from 'postgres';
import { OWNER, ownerUrl, serviceUrl } from '../../dev/postgres.ts';
import { migrate } from '../../src/database/migrate.ts';
import type { Uuid } from '../../src/ids.ts';
import { grantToTests } from '../support/globalSetup.ts';
import { createTestOperators } from '../support/operators.ts';
import { administer, TEMPLATE, type TestStack, testStack } from '../support/stack.ts';

const script = (name: string): string =>
  readFileSync(new URL(`../../deploy/citus/${name}.sql`, import.meta.url), 'utf8');

/** Few, because each test database has all of them: enough that organisations are on every node. */
const SHARDS = 8;

interface Node {
  id: number;
  name: string;
  port: number;
  /** 0: the coordinator. */
  group: number;
  hasShards: boolean;
}

/** The nodes of the database of a URL, the coordinator first. */
async function nodesOf(sql: postgres.Sql): Promise<Node[]> {
  return await sql<Node[]>`
    SELECT nodeid AS id, nodename AS name, nodeport AS port, groupid AS group, shouldhaveshards AS "hasShards"
    FROM pg_dist_node WHERE isactive AND noderole = 'primary' ORDER BY groupid`;
}

/** The URL of the same database on another node. */
function onNode(url: string, { name, port }: Node): string {
  const other = new URL(url);
  other.hostname = name;
  other.port = String(port);
  return other.href;
}

function inDatabase(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = database;
  return other.href;
}

/** Runs `work` with one connection. */
async function withConnection<Result>(url: string, work: (sql: postgres.Sql) => Promise<Result>): Promise<Result> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

/** Runs `work` in a test database as a superuser, on the coordinator. */
export const asClusterAdmin = <Result>(
  databaseUrl: string,
  work: (sql: postgres.Sql) => Promise<Result>,
): Promise<Result> => withConnection(inDatabase(testStack().adminDatabaseUrl, new URL(databaseUrl).pathname), work);

/**
 * Makes the roles and, on each node, the template with the tables of Manilla, distributed. What an earlier run left is
 * replaced. Throws when the database of the URL has no Citus or fewer than two nodes for shards.
 */
export async function prepareCluster(
  adminDatabaseUrl: string,
): Promise<Pick<TestStack, 'adminDatabaseUrl' | 'otherNodeUrls'>> {
  const nodes = await withConnection(adminDatabaseUrl, async (sql) => {
    const [extension] = await sql`SELECT FROM pg_extension WHERE extname = 'citus'`;
    if (extension === undefined) throw new Error('The database of CITUS_URL has no extension citus.');
    return await nodesOf(sql);
  });
  const [coordinator, ...others] = nodes;
  if (coordinator?.group !== 0 || nodes.filter(({ hasShards }) => hasShards).length < 2) {
    throw new Error(
      'CITUS_URL must be the coordinator of at least two nodes that have shards: see citus_set_coordinator_host and ' +
        'citus_add_node.',
    );
  }
  const otherNodeUrls = others.map((node) => onNode(adminDatabaseUrl, node));
  const nodeUrls = [adminDatabaseUrl, ...otherNodeUrls];

  await administer(adminDatabaseUrl, script('roles'));
  const { password } = new URL(adminDatabaseUrl);
  if (password !== '') {
    const servicePassword = new URL(serviceUrl(adminDatabaseUrl, TEMPLATE)).password;
    await administer(
      adminDatabaseUrl,
      `ALTER ROLE ${OWNER} PASSWORD '${password}'; ALTER ROLE manilla_service PASSWORD '${servicePassword}'`,
    );
  }
  await grantToTests(adminDatabaseUrl);
  // The service names an organisation in each statement; tests, as the owner, also look for what they made without it.
  await administer(adminDatabaseUrl, `ALTER ROLE ${OWNER} SET citus.enable_repartition_joins = on`);
  for (const url of nodeUrls) {
    await administer(url, `DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`);
    await administer(url, `CREATE DATABASE ${TEMPLATE} OWNER ${OWNER}`);
    await administer(inDatabase(url, TEMPLATE), 'CREATE EXTENSION citus');
  }
  await withConnection(inDatabase(adminDatabaseUrl, TEMPLATE), async (sql) => {
    await sql`SELECT citus_set_coordinator_host(${coordinator.name}, ${coordinator.port})`;
    for (const { name, port } of others) await sql`SELECT citus_add_node(${name}, ${port})`;
    for (const { name, port, hasShards } of nodes) {
      await sql`SELECT citus_set_node_property(${name}, ${port}, 'shouldhaveshards', ${hasShards})`;
    }
  });
  await administer(inDatabase(adminDatabaseUrl, TEMPLATE), script('roles'));
  const owner = ownerUrl(adminDatabaseUrl, TEMPLATE);
  await migrate(owner);
  await administer(owner, script('functions'));
  await administer(owner, `SET citus.shard_count = ${SHARDS}; ${script('distribute')}`);
  await createTestOperators(owner);
  // A database with connections cannot be copied, and the maintenance daemon of Citus keeps one open.
  for (const url of nodeUrls) {
    await administer(url, `ALTER DATABASE ${TEMPLATE} ALLOW_CONNECTIONS false`);
    await administer(
      url,
      `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${TEMPLATE}'`,
    );
  }
  return { adminDatabaseUrl, otherNodeUrls };
}

/** The shard and the node of an organisation, and the other nodes that may have it, by id. */
export interface Place {
  shard: string;
  node: number;
  others: number[];
}

/** Where the rows of an organisation are. */
export async function placeOf(sql: postgres.Sql, organisationId: Uuid): Promise<Place> {
  const [placement] = await sql<{ shard: string; node: number }[]>`
    SELECT p.shardid::text AS shard, n.nodeid AS node
    FROM pg_dist_placement p JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
    WHERE p.shardid = get_shard_id_for_distribution_column('organisations', ${organisationId}::uuid)`;
  if (placement === undefined) throw new Error(`${organisationId} is on no node`);
  const nodes = (await nodesOf(sql)).filter(({ hasShards }) => hasShards);
  return { ...placement, others: nodes.map(({ id }) => id).filter((id) => id !== placement.node) };
}
