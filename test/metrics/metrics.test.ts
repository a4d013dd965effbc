// The metrics ports after a workload that uses every kind of flow: documentation, alert rules and dashboard name
// exactly the emitted metrics, the values are correct, and no label has an id.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Client, WorkflowNotFoundError } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { parse } from 'yaml';
import { freePort } from '../../dev/freePort.ts';
import { WORKER_ROLES } from '../../src/config.ts';
import { publicId } from '../../src/ids.ts';
import { railQueueOf, taskQueuesOf } from '../../src/workflows/flows.ts';
import { move } from '../ledger/books.ts';
import { startTestFlows } from '../support/flows.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus, startReceiver } from '../webhooks/receiver.ts';
import { type Exposition, scrape, scrapeWhole } from './exposition.ts';

const FUNDS = 1_000_000;
const UNMATCHED_AMOUNT = 5_000;
/** A charge beyond own money. */
const SHORTFALL = 700;
const UNPROVED_DAYS = 3;
const UNAVAILABLE_ACCOUNT = '9999999008';
const UNDERFUNDED_ACCOUNT = '3333333399';

/** The server takes payloads of 2 MB, which it tells the SDK, and messages of 4 MB. */
const PAYLOAD_TOO_LARGE = 3_000_000;
const MESSAGE_TOO_LARGE = 6_000_000;

/** What `runFailingWorkflows` makes fail. */
const FAILURES: [string, Record<string, string>][] = [
  ...['WorkflowError', 'NonDeterminismError', 'PayloadsTooLarge'].map((reason): [string, Record<string, string>] => [
    'temporal_workflow_task_execution_failed',
    { failure_reason: reason },
  ]),
  ...['INVALID_ARGUMENT', 'RESOURCE_EXHAUSTED', 'NOT_FOUND'].map((code): [string, Record<string, string>] => [
    'temporal_request_failure',
    { status_code: code },
  ]),
];

const api = await freePort();
const ports = { api, worker: await freePort(undefined, [api]) };
const flows = await startTestFlows({
  settings: {
    WORKER_ROLES: WORKER_ROLES.join(','),
    METRICS_PORT: String(ports.api),
    WORKER_METRICS_PORT: String(ports.worker),
    ATTENTION_RAIL_UNREACHABLE_SECONDS: '1',
    WEBHOOK_RETRY_GAPS_SECONDS: '0.1,3600',
  },
});
const receiver = await startReceiver();
let scraped: Exposition;
// Sources are cached for ten seconds, so nothing is scraped before its end.
await runWorkload();
await runFailingWorkflows();

afterAll(async () => {
  await flows.close();
  await receiver.close();
});

/** A payment with its events, a withdrawal that parks, a credit to an unknown account, and invalid requests. */
async function runWorkload(): Promise<void> {
  const endpoint = await flows.test.post('/webhook-endpoints', { url: receiver.url });
  expect(endpoint.status).toBe(201);
  const wallet = await flows.createWallet(undefined, { balance: FUNDS });

  const payment = await flows.createPayment(wallet, 10_000);
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  await receiver.untilReceived(1);
  receiver.answerWith(answerStatus(503));

  // The sandbox bank tells none.
  await flows.sql`
    INSERT INTO rail_progress (organisation_id, environment, rail, available, read_at)
    VALUES (${flows.organisation.organisationId}, 'test', 'sandbox', 1, now())`;

  await flows.setBehaviour(UNDERFUNDED_ACCOUNT, 'underfunded');
  await flows.withdraw(UNDERFUNDED_ACCOUNT);
  await waitFor('a transfer that the bank does not accept', async () => {
    const rows = await flows.sql`SELECT FROM sandbox_bank.requests WHERE account_number = ${UNDERFUNDED_ACCOUNT}`;
    return rows.length > 0;
  });

  const order = { amount: 100_000, accountNumber: UNAVAILABLE_ACCOUNT, bankCode: '058' };
  const key = randomUUID();
  const withdrawal = await flows.test.money(`/wallets/${wallet}/withdraw`, order, key);
  expect(withdrawal.status).toBe(201);
  const again = await flows.test.money(`/wallets/${wallet}/withdraw`, order, key);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  const tooMuch = await flows.test.money(`/wallets/${wallet}/withdraw`, { ...order, amount: FUNDS * 2 });
  expect(tooMuch.status).toBe(422);

  const liveBook = { organisationId: flows.organisation.organisationId, environment: 'live' } as const;
  await flows.dependencies.journal.post(move(liveBook, 'expense:rail', 'clearing:other', SHORTFALL));
  await flows.sql`
    UPDATE ledger.accounts SET created_at = now() - make_interval(days => ${UNPROVED_DAYS}) WHERE code = 'clearing:other'`;
  await flows.credit('1234567890', UNMATCHED_AMOUNT);
  await waitFor('a review case', async () => (await flows.reviewCases()).length === 1);
  const address = `/rails/sandbox/callbacks/${publicId('organisation', flows.organisation.organisationId)}`;
  expect((await flows.client(null).call('POST', address, { body: {} })).status).toBe(401);
  expect((await flows.client(null).get(`/${randomUUID()}`)).status).toBe(404);
  await exceedRateLimit();
  const live = await flows.live.money('/payments', {
    method: 'bank_transfer',
    baseAmount: 10_000,
    targetWalletId: flows.organisation.liveSettlementWalletId,
  });
  // Live has no rail here.
  expect(live.status).toBe(503);

  await waitFor('the withdrawal to park', async () => {
    const parked = `Attention = 'rail_unreachable' AND WorkflowId = '${withdrawal.data.id}'`;
    return (await flows.temporal.workflow.count(parked)).count === 1;
  });
  await waitFor('an undelivered event', async () => {
    const [row] = await flows.sql<{ count: number }[]>`
      SELECT count(*) AS count FROM webhook_deliveries WHERE status = 'pending' AND attempts = 2`;
    return (row?.count ?? 0) > 0;
  });
}

