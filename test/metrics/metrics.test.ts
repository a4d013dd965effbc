// What the metrics ports show, after a little of everything has happened: the documentation, the alert rules and the
// dashboard name what is really emitted, the numbers are true, and no label ever holds an id.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { freePort } from '../../dev/freePort.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus, type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { type Exposition, scrape } from './exposition.ts';

const FUNDS = 1_000_000;
const TO_NOBODY = 5_000;
const UNAVAILABLE_ACCOUNT = '9999999008';

let flows: TestFlows;
let receiver: Receiver;
let ports: { api: number; worker: number };
let seen: Exposition;

beforeAll(async () => {
  const api = await freePort();
  ports = { api, worker: await freePort(undefined, [api]) };
  flows = await startTestFlows({
    settings: {
      METRICS_PORT: String(ports.api),
      WORKER_METRICS_PORT: String(ports.worker),
      ATTENTION_RAIL_UNREACHABLE_SECONDS: '1',
      WEBHOOK_RETRY_GAPS_SECONDS: '0.1,3600',
    },
  });
  receiver = await startReceiver();
  await liveThroughADay();
  // The sources are asked again only when their last answer is ten seconds old, so this is the first look.
  seen = await scrape(ports.worker);
});

afterAll(async () => {
  await flows.close();
  await receiver.close();
});

/** A payment with its events, a withdrawal that parks, money to nobody, and callers who do it wrong. */
async function liveThroughADay(): Promise<void> {
  const endpoint = await flows.test.post('/webhook-endpoints', { url: receiver.url });
  expect(endpoint.status).toBe(201);
  const wallet = await flows.createWallet(undefined, { balance: FUNDS });

  const payment = await flows.createPayment(wallet, 10_000);
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  await receiver.untilReceived(1);
  receiver.answerWith(answerStatus(503));

  const order = { amount: 100_000, accountNumber: UNAVAILABLE_ACCOUNT, bankCode: '058' };
  const key = randomUUID();
  const withdrawal = await flows.test.money(`/wallets/${wallet}/withdraw`, order, key);
  expect(withdrawal.status).toBe(201);
  const again = await flows.test.money(`/wallets/${wallet}/withdraw`, order, key);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  const tooMuch = await flows.test.money(`/wallets/${wallet}/withdraw`, { ...order, amount: FUNDS * 2 });
  expect(tooMuch.status).toBe(422);

  await flows.credit('1234567890', TO_NOBODY);
  await waitFor('a review case', async () => (await flows.reviewCases()).length === 1);
  expect((await flows.client(null).call('POST', '/rails/sandbox/callbacks', { body: {} })).status).toBe(401);
  expect((await flows.client(null).get(`/${randomUUID()}`)).status).toBe(404);
  await hurry();
  const live = await flows.live.money('/payments', {
    method: 'bank_transfer',
    baseAmount: 10_000,
    targetWalletId: flows.organisation.liveSettlementWalletId,
  });
  expect(live.status).toBe(503); // there is no live rail here

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

/** One request more than a key's minute has; the minute is a later one, so that it does not end meanwhile. */
async function hurry(): Promise<void> {
  const { id, key } = await flows.createKey(flows.organisation.organisationId);
  const caller = flows.client(key);
  await caller.get('/wallets');
  await flows.sql`UPDATE rate_counters SET hits = 1000000, window_start = window_start + interval '1 hour' WHERE api_key_id = ${id}`;
  expect((await caller.get('/wallets')).status).toBe(429);
}

describe('what is written about the metrics is true', () => {
  test('docs/metrics.md lists every metric with its type and labels, and nothing else', () => {
    const emitted = [...seen.types]
      .map(([name, type]) => `${name} ${type} ${labelsOf(name).join(', ') || '-'}`)
      .toSorted();
    expect(documented().toSorted()).toEqual(emitted);
  });

  test('every metric has a value', () => {
    expect([...seen.types.keys()].filter((name) => samplesOf(name).length === 0)).toEqual([]);
  });

  const alerts = parse(read('deploy/prometheus/alerts.yml')) as {
    groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
  };
  const rules = alerts.groups.flatMap((group) => group.rules);
  const dashboard = JSON.parse(read('deploy/grafana/dashboard.json')) as {
    panels: { title: string; targets?: { expr: string }[] }[];
  };
  const expressions = [
    ...rules.map(({ alert, expr }) => [`alert ${alert}`, expr] as const),
    ...dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => [`panel ${title}`, expr] as const),
    ),
  ];

  test.each(expressions)('%s asks for what is emitted', (_where, expression) => {
    const selectors = [...expression.matchAll(/\b(manilla_\w+)(?:\{([^}]*)\})?/g)];
    expect(selectors.length).toBeGreaterThan(0);
    for (const [, name = '', matchers = ''] of selectors) {
      const samples = seen.samples.filter((sample) => sample.name === name);
      expect([name, samples.length > 0]).toEqual([name, true]);
      for (const [, label = '', operator, value] of matchers.matchAll(/(\w+)(=~|!=|=)"([^"]*)"/g)) {
        const values = new Set(samples.map(({ labels }) => labels[label]));
        const isThere = operator === '=' ? values.has(value) : !values.has(undefined);
        expect([name, label, value, isThere]).toEqual([name, label, value, true]);
      }
    }
  });

  test('every alert says what is wrong and what to do', () => {
    for (const { annotations } of rules) expect(Object.keys(annotations)).toEqual(['summary', 'action']);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });
});

