// Every statement of a hot path names one organisation, so that a distributed Postgres can run it on that
// organisation's node (docs/citus.md). Checked are the plans of everything the database ran for every route and every
// step of a flow, including the statements inside ledger.post: each table is accessed by one and the same
// organisation. The planner prefers to read whole tables here, as it does for tables that it knows to be small: no
// statement may owe its condition to a nested loop that the statistics of the moment suggest.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Uuid } from '../../src/ids.ts';
import { move, RAIL } from '../ledger/books.ts';
import { EVERY_STEP } from '../support/everyStep.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { type PlanNode, plansOf, type RunPlan, tellPlans } from '../support/queryRecorder.ts';
import { openScenarios } from '../support/scenarioContext.ts';
import { recordingOf, SCENARIO_SETTINGS, SCENARIOS } from '../support/scenarios.ts';
import { createDatabase, type TestDatabase } from '../support/stack.ts';
import { goodRequests } from './requests.ts';

/** The slowest scenario waits for three lost sends, and a busy machine runs all of them five times as long. */
const LIMIT_MS = 600_000;
/** Concurrent scenarios: their statements, each with a plan, all pass through this process. */
const AT_ONCE = 12;

/** Scenarios that together run every statement that any scenario runs. */
const CHOSEN = [
  ...EVERY_STEP,
  'adjustment-refusedThenRejected',
  'refund-failed',
  'reviewCase-breakClosed',
  'reviewCase-recalled',
  'reviewCase-returnedToSender',
];

let database: TestDatabase;
let flows: TestFlows;
let plans: RunPlan[];
/** The tables with organisation_id, without those of the sandbox bank, which is an external system. */
let scoped: Set<string>;
let organisations: Uuid[];

beforeAll(async () => {
  database = await createDatabase();
  await tellPlans(database.url, { seq_page_cost: '0', random_page_cost: '1000' });
  flows = await startTestFlows({ databaseUrl: database.url, logLevel: 'debug', settings: SCENARIO_SETTINGS });
  const tables = await flows.sql<{ name: string }[]>`
    SELECT n.nspname || '.' || c.relname AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE a.attname = 'organisation_id' AND c.relkind IN ('r', 'p') AND n.nspname NOT IN ('sandbox_bank', 'template')`;
  scoped = new Set(tables.map(({ name }) => name));
  const openContext = await openScenarios(flows);
  const scenarios = SCENARIOS.filter((scenario) => CHOSEN.includes(recordingOf(scenario)));
  const runScenarios = async (): Promise<void> => {
    for (let scenario = scenarios.pop(); scenario !== undefined; scenario = scenarios.pop()) {
      const context = await openContext();
      const { workflowId } = await scenario.run(context);
      await context.untilQuiet(workflowId);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runScenarios));
  for (const prepare of Object.values(goodRequests(flows))) await (await prepare())();
  const { organisationId, settlementWalletId: own } = flows.organisation;
  const book = { organisationId, environment: 'test' } as const;
  await flows.dependencies.journal.post(move(book, RAIL, `wallet:${own}`, 1_000));
  await flows.test.money(`/wallets/${own}/transfer`, { amount: 10, destinationWalletId: await flows.createWallet() });
  plans = takePlans();
  organisations = (await flows.sql<{ id: Uuid }[]>`SELECT organisation_id AS id FROM organisations`).map(
    ({ id }) => id,
  );
}, LIMIT_MS);

/** The plans that were logged since the last call. */
const takePlans = (): RunPlan[] => plansOf(flows.logged.splice(0));

afterAll(async () => {
  await flows.close();
  await database.drop();
});

/**
 * Statements that name no organisation, or several, and the reason. docs/scaling.md describes how they are run then.
 */