/** Workflow tasks that fail for each reason, and requests that Temporal rejects, by a worker of this process. */
async function runFailingWorkflows(): Promise<void> {
  const connection = await NativeConnection.connect({ address: testStack().temporalAddress });
  const taskQueue = `failing-${randomUUID()}`;
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowsPath: fileURLToPath(new URL('failingWorkflows.ts', import.meta.url)),
    activities: { take: () => undefined },
    maxCachedWorkflows: 0, // each task replays
  });
  const { workflow } = new Client({ connection });
  await worker.runUntil(async () => {
    const handles = await Promise.all(
      [['throwsError'], ['changes'], ['sends', PAYLOAD_TOO_LARGE], ['asksInvalid']].map(([type, ...args]) =>
        workflow.start(String(type), { taskQueue, workflowId: randomUUID(), args }),
      ),
    );
    const tooLarge = { taskQueue, workflowId: randomUUID(), args: ['x'.repeat(MESSAGE_TOO_LARGE)] };
    await expect(workflow.start('sends', tooLarge)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('larger than max') },
    });
    await expect(workflow.getHandle(randomUUID()).describe()).rejects.toBeInstanceOf(WorkflowNotFoundError);
    // A history may not tell: it has only the first failure, and not that if the first attempt timed out.
    scraped = await waitFor('every failure to be counted', async () => {
      const counted = await scrapeWhole(ports.worker);
      return FAILURES.every(([name, labels]) => counted.value(name, labels) !== null) ? counted : null;
    });
    await Promise.all(handles.map((handle) => handle.terminate()));
  });
  await connection.close();
}

/** Exceeds the rate limit of a key by one request. The window is that of the next minute: it does not end meanwhile. */
async function exceedRateLimit(): Promise<void> {
  const { id, key } = await flows.createKey(flows.organisation.organisationId);
  const caller = flows.client(key);
  await caller.get('/wallets');
  await flows.sql`UPDATE rate_counters SET hits = 1000000, window_start = window_start + interval '1 minute' WHERE api_key_id = ${id}`;
  expect((await caller.get('/wallets')).status).toBe(429);
}

