// Records what a service sends to Postgres: the statements of its pools, with the driver's `debug` option, and the
// plans of all statements, including those inside functions, with the server's auto_explain, which `tellPlans` enables.
import { connect, type Sql } from '../../src/database/pool.ts';
import { administer, ownerOf, testStack } from './stack.ts';

export interface SentStatement {
  /** On one line. */
  text: string;
  /** Whether a commit of its pool waits for the disk. */
  synchronousCommit: 'on' | 'off';
  /** When it was sent, by `performance.now`. */
  atMs: number;
}

/** A plan node in the format of `EXPLAIN (FORMAT JSON, VERBOSE)`. */
export interface PlanNode {
  'Node Type': string;
  Schema?: string;
  'Relation Name'?: string;
  Plans?: PlanNode[];
  [property: string]: unknown;
}

export interface RunPlan {
  /** The statement, on one line, without comments. */
  text: string;
  plan: PlanNode;
}

/** The driver's query for types, once per connection. */
const TYPE_QUERY = /FROM pg_catalog\.pg_type/i;

/** Records from now on. Returns a function that returns the statements since its last call, oldest first. */
export function recordStatements(pools: readonly Sql[]): () => SentStatement[] {
  let sent: SentStatement[] = [];
  for (const { options } of pools) {
    const synchronousCommit = options.connection.synchronous_commit === 'off' ? 'off' : 'on';
    options.debug = (_connection, query) => {
      if (!TYPE_QUERY.test(query)) sent.push({ text: oneLine(query), synchronousCommit, atMs: performance.now() });
    };
  }
  return () => {
    const statements = sent;
    sent = [];
    return statements;
  };
}

/**
 * Makes a database send the plan of every statement, with its parameter values, as a notice on new connections.
 * `planner`: settings for these connections.
 */
export async function tellPlans(databaseUrl: string, planner: Record<string, string>): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_verbose': 'on',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
    plan_cache_mode: 'force_custom_plan',
    ...planner,
  };
  for (const [setting, value] of Object.entries(settings)) {
    await administer(testStack().adminDatabaseUrl, `ALTER DATABASE ${name} SET ${setting} = '${value}'`);
  }
  // The functions are set to generic plans, which do not contain the parameter values.
  const owner = connect(ownerOf(databaseUrl), { connectionsMax: 1, role: 'owner' });
  await owner`ALTER FUNCTION ledger.post RESET plan_cache_mode`;
  await owner`ALTER FUNCTION ledger.claim_messages RESET plan_cache_mode`;
  await owner.end();
}

const PLAN = /^duration: [^\n]* plan:\n/;

/** The plans among the log lines of a service with the log level `debug`, which logs every notice. */
export function plansOf(logged: readonly string[]): RunPlan[] {
  return logged
    .map((line) => (JSON.parse(line) as { notice?: string }).notice ?? '')
    .filter((notice) => PLAN.test(notice))
    .map((notice) => JSON.parse(notice.replace(PLAN, '')) as { 'Query Text': string; Plan: PlanNode })
    .map(({ 'Query Text': text, Plan: plan }) => ({ text: oneLine(text.replaceAll(/--[^\n]*/g, '')), plan }))
    .filter(({ text }) => !TYPE_QUERY.test(text));
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
