// No list, gauge or periodic statement reads more rows than the order of what it returns, in a large book: by the plans
// that the database executed. `PLAN_ROWS=10000000 npm run test:slow -- test/statements/plans` makes it ten million
// rows; with `PLAN_REPORT=1` it prints what each has read.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import postgres from 'postgres';
import { z } from 'zod';
import { createCreditPollingActivities } from '../../src/activities/creditPolling.ts';
import { createReconciliationActivities } from '../../src/activities/reconciliation.ts';
import { createRetentionActivities } from '../../src/activities/retention.ts';
import { ROUTES } from '../../src/api/routes/index.ts';
import type { Sql } from '../../src/database/pool.ts';
import { publicId, type Uuid } from '../../src/ids.ts';
import { closeDays } from '../../src/ledger/closing.ts';
import { listShortfalls } from '../../src/ledger/safeguarding.ts';
import { scanFailingFlows } from '../../src/recovery/failingFlows.ts';
import { listOpenResources, OPEN_KINDS } from '../../src/recovery/openResources.ts';
import { endRepaidCases } from '../../src/recovery/repaidDebts.ts';
import { EVENT_TYPES } from '../../src/resources/events.ts';
import { sealNext } from '../../src/verification/seals.ts';
import { databaseGauges } from '../../src/worker/backlogGauges.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { type PlanNode, plansOf, type RunPlan, tellPlans } from '../support/queryRecorder.ts';
import { adminOf, createDatabase, type TestDatabase } from '../support/stack.ts';
import { fillBook } from './syntheticBook.ts';

const ROWS = Number(process.env.PLAN_ROWS ?? 400_000);
const PAGE = 20;
/** Rows read for each row of a page: itself, its joins, and what a filter leaves out. */
const PER_ROW = 12;
/** Of a run that finds nothing to do: the open rows of the book, and a page of what may be old. */
const FEW = 2_500;

/** What the index of times cannot tell from new postings: two ranges of 32 pages. */
const BRIN_RANGES = 6_000;

let database: TestDatabase;
let api: TestApi;
let service: TestApi;
let sql: Sql;
let organisationId: Uuid;

beforeAll(async () => {
  database = await createDatabase();
  api = await startTestApi({ databaseUrl: database.url });
  ({ organisationId } = api.organisation);
  const owner = postgres(adminOf(database.url), { max: 1, onnotice: () => {} });
  await fillBook(
    owner,
    organisationId,
    ROWS,
    EVENT_TYPES.filter((type) => type !== 'transfer.completed' && type !== 'payment.settled'),
  );
  await owner.end();
  await tellPlans(database.url, { 'auto_explain.log_analyze': 'on', 'auto_explain.log_timing': 'off' });
  service = await startTestApi({ databaseUrl: database.url, logLevel: 'debug' });
  ({ sql } = service.dependencies);
}, 3_600_000);

afterAll(async () => {
  if (process.env.PLAN_REPORT !== undefined) await printReport();
  await service.close();
  await api.close();
  await database.drop();
});

const READS = /Scan$/;

/** Rows that a plan took from tables, also those that a filter left out. Of a bitmap the heap is counted. */
function rowsRead(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), 0);
  if (!READS.test(node['Node Type']) || node['Relation Name'] === undefined) return below;
  const number = (name: string): number => Number(node[name] ?? 0);
  return (
    below +
    (number('Actual Rows') + number('Rows Removed by Filter') + number('Rows Removed by Index Recheck')) *
      number('Actual Loops')
  );
}

interface Read {
  name: string;
  read: number;
  /** The statement that read the most. */
  text: string;
}

const report: Read[] = [];

/** What is read while `work` runs. */
async function measure(name: string, work: () => Promise<unknown>, plans: () => RunPlan[]): Promise<Read> {
  plans();
  await work();
  const found = plans().map(({ text, plan }) => ({ text, read: rowsRead(plan) }));
  const most = found.toSorted((a, b) => b.read - a.read)[0];
  const result = { name, read: found.reduce((sum, { read }) => sum + read, 0), text: most?.text ?? '' };
  report.push(result);
  return result;
}

const takePlans = (): RunPlan[] => plansOf(service.logged.splice(0));

const idOf = async (table: string): Promise<Uuid> => {
  const [row] = await api.sql<{ id: Uuid }[]>`
    SELECT id FROM ${api.sql(table)} WHERE organisation_id = ${organisationId} ORDER BY id OFFSET 100 LIMIT 1`;
  if (row === undefined) throw new Error(`${table} is empty`);
  return row.id;
};