describe('documentation, alerts and dashboard', () => {
  test('docs/metrics.md lists exactly the emitted metrics with type and labels', () => {
    const emitted = [...scraped.types]
      .filter(([name]) => isOurs(name) && !isOfPromClient(name))
      .map(([name, type]) => `${name} ${type} ${labelsOf(name).join(', ') || '-'}`)
      .toSorted();
    expect(documented().filter(isOurs).toSorted()).toEqual(emitted);
  });

  test('docs/metrics.md lists the metrics of the SDK that alerts and dashboard use, as they are emitted', () => {
    const rows = documented().filter((row) => !isOurs(row));
    const listed = rows.map((row) => row.split(' ')[0] ?? '');
    for (const [position, name] of listed.entries()) {
      expect(rows[position]).toBe(`${name} ${scraped.types.get(name)} ${labelsOf(name).join(', ')}`);
    }
    const used = expressions.flatMap(([, expr]) => expr.match(/\btemporal_\w+/g) ?? []);
    expect(listed.toSorted()).toEqual([...new Set(used.map((name) => name.replace(/_bucket$/, '')))].toSorted());
  });

  test('every metric has a value', () => {
    expect([...scraped.types.keys()].filter((name) => samplesOf(name).length === 0)).toEqual([]);
  });

  const alerts = parse(read('deploy/helm/manilla/files/alerts.yml')) as {
    groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
  };
  const rules = alerts.groups.flatMap((group) => group.rules);
  const dashboard = JSON.parse(read('deploy/helm/manilla/files/dashboard.json')) as {
    panels: { title: string; targets?: { expr: string }[] }[];
  };
  const expressions = [
    ...rules.map(({ alert, expr }) => [`alert ${alert}`, expr] as const),
    ...dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => [`panel ${title}`, expr] as const),
    ),
  ];

  test.each(expressions)('the expression of %s matches emitted samples', (_where, expression) => {
    const selectors = [...expression.matchAll(/\b((?:manilla|temporal)_\w+)(?:\{([^}]*)\})?/g)];
    expect(selectors.length).toBeGreaterThan(0);
    for (const [, name = '', matchers = ''] of selectors) {
      const samples = scraped.samples.filter((sample) => sample.name === name);
      expect([name, samples.length > 0]).toEqual([name, true]);
      for (const [, label = '', operator, value] of matchers.matchAll(/(\w+)(=~|!=|=)"([^"]*)"/g)) {
        const values = new Set(samples.map(({ labels }) => labels[label]));
        const matched = [...values].filter((found) => new RegExp(`^(?:${value})$`).test(found ?? ''));
        const isThere =
          operator === '=' ? values.has(value) : !values.has(undefined) && (operator !== '=~' || matched.length > 0);
        expect([name, label, value, isThere]).toEqual([name, label, value, true]);
      }
    }
  });

  test('every alert has a summary and an action, and a unique name', () => {
    for (const { annotations } of rules) expect(Object.keys(annotations)).toEqual(['summary', 'action']);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });
});

describe('metric values', () => {
  test('no label has an id, an account number or any other unbounded value', () => {
    // The name of a task queue is a setting; here it is random.
    const labels = scraped.samples.flatMap((sample) => Object.entries(sample.labels));
    const values = new Set(labels.filter(([label]) => label !== 'task_queue').map(([, value]) => value));
    const idLike = /[0-9a-f]{8}-[0-9a-f]{4}|_[0-9a-z]{20,}|\d{6,}|svc_/i;
    expect([...values].filter((value) => idLike.test(value))).toEqual([]);
    expect(Math.max(...[...values].map((value) => value.length))).toBeLessThan(60);
  });

  test('requests are counted by route pattern, and unknown routes under none', () => {
    const requests = (labels: Record<string, string>) =>
      scraped.value('manilla_http_request_duration_seconds_count', labels);
    expect(requests({ environment: 'test', method: 'POST', route: '/payments', status: '2xx' })).toBe(1);
    expect(requests({ method: 'POST', route: '/wallets/:id/withdraw', status: '4xx' })).toBe(1);
    expect(requests({ environment: 'live', method: 'POST', route: '/payments', status: '5xx' })).toBe(1);
    expect(requests({ method: 'none', route: 'none', status: '4xx' })).toBe(1);
    expect(scraped.value('manilla_http_rate_limited_total')).toBe(1);
    expect(scraped.value('manilla_idempotent_requests_total', { outcome: 'replayed' })).toBe(1);
  });

  test('movements are counted by outcome, and each is in at least one batch', () => {
    const movements = (labels: Record<string, string>) => scraped.value('manilla_journal_movements_total', labels) ?? 0;
    expect(movements({ outcome: 'refused', code: 'WALLET_INSUFFICIENT_FUNDS' })).toBe(1);
    expect(movements({ outcome: 'posted' })).toBeGreaterThanOrEqual(5);
    expect(scraped.value('manilla_journal_batch_movements_sum')).toBeGreaterThanOrEqual(movements({}));
  });

  test('rail calls are counted by operation and outcome, and callbacks by validity', () => {
    const calls = (operation: string, outcome: string) =>
      scraped.value('manilla_rail_call_duration_seconds_count', { rail: 'sandbox', operation, outcome }) ?? 0;
    expect(calls('open_virtual_account', 'ok')).toBeGreaterThanOrEqual(1);
    expect(calls('transfer_status', 'unavailable') + calls('send_transfer', 'unavailable')).toBeGreaterThanOrEqual(1);
    expect(scraped.value('manilla_rail_callbacks_total', { outcome: 'invalid' })).toBe(1);
    expect(scraped.value('manilla_rail_callbacks_total', { outcome: 'accepted' })).toBeGreaterThanOrEqual(2);
  });

  test('parked flows and their age are reported by cause', () => {
    expect(scraped.value('manilla_flows_parked', { cause: 'rail_unreachable' })).toBeGreaterThanOrEqual(1);
    expect(scraped.value('manilla_flow_parked_oldest_age_seconds', { cause: 'rail_unreachable' })).toBeGreaterThan(0);
    expect(scraped.value('manilla_gauge_source_up', { source: 'temporal' })).toBe(1);
  });

  test('every task queue has a worker, as the Temporal server sees it', () => {
    const pollers = scraped.samples.filter(({ name }) => name === 'manilla_task_queue_pollers');
    const { taskQueue } = flows.dependencies.config.temporal;
    const found = pollers.map(({ labels, value }) => `${labels.task_queue} ${labels.task} ${value}`);
    const queues = taskQueuesOf(taskQueue).flatMap((queue) => [
      `${queue} activity 1`,
      ...(queue === railQueueOf(taskQueue) ? [] : [`${queue} workflow_task 1`]),
    ]);
    expect(found.toSorted()).toEqual(queues.toSorted());
  });

  test('a shortfall is reported by environment', () => {
    expect(scraped.value('manilla_shortfall_kobo', { environment: 'live' })).toBe(SHORTFALL);
    expect(scraped.value('manilla_shortfall_kobo', { environment: 'test' })).toBe(0);
  });

  test('days that are neither proved nor waived are reported by environment', () => {
    expect(scraped.value('manilla_unproved_days', { environment: 'live' })).toBe(UNPROVED_DAYS);
    expect(scraped.value('manilla_unproved_days', { environment: 'test' })).toBe(0);
  });

  test('suspense balances and review cases are reported by environment', () => {
    expect(scraped.value('manilla_suspense_balance_kobo', { environment: 'test' })).toBe(UNMATCHED_AMOUNT);
    expect(scraped.value('manilla_suspense_balance_kobo', { environment: 'live' })).toBe(0);
    expect(scraped.value('manilla_review_cases_open', { environment: 'test' })).toBe(1);
    expect(scraped.value('manilla_review_case_oldest_age_seconds', { environment: 'test' })).toBeGreaterThan(0);
  });

  test('an event whose endpoint is down counts as attempted and undelivered', () => {
    expect(scraped.value('manilla_webhook_attempts_total', { outcome: 'answered_5xx' })).toBeGreaterThanOrEqual(2);
    expect(scraped.value('manilla_webhook_deliveries_total', { outcome: 'delivered' })).toBeGreaterThanOrEqual(1);
    expect(scraped.value('manilla_webhook_oldest_undelivered_age_seconds', { environment: 'test' })).toBeGreaterThan(0);
    expect(scraped.value('manilla_outbox_messages_total', { topic: 'event', outcome: 'handled' })).toBeGreaterThan(0);
  });

  test('the database connections of all processes are reported', () => {
    expect(scraped.value('manilla_database_connections')).toBeGreaterThanOrEqual(2);
  });
});