const EXCEPTIONS: { statement: RegExp; reason: string }[] = [
  {
    statement: /^SELECT .* FROM api_keys k JOIN api_keys b /,
    reason: 'a request has only a key, and this finds its organisation. The result is cached for some seconds',
  },
  {
    statement: /^SELECT o\.topic, o\.priority, /,
    reason:
      'the relay takes messages of all organisations in turns: this finds the next. A relay per node takes its own',
  },
  {
    statement: /^SELECT FROM rail_pauses /,
    reason: 'a pause applies to the rail and so to every organisation: at most two rows, replicated on each node',
  },
  {
    statement: /^SELECT coalesce\(max\(created_at\), 'epoch'\) AS at FROM audit_log /,
    reason: 'a worker that starts asks when operators last resumed a rail: the few entries of no organisation',
  },
  {
    statement: /^SELECT coalesce\(extract\(.* FROM \( SELECT created_at FROM outbox WHERE topic = .* LIMIT \$2 \)/,
    reason: 'health covers the flows of all organisations. Run once per second and process',
  },
  {
    statement: /^SELECT DISTINCT ON .* FROM fee_schedules /,
    reason: 'the fees of the organisations that ask at once and of all: the result is cached for some seconds',
  },
  {
    statement: /^SELECT DISTINCT rail FROM rail_contracts /,
    reason: 'health and the Schedules ask which rails are connected at all: once per second and process, a small table',
  },
  {
    statement: /^(SELECT|UPDATE) (.* FROM )?public\.operator(s|_codes) [co] (WHERE|SET) /,
    reason: 'operators belong to the installation: a small table, replicated on each node',
  },
  {
    statement: /^\( SELECT l\.credit_by_two_from FROM public\.decision_limits l WHERE /,
    reason: 'a limit of the installation: one row, replicated on each node',
  },
  {
    statement: /^SELECT d\.organisation_id, d\.endpoint_id FROM webhook_deliveries d WHERE d\.status = 'pending' /,
    reason: 'endpoints take turns over all organisations: the next row of an index. Run once per poll and endpoint',
  },
];

const CONDITIONS = ['Index Cond', 'Recheck Cond', 'Filter'];

/** The conditions of a scan, including those of the bitmap scans below it. */
function conditionsOf(node: PlanNode): string {
  const own = CONDITIONS.map((name) => node[name]).filter((condition) => typeof condition === 'string');
  const below = (node.Plans ?? []).filter((child) => child['Node Type'].startsWith('Bitmap'));
  return [...own, ...below.map(conditionsOf)].join(' ');
}

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const tableOf = (node: PlanNode): string => `${node.Schema}.${node['Relation Name']}`;

/** The tables with organisation_id that a plan reads or writes. */
const tablesOf = ({ plan }: RunPlan): Set<string> =>
  new Set(
    nodesOf(plan)
      .map(tableOf)
      .filter((table) => scoped.has(table)),
  );

/** The reason why a plan is not limited to one organisation; null if it is. */
function problemOf(run: RunPlan): string | null {
  if (tablesOf(run).size === 0) return null;
  const text = JSON.stringify(run.plan);
  // A function that repeats a statement has one plan for all organisations, with a parameter.
  const parameters = new Set(Array.from(text.matchAll(/\borganisation_id = (\$\d+)/g), ([, parameter]) => parameter));
  const organisationsNamed = [
    ...organisations.filter((organisationId) => text.includes(organisationId)),
    ...parameters,
  ];
  if (organisationsNamed.length !== 1) return `names ${organisationsNamed.length} organisations: ${run.text}`;
  const [unscoped] = unscopedScans(run);
  return unscoped === undefined ? null : `meets ${tableOf(unscoped)} without an organisation: ${run.text}`;
}

/** The scans of a plan that read a table by no organisation. */
const unscopedScans = ({ plan }: RunPlan): PlanNode[] =>
  nodesOf(plan).filter(
    (node) =>
      node['Node Type'] !== 'ModifyTable' &&
      scoped.has(tableOf(node)) &&
      !/\borganisation_id = ('[0-9a-f-]{36}'::uuid|\$\d+|\w+\.organisation_id)/.test(conditionsOf(node)),
  );

/** Whether a statement locks or changes rows. */
const takesRows = ({ plan }: RunPlan): boolean =>
  nodesOf(plan).some((node) => node['Node Type'] === 'LockRows' || node['Node Type'] === 'ModifyTable');

test('every statement names one organisation and accesses every table by it', () => {
  // A flow is noted where a task of it fails, which no path does that is hot.
  const listed = plans.filter(({ text }) => !text.includes('failing_flows'));
  const hot = listed.filter(({ text }) => !EXCEPTIONS.some(({ statement }) => statement.test(text)));
  expect(new Set(hot.map(problemOf).filter((problem) => problem !== null))).toEqual(new Set());
});

test.each(EXCEPTIONS)('the exception is still needed: $statement', ({ statement }) => {
  // Without those whose condition is false for the parameters: their plan reads no table.
  const excepted = plans.filter((run) => statement.test(run.text) && tablesOf(run).size > 0);
  expect(excepted.length).toBeGreaterThan(0);
  expect(excepted.map(problemOf)).not.toContain(null);
});

test('also a statement of no organisation, or of several, locks and changes only rows that it finds by organisation', () => {
  expect(plans.filter(takesRows).length).toBeGreaterThan(100);
  expect(plans.filter((run) => takesRows(run) && unscopedScans(run).length > 0).map(({ text }) => text)).toEqual([]);
});

test('the recorded statements cover the service and the bodies of its functions', () => {
  const texts = new Set(plans.map(({ text }) => text));
  expect(texts.size).toBeGreaterThan(100);
  for (const inside of [
    'INSERT INTO ledger.postings ',
    'WITH changed AS ( UPDATE ledger.accounts x SET balance ',
    'INSERT INTO public.payments ',
  ]) {
    expect([...texts].some((text) => text.startsWith(inside))).toBe(true);
  }
  const accessed = new Set(plans.flatMap((run) => [...tablesOf(run)]));
  // Written and read by commands and Schedules only.
  const others = [
    'public.organisations',
    'public.bank_balances',
    'public.rail_progress',
    'public.rail_checks',
    'public.provider_messages', // and where a rail tells no status
    'public.day_proofs',
    'public.failing_flows',
    'public.statement_entries',
    'public.fee_sweeps',
    'public.debt_recoveries',
    'public.failing_flows',
    'ledger.closing_balances',
    'ledger.closed_periods',
    'ledger.seals',
  ];
  expect([...scoped].filter((table) => !accessed.has(table) && !others.includes(table))).toEqual([]);
});

test('the check detects statements that name no organisation or two, or that leave a table unscoped', async () => {
  const { sql } = flows.dependencies;
  const [one, two] = organisations as [Uuid, Uuid];
  const problems = async (statement: PromiseLike<unknown>): Promise<(string | null)[]> => {
    takePlans();
    await statement;
    return takePlans()
      .filter(({ text }) => text.startsWith('SELECT 1 AS ')) // the worker keeps running
      .map(problemOf)
      .filter((problem) => problem !== null);
  };
  expect(await problems(sql`SELECT 1 AS none FROM payments WHERE environment = 'test'`)).toEqual([
    expect.stringContaining('names 0'),
  ]);
  expect(await problems(sql`SELECT 1 AS two FROM payments WHERE organisation_id IN (${one}, ${two})`)).toEqual([
    expect.stringContaining('names 2'),
  ]);
  expect(
    await problems(sql`
      SELECT 1 AS open FROM payments p JOIN refunds r ON r.payment_id = p.id WHERE p.organisation_id = ${one}`),
  ).toEqual([expect.stringContaining('meets public.refunds')]);
  expect(
    await problems(sql`
      SELECT 1 AS joined FROM payments p JOIN refunds r ON r.organisation_id = p.organisation_id AND r.payment_id = p.id
      WHERE p.organisation_id = ${one}`),
  ).toEqual([]);
});