async function valuesOf(): Promise<Record<string, string>> {
  const [wallet] = await api.sql<{ id: Uuid }[]>`SELECT md5('wallet500')::uuid AS id`;
  const walletId = publicId('wallet', wallet?.id ?? '');
  const paymentId = publicId('payment', await idOf('payments'));
  return {
    createdAtFrom: new Date(Date.now() - 180 * 86_400_000).toISOString(),
    createdAtTo: new Date(Date.now() - 180 * 86_400_000).toISOString(),
    targetWalletId: walletId,
    sourceWalletId: walletId,
    destinationWalletId: walletId,
    walletId,
    paymentId,
    resourceId: paymentId,
    externalReference: 'reference-7',
    email: 'payer7@test.example',
    accountNumber: '0000000007',
    requestId: 'req_000000000000000000000007',
  };
}

const optionsOf = (schema: z.ZodType): string[] | null => {
  const { innerType } = schema.def as unknown as { innerType?: z.ZodType };
  const { options } = (innerType ?? schema) as { options?: string[] };
  return options ?? null;
};

/** The names that the parameter `expand` may have. */
const namesOf = (schema: z.ZodType): string[] =>
  (z.toJSONSchema(schema, { io: 'input' }) as { items: { enum: string[] } }).items.enum;

/** Every list with each value of each filter, and of each two filters together, the newest or the oldest first. */
async function requests(): Promise<string[]> {
  const values = await valuesOf();
  const parameters: Record<string, string> = {
    '/payments/:id/refunds': values.paymentId ?? '',
    '/payments/:id/credits': values.paymentId ?? '',
    '/wallets/:id/transactions': values.walletId ?? '',
    '/wallets/:id/deposits': values.walletId ?? '',
    '/payouts/:id/items': publicId('payout', await idOf('payouts')),
    '/events/:id/deliveries': publicId('event', await idOf('events')),
  };
  const [endpoint] = await api.sql<{ id: Uuid }[]>`SELECT md5('endpoint1')::uuid AS id`;
  parameters['/webhook-endpoints/:id/failed-deliveries'] = publicId('webhookEndpoint', endpoint?.id ?? '');
  const lists = ROUTES.filter(({ success, path }) => success.paginated === true && path !== '/banks');
  return lists.flatMap(({ path, filters }) => {
    const filled = path.replace(':id', parameters[path] ?? ':id');
    const shape = (filters as z.ZodObject).shape as Record<string, z.ZodType>;
    const reference = `${path.split('/')[1]?.slice(0, -1)}-7`;
    const { metadata, expand, order, ...plain } = shape;
    const names = expand === undefined ? [] : namesOf(expand);
    // A pair that most rows have reads them all: the contract says that filters are for values of few resources.
    const pairs = ['metadata[order]=7', 'metadata[order]=none'];
    const single = Object.entries(plain).map(([name, schema]) =>
      (optionsOf(schema) ?? [name === 'reference' ? reference : (values[name] ?? `missing: ${path} ${name}`)]).map(
        (value) => `${name}=${encodeURIComponent(value)}`,
      ),
    );
    if (metadata !== undefined) single.push(pairs);
    const both = single.flatMap((ones, index) =>
      single.slice(index + 1).flatMap((others) => ones.flatMap((one) => others.map((other) => `${one}&${other}`))),
    );
    const filtered = [...single.flat(), ...both].map((query) => `?${query}`);
    const queries =
      order === undefined ? filtered : ['?order=asc', ...filtered.flatMap((one) => [one, `${one}&order=asc`])];
    if (names.length > 0) queries.push(`?expand=${names.join(',')}`);
    if (path === '/search')
      return ['payment-7', 'payer7@test.example', '7', 'none'].map((text) => `${path}?query=${text}`);
    return ['', ...queries].map((query) => `${filled}${query}`);
  });
}

/** The only filters of a list that may read more, and why. */
const EXCEPTIONS: readonly { is: RegExp; why: string }[] = [
  {
    is: /^\/events\?(?:.*&)?type=transfer\.completed\b/,
    why: 'the most frequent type, whose events pay for no further index',
  },
  {
    is: /^\/transfers\?(?:.*&)?sourceWalletId=[^&]+&destinationWalletId=/,
    why: 'reads the transfers of the source wallet: they pay for no index of both',
  },
];

test('a page reads what it returns, whatever its filter and order', async () => {
  // Not by the client of the tests, which compares answers with the document: the rows are made up.
  const headers = { authorization: `Bearer ${api.test.key}` };
  const found: Read[] = [];
  for (const path of await requests()) {
    for (let cursor = '', page = 1; page <= 2; page += 1) {
      const url = `${path}${path.includes('?') ? '&' : '?'}limit=${PAGE}${cursor}`;
      let next: string | null = null;
      const result = await measure(
        `${path} page ${page}`,
        async () => {
          const response = await fetch(`${service.urls.test}${url}`, { headers });
          const answer = (await response.json()) as { pagination: { nextCursor: string | null } };
          if (!response.ok) throw new Error(`${url}: ${response.status} ${JSON.stringify(answer)}`);
          next = answer.pagination.nextCursor;
        },
        takePlans,
      );
      if (!EXCEPTIONS.some(({ is }) => is.test(path))) found.push(result);
      if (next === null) break;
      cursor = `&cursor=${String(next)}`;
    }
  }
  expect(found.filter(({ read }) => read > PAGE * PER_ROW)).toEqual([]);
}, 600_000);