test('the public ports serve no metrics, and the metrics port serves nothing else', async () => {
  expect((await flows.client(null).get('/metrics')).error.code).toBe('ROUTE_NOT_FOUND');
  const other = await fetch(`http://127.0.0.1:${ports.api}/v1/health`);
  expect(other.status).toBe(404);
  expect([...(await scrape(ports.api)).types.keys()]).toEqual([...scraped.types.keys()].filter(isOurs));
});

/** `name type labels` of each row of the table; the names of ours tell the type. */
function documented(): string[] {
  const rows = read('docs/metrics.md').matchAll(
    /^\| `(\w+)` \| (?:(counter|gauge|histogram) \| )?([^|]+) \| (.*) \|$/gm,
  );
  return [...rows].map(
    ([, name = '', type = typeOfName(name), labels]) => `${name} ${type} ${labels?.replaceAll('`', '').trim()}`,
  );
}

/** As docs/metrics.md states it. */
function typeOfName(name: string): string {
  if (name.endsWith('_total')) return 'counter';
  return /_duration_seconds$|^manilla_journal_batch_movements$/.test(name) ? 'histogram' : 'gauge';
}

const isOurs = (name: string): boolean => name.startsWith('manilla_');

/** Its default metrics, which the page does not list one by one. */
const isOfPromClient = (name: string): boolean => /^manilla_(process|nodejs)_/.test(name);

const samplesOf = (name: string) =>
  scraped.samples.filter((sample) => sample.name.replace(/_(bucket|sum|count)$/, '') === name || sample.name === name);

const labelsOf = (name: string): string[] =>
  [...new Set(samplesOf(name).flatMap(({ labels }) => Object.keys(labels)))]
    .filter((label) => label !== 'le' && label !== 'quantile')
    .toSorted();

function read(file: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8');
}
