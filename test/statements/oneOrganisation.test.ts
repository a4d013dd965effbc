// Every statement of a hot path names one organisation, so that a distributed Postgres can run it where that organisation
// lives (docs/scaling.md). Looked at are the plans of all that the database ran for every route and every story of a flow,
// the statements inside ledger.post too: each table is met by one and the same organisation.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Uuid } from '../../src/ids.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import {
  type PlanNode,
  type QueryRecorder,
  type RunPlan,
  startQueryRecorder,
  tellPlans,
} from '../support/queryRecorder.ts';
import { openScenarios } from '../support/scenarioContext.ts';
import { SCENARIO_SETTINGS, SCENARIOS, SIDE_SCENARIOS } from '../support/scenarios.ts';
import { createDatabase, type TestDatabase } from '../support/stack.ts';
import { goodRequests } from './requests.ts';

/** The slowest story waits for three lost sends. */
const LIMIT_MS = 300_000;
/** Stories at the same time: their statements, with a plan each, all pass through this process. */
const AT_ONCE = 12;

let database: TestDatabase;
let tap: QueryRecorder;
let flows: TestFlows;
let plans: RunPlan[];
/** The tables that belong to organisations. The sandbox bank is not ours. */
let scoped: Set<string>;
let organisations: Uuid[];

beforeAll(async () => {
  database = await createDatabase();
  tap = await startQueryRecorder(database.url);
  await tellPlans(database.url);
  flows = await startTestFlows({ databaseUrl: database.url, databaseUrlOfApi: tap.url, settings: SCENARIO_SETTINGS });
  const tables = await flows.sql<{ name: string }[]>`
    SELECT n.nspname || '.' || c.relname AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE a.attname = 'organisation_id' AND c.relkind IN ('r', 'p') AND n.nspname <> 'sandbox_bank'`;
  scoped = new Set(tables.map(({ name }) => name));
  const openStage = await openScenarios(flows);
  const stories = [...SCENARIOS, ...SIDE_SCENARIOS];
  const play = async (): Promise<void> => {
    for (let story = stories.pop(); story !== undefined; story = stories.pop()) {
      const stage = await openStage();
      const { workflowId } = await story.run(stage);
      await stage.untilQuiet(workflowId);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, play));
  for (const prepare of Object.values(goodRequests(flows))) await (await prepare())();
  plans = tap.takePlans();
  organisations = (await flows.sql<{ id: Uuid }[]>`SELECT organisation_id AS id FROM organisations`).map(
    ({ id }) => id,
  );
}, LIMIT_MS);

afterAll(async () => {
  await flows.close();
  await tap.close();
  await database.drop();
});

/** Statements that name no organisation, or more than one, and why they may. docs/scaling.md says how they are run then. */
const EXCEPTIONS: { statement: RegExp; why: string }[] = [
  {
    statement: /^SELECT .* FROM api_keys WHERE hash = /,
    why: 'a key is all that a request brings: whose it is, is what this asks. Its answer is kept for some seconds',
  },
  {
    statement:
      /^WITH due AS MATERIALIZED \( SELECT organisation_id, id FROM outbox .* FOR UPDATE SKIP LOCKED \) UPDATE outbox /,
    why: 'the relay takes what is due, whoever it belongs to. A relay for each node takes that node’s',
  },
  {
    statement: /^SELECT FROM rail_pauses /,
    why: 'a pause is of the rail and so of every organisation: at most two rows, which each node has a copy of',
  },
  {
    statement: /^SELECT coalesce\(extract\(.* FROM \( SELECT created_at FROM outbox WHERE topic = .* LIMIT \$2 \)/,
    why: 'health is of the whole service: whether the flows of anybody wait. Asked once a second and process',
  },
];

const CONDITIONS = ['Index Cond', 'Recheck Cond', 'Filter'];

/** The conditions of a scan, those of the index scans below it too. */
function conditionsOf(node: PlanNode): string {
  const own = CONDITIONS.map((name) => node[name]).filter((condition) => typeof condition === 'string');
  const below = (node.Plans ?? []).filter((child) => child['Node Type'].startsWith('Bitmap'));
  return [...own, ...below.map(conditionsOf)].join(' ');
}

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const tableOf = (node: PlanNode): string => `${node.Schema}.${node['Relation Name']}`;

/** The tables of organisations that a plan reads or writes. */
const tablesOf = ({ plan }: RunPlan): Set<string> =>
  new Set(
    nodesOf(plan)
      .map(tableOf)
      .filter((table) => scoped.has(table)),
  );

/** Why a plan is not one organisation's; null when it is. */
function problemOf(run: RunPlan): string | null {
  if (tablesOf(run).size === 0) return null;
  const whole = JSON.stringify(run.plan);
  const named = organisations.filter((organisationId) => whole.includes(organisationId));
  if (named.length !== 1) return `names ${named.length} organisations: ${run.text}`;
  const loose = nodesOf(run.plan).find(
    (node) =>
      node['Node Type'] !== 'ModifyTable' &&
      scoped.has(tableOf(node)) &&
      !/\borganisation_id = ('[0-9a-f-]{36}'::uuid|\w+\.organisation_id)/.test(conditionsOf(node)),
  );
  return loose === undefined ? null : `meets ${tableOf(loose)} without an organisation: ${run.text}`;
}

test('every statement names one organisation, and meets every table by it', () => {
  const hot = plans.filter(({ text }) => !EXCEPTIONS.some(({ statement }) => statement.test(text)));
  expect(new Set(hot.map(problemOf).filter((problem) => problem !== null))).toEqual(new Set());
});

test.each(EXCEPTIONS)('an exception is still one: $statement', ({ statement }) => {
  const excepted = plans.filter(({ text }) => statement.test(text));
  expect(excepted.length).toBeGreaterThan(0);
  expect(excepted.map(problemOf)).not.toContain(null);
});

test('these are the statements of all that the service does, and of what its functions do inside', () => {
  const texts = new Set(plans.map(({ text }) => text));
  expect(texts.size).toBeGreaterThan(80);
  for (const inside of [
    'INSERT INTO ledger.postings ',
    'WITH moved AS ( UPDATE ledger.accounts x SET balance ',
    'INSERT INTO payments ',
  ]) {
    expect([...texts].some((text) => text.startsWith(inside))).toBe(true);
  }
  const met = new Set(plans.flatMap((run) => [...tablesOf(run)]));
  // Made and read by commands and Schedules alone.
  const others = ['public.organisations', 'public.reconciliation_reports'];
  expect([...scoped].filter((table) => !met.has(table) && !others.includes(table))).toEqual([]);
});

test('a statement that names none, or two, or leaves a table open, would be found', async () => {
  const { sql } = flows.services;
  const [one, two] = organisations as [Uuid, Uuid];
  const problems = async (statement: PromiseLike<unknown>): Promise<(string | null)[]> => {
    tap.takePlans();
    await statement;
    return tap
      .takePlans()
      .filter(({ text }) => text.startsWith('SELECT 1 AS ')) // the worker goes on
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