test('the gauges and what runs on a period read what is open or has changed', async () => {
  const notices: string[] = [];
  const { config, rails } = service.dependencies;
  const gauges = databaseGauges(config.databaseUrl, rails, 0, ({ message }) => {
    notices.push(JSON.stringify({ notice: message }));
  });
  const retention = createRetentionActivities({ sql: service.dependencies.maintenanceSql, config });
  const expire = () => new MockActivityEnvironment().run(retention.deleteExpiredRows);
  const seal = async () => {
    for (let isBehind = true; isBehind; ) ({ isBehind } = await sealNext(sql, 60_000));
  };
  const activity =
    <Result>(run: (input: null) => Promise<Result>) =>
    () =>
      new MockActivityEnvironment().run(run, null);
  const { reconcileBooks, proveDays } = createReconciliationActivities(service.dependencies);
  const { pollCredits } = createCreditPollingActivities(service.dependencies);
  // No queue has a task that waits, and no flow was noted.
  const client = {
    options: { namespace: 'default' },
    workflowService: { describeTaskQueue: () => Promise.resolve({}) },
  } as unknown as Client;
  const limits = { taskStalledMs: 60_000, workflowTaskFailingMs: 60_000, activityFailingMs: 60_000 };
  const closing = () => closeDays(sql, { organisationId, environment: 'test' });
  const closed = await measure('closing a day', closing, takePlans);
  // The work of a year is not that of a run.
  await expire();
  await seal();
  const periodic: Record<string, () => Promise<unknown>> = {
    ...Object.fromEntries(
      OPEN_KINDS.map((kind, index) => [
        `sweep ${index} ${kind.rows.slice(0, 40)}`,
        () => listOpenResources(sql, kind, { after: null, limit: 100, ageMinMs: 0 }),
      ]),
    ),
    relay: () => sql`SELECT FROM ledger.claim_messages('flow', 1::smallint, NULL, NULL, 10, 1)`,
    retries: () => sql`SELECT FROM ledger.claim_deliveries(NULL, 10, 8, 1)`,
    retention: expire,
    reconciliation: activity(reconcileBooks),
    'credit polling': activity(pollCredits),
    'proofs of days': activity(proveDays),
    'repaid debts': () => endRepaidCases(sql, service.dependencies.journal),
    'failing flows': () => scanFailingFlows({ sql, client }, { taskQueue: 'main', limits, onProgress: () => {} }),
    shortfalls: () => listShortfalls(sql),
  };
  const found: Read[] = [await measure('gauges', gauges.collect, () => plansOf(notices.splice(0)))];
  for (const [name, work] of Object.entries(periodic)) found.push(await measure(name, work, takePlans));
  await gauges.close();
  expect((await measure('sealing', seal, takePlans)).read).toBeLessThan(BRIN_RANGES);
  expect(found.filter(({ read }) => read > FEW)).toEqual([]);
  // Each account with its last closing balance, and what moved on the days that a payment may take to be settled.
  const { count = 0 } = (await sql<{ count: number }[]>`SELECT count(*) FROM ledger.accounts`)[0] ?? {};
  expect(closed.read).toBeLessThan(FEW + 3 * count);
}, 600_000);

async function printReport(): Promise<void> {
  for (const { name, read } of report.toSorted((a, b) => b.read - a.read)) process.stdout.write(`${read}\t${name}\n`);
  const unused = await api.sql<{ name: string }[]>`
    SELECT schemaname || '.' || indexrelname AS name FROM pg_stat_user_indexes WHERE idx_scan = 0 ORDER BY 1`;
  const sizes = await api.sql<{ name: string; bytes: number }[]>`
    SELECT indexrelname AS name, pg_relation_size(indexrelid) / greatest(1, n_live_tup) AS bytes
    FROM pg_stat_user_indexes i JOIN pg_stat_user_tables t USING (relid) WHERE n_live_tup > 1000 ORDER BY 2 DESC`;
  process.stdout.write(`bytes a row: ${sizes.map(({ name, bytes }) => `${name} ${bytes}`).join(', ')}\n`);
  process.stdout.write(`not used here: ${unused.map(({ name }) => name).join(' ')}\n`);
}