describe('the numbers', () => {
  test('no label holds an id, an account number or anything else without end', () => {
    const values = new Set(seen.samples.flatMap(({ labels }) => Object.values(labels)));
    const idLike = /[0-9a-f]{8}-[0-9a-f]{4}|_[0-9a-z]{20,}|\d{6,}|svc_/i;
    expect([...values].filter((value) => idLike.test(value))).toEqual([]);
    expect(Math.max(...[...values].map((value) => value.length))).toBeLessThan(60);
  });

  test('requests are counted by route pattern, and one that matches none by no pattern', () => {
    const requests = (labels: Record<string, string>) =>
      seen.value('manilla_http_request_duration_seconds_count', labels);
    expect(requests({ environment: 'test', method: 'POST', route: '/payments', status: '2xx' })).toBe(1);
    expect(requests({ method: 'POST', route: '/wallets/:id/withdraw', status: '4xx' })).toBe(1);
    expect(requests({ environment: 'live', method: 'POST', route: '/payments', status: '5xx' })).toBe(1);
    expect(requests({ method: 'none', route: 'none', status: '4xx' })).toBe(1);
    expect(seen.value('manilla_http_rate_limited_total')).toBe(1);
    expect(seen.value('manilla_idempotency_claims_total', { outcome: 'replayed' })).toBe(1);
  });

  test('movements are counted by outcome, and batches hold each once or more', () => {
    const movements = (labels: Record<string, string>) => seen.value('manilla_journal_movements_total', labels) ?? 0;
    expect(movements({ outcome: 'refused', code: 'WALLET_INSUFFICIENT_FUNDS' })).toBe(1);
    expect(movements({ outcome: 'posted' })).toBeGreaterThanOrEqual(5);
    expect(seen.value('manilla_journal_batch_movements_sum')).toBeGreaterThanOrEqual(movements({}));
  });

  test('calls of the rail by operation and outcome, and callbacks that were not its own', () => {
    const calls = (operation: string, outcome: string) =>
      seen.value('manilla_rail_call_duration_seconds_count', { rail: 'sandbox', operation, outcome }) ?? 0;
    expect(calls('open_virtual_account', 'ok')).toBeGreaterThanOrEqual(1);
    expect(calls('transfer_status', 'unavailable') + calls('send_transfer', 'unavailable')).toBeGreaterThanOrEqual(1);
    expect(seen.value('manilla_rail_callbacks_total', { outcome: 'invalid' })).toBe(1);
    expect(seen.value('manilla_rail_callbacks_total', { outcome: 'accepted' })).toBeGreaterThanOrEqual(2);
  });

  test('parked flows with their age, by cause', () => {
    expect(seen.value('manilla_flows_parked', { cause: 'rail_unreachable' })).toBeGreaterThanOrEqual(1);
    expect(seen.value('manilla_flow_parked_oldest_age_seconds', { cause: 'rail_unreachable' })).toBeGreaterThan(0);
    expect(seen.value('manilla_gauge_source_up', { source: 'temporal' })).toBe(1);
  });

  test('money that found no place, and its review case', () => {
    expect(seen.value('manilla_suspense_balance_kobo', { environment: 'test' })).toBe(TO_NOBODY);
    expect(seen.value('manilla_suspense_balance_kobo', { environment: 'live' })).toBe(0);
    expect(seen.value('manilla_review_cases_open', { environment: 'test' })).toBe(1);
    expect(seen.value('manilla_review_case_oldest_age_seconds', { environment: 'test' })).toBeGreaterThan(0);
  });

  test('an event whose endpoint is down is undelivered, and not one that nobody tried', () => {
    expect(seen.value('manilla_webhook_attempts_total', { outcome: 'answered_5xx' })).toBeGreaterThanOrEqual(2);
    expect(seen.value('manilla_webhook_deliveries_total', { outcome: 'delivered' })).toBeGreaterThanOrEqual(1);
    expect(seen.value('manilla_webhook_oldest_undelivered_age_seconds', { environment: 'test' })).toBeGreaterThan(0);
    expect(seen.value('manilla_outbox_messages_total', { topic: 'event', outcome: 'handled' })).toBeGreaterThan(0);
  });

  test('the connections of all processes to the database', () => {
    expect(seen.value('manilla_database_connections')).toBeGreaterThanOrEqual(2);
  });
});

test('the public listeners do not answer for metrics, and the metrics port for nothing else', async () => {
  expect((await flows.client(null).get('/metrics')).error.code).toBe('ROUTE_NOT_FOUND');
  const other = await fetch(`http://127.0.0.1:${ports.api}/v1/health`);
  expect(other.status).toBe(404);
  expect((await scrape(ports.api)).types.size).toBe(seen.types.size);
});

/** `name type labels` of each row of the table. Some metrics of Node are there on Linux only. */
function documented(): string[] {
  const rows = read('docs/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \| \S+ \| ([^|]+) \| (.*) \|$/gm);
  return [...rows]
    .filter(([, , , , meaning = '']) => process.platform === 'linux' || !meaning.endsWith('(Linux)'))
    .map(([, name, type, labels]) => `${name} ${type} ${labels?.replaceAll('`', '').trim()}`);
}

const samplesOf = (name: string) =>
  seen.samples.filter((sample) => sample.name.replace(/_(bucket|sum|count)$/, '') === name || sample.name === name);

const labelsOf = (name: string): string[] =>
  [...new Set(samplesOf(name).flatMap(({ labels }) => Object.keys(labels)))]
    .filter((label) => label !== 'le' && label !== 'quantile')
    .toSorted();

function read(file: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8');
}
