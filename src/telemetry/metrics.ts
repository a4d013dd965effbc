// Every metric of the service, declared in one place; docs/metrics.md lists them, and a test compares the two. Labels
// have a small closed set of values, never ids. An increment costs one to three microseconds.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics of this process: those of the service and, after `watchProcess`, those of Node. */
export const registry = new Registry();
const registers = [registry];

/** From a balance read to more than every time limit: 7 s of a rail call, 8 s of a request, 10 s of a webhook. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 12];
/** A posting statement: under a millisecond for a lone caller, tens of milliseconds for a full batch. */
const STATEMENT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
/** Up to the largest batch (BATCH_MAX of the journal). */
const BATCH_SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500];

const counter = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
  new Counter({ name, help, labelNames, registers });

const gauge = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
  new Gauge({ name, help, labelNames, registers });

const gaugeOfBooks = (name: string, help: string) => gauge(name, help, ['environment']);

const histogram = <Label extends string = never>(
  name: string,
  help: string,
  buckets: number[],
  labelNames: readonly Label[] = [],
) => new Histogram({ name, help, buckets, labelNames, registers });

/** A counter of which these series start at 0, so that `increase()` sees the first event. Others may follow. */
function startedCounter<Label extends string>(name: string, help: string, series: readonly Record<Label, string>[]) {
  const counted = counter(name, help, Object.keys(series[0] ?? {}) as Label[]);
  for (const labels of series) counted.inc(labels, 0);
  return counted;
}

const outcomes = (names: string) => names.split(' ').map((outcome) => ({ outcome }));

const httpSeconds = histogram(
  'manilla_http_request_duration_seconds',
  'Time until the response of a request was ready, by environment, method, route pattern and status class.',
  REQUEST_SECONDS,
  ['environment', 'method', 'route', 'status'],
);

/** Counts a request. `route`: method and pattern (`GET /wallets/:id`). */
export function countRequest(
  environment: 'test' | 'live',
  route: string | undefined,
  status: number,
  seconds: number,
): void {
  const [method = '', pattern = ''] = (route ?? 'none none').split(' ');
  httpSeconds.observe({ environment, method, route: pattern, status: `${Math.floor(status / 100)}xx` }, seconds);
}

export const rateLimited = counter(
  'manilla_http_rate_limited_total',
  'Requests rejected by the rate limit of their API key.',
);

export const overloaded = counter(
  'manilla_http_overloaded_total',
  'Requests refused because too many waited for a place, or waited for too long.',
);

export const checkoutPagesOpen = gauge(
  'manilla_checkout_pages_open',
  'Payment pages that are open in browsers and get their changes from this process.',
);

export const requestLogsLost = counter(
  'manilla_request_logs_lost_total',
  'Answered requests that are missing in the request log, because the database did not take them in time.',
);

export const idempotentRequests = startedCounter(
  'manilla_idempotent_requests_total',
  'Requests with an Idempotency-Key by its state: new (the request proceeds), replayed, in_progress or reused.',
  outcomes('new replayed in_progress reused'),
);

export const journalBatchSize = histogram(
  'manilla_journal_batch_movements',
  'Movements per posting statement.',
  BATCH_SIZES,
);

export const journalBatchSeconds = histogram(
  'manilla_journal_batch_duration_seconds',
  'Duration of a posting statement by outcome: ok or failed.',
  STATEMENT_SECONDS,
  ['outcome'],
);

export const journalMovements = startedCounter(
  'manilla_journal_movements_total',
  'Movements by outcome (posted, duplicate, duplicate_differs, refused, conflict, failed); code is the reason of a refusal.',
  outcomes('posted duplicate duplicate_differs conflict failed').map((one) => ({ ...one, code: 'none' })),
);

export const outboxMessages = startedCounter(
  'manilla_outbox_messages_total',
  'Outbox messages by topic and outcome: handled, or failed and scheduled for a retry.',
  ['flow', 'event'].flatMap((topic) => outcomes('handled failed').map((one) => ({ topic, ...one }))),
);

export const railSeconds = histogram(
  'manilla_rail_call_duration_seconds',
  'Duration of rail calls by operation and outcome: ok, refused, not_ready, unavailable, timed_out, error (a fault on our side).',
  REQUEST_SECONDS,
  ['rail', 'operation', 'outcome'],
);

export const railCallsNotMade = counter(
  'manilla_rail_calls_not_made_total',
  'Calls that the breaker refused: the rail did not respond to the last calls.',
  ['rail'],
);

export const railBreakerOpen = gauge(
  'manilla_rail_breaker_open',
  '1 while this process does not call an operation of the rail, except to probe it, because it did not respond.',
  ['rail', 'operation'],
);

export const railCallbacks = counter(
  'manilla_rail_callbacks_total',
  'Rail callbacks by outcome: accepted, or invalid (signature missing or wrong, too old, malformed).',
  ['rail', 'outcome'],
);

export const railNotices = counter(
  'manilla_rail_notices_total',
  'News in callbacks that move no money: low_balance, payment_rejected, settled, or ignored (not about our money).',
  ['rail', 'notice'],
);

export const railUnknownAnswers = startedCounter(
  'manilla_rail_unknown_answers_total',
  'Undocumented answers of a rail: status, payment_status, row; or otp, a transfer that waits for a password.',
  ['status', 'payment_status', 'row', 'otp'].map((kind) => ({ rail: 'monnify', kind })),
);

export const creditsRecovered = counter(
  'manilla_credits_recovered_total',
  'Inbound credits that no callback reported: found in the list of credits or on the statement of the rail.',
  ['rail'],
);

export const webhookAttempts = startedCounter(
  'manilla_webhook_attempts_total',
  'Webhook delivery attempts by outcome: delivered, the status class of another response, or the reason why there was none.',
  outcomes('delivered answered_3xx answered_4xx answered_5xx timeout connection_failed connection_lost'),
);

export const webhookAttemptSeconds = histogram(
  'manilla_webhook_attempt_duration_seconds',
  'Duration of a webhook delivery attempt, successful or not.',
  REQUEST_SECONDS,
);

export const webhookDeliveries = startedCounter(
  'manilla_webhook_deliveries_total',
  'Finished webhook deliveries: delivered, or the reason of the failure (retries_exhausted, endpoint_disabled, endpoint_deleted).',
  outcomes('delivered retries_exhausted endpoint_disabled endpoint_deleted'),
);

export const ledgerVerifications = startedCounter(
  'manilla_ledger_verifications_total',
  'Completed ledger verifications by result: ok, or violations (at least one finding). Violations need an operator at once.',
  outcomes('ok violations'),
);

export const ledgerSealings = counter(
  'manilla_ledger_sealings_total',
  'Completed runs that sealed the new postings of every book and published the seals.',
);

export const flowsRestarted = counter(
  'manilla_flows_restarted_total',
  'Flows that the sweep started for accepted resources that had none.',
);

export const sweeps = counter(
  'manilla_sweeps_total',
  'Completed sweeps: the open resources were checked for missing flows.',
);

export const failingFlowScans = counter(
  'manilla_failing_flow_scans_total',
  'Completed scans of the open flows for tasks that fail again and again.',
);

// The gauges below are queried from the database or from Temporal on a scrape (src/worker/backlogGauges.ts).

export const gaugeSourceUp = gauge(
  'manilla_gauge_source_up',
  '1 if the gauges of this source were collected successfully the last time, 0 if not; the gauges are then absent.',
  ['source'],
);
/** By topic, as `gaugesOfBooks`. */
export const gaugesOfOutbox = {
  outboxDepth: gauge('manilla_outbox_messages', 'Outbox messages not handled yet.', ['topic']),
  outboxLag: gauge(
    'manilla_outbox_lag_seconds',
    'Age of the oldest outbox message that is not handled yet; 0 when there is none.',
    ['topic'],
  ),
};
/** By environment. Their names are those of the rows that a scrape reads. */
export const gaugesOfBooks = {
  undeliveredAge: gaugeOfBooks(
    'manilla_webhook_oldest_undelivered_age_seconds',
    'Age of the oldest event with an unfinished delivery; 0 when there is none.',
  ),
  unattemptedAge: gaugeOfBooks(
    'manilla_webhook_oldest_unattempted_age_seconds',
    'Age of the oldest event that was never sent to an endpoint which does not fail; 0 when there is none.',
  ),
  suspenseBalance: gaugeOfBooks(
    'manilla_suspense_balance_kobo',
    'Received money that is not allocated yet: the sum of all suspense accounts.',
  ),
  shortfall: gaugeOfBooks(
    'manilla_shortfall_kobo',
    'How much less the banks hold than what customers and the state are owed, of all books.',
  ),
  unprovedDays: gaugeOfBooks(
    'manilla_unproved_days',
    'Days of the last month, each at a bank, that have ended and are neither proved nor waived.',
  ),
  openReviewCases: gaugeOfBooks('manilla_review_cases_open', 'Unresolved review cases.'),
  reviewCaseAge: gaugeOfBooks(
    'manilla_review_case_oldest_age_seconds',
    'Age of the oldest unresolved review case; 0 when there is none.',
  ),
  reconciliationAge: gaugeOfBooks(
    'manilla_reconciliation_oldest_age_seconds',
    'Time since which the book that is furthest behind is not reconciled with its rail; 0 when there is no rail.',
  ),
  balanceBreaks: gaugeOfBooks(
    'manilla_balance_breaks',
    'Accounts of money at a rail that the balance of the rail contradicts, or that are below zero in the books.',
  ),
  railPaused: gaugeOfBooks('manilla_rail_paused', '1 while an operator has paused the rail, 0 otherwise.'),
  railBalancesLow: gaugeOfBooks(
    'manilla_rail_balances_low',
    'Contracts that could pay out less than RAIL_BALANCE_LOW_KOBO when they were last asked.',
  ),
};
export const railBalance = gauge(
  'manilla_rail_balance_kobo',
  'What can be paid out when last asked, of the contract of a rail with the least.',
  ['environment', 'rail'],
);
export const databaseConnections = gauge(
  'manilla_database_connections',
  'Connections of all processes of the service to this database.',
);
databaseConnections.remove(); // no value until the first collection
export const parkedFlows = gauge('manilla_flows_parked', 'Flows that wait for an operator, by cause.', ['cause']);
export const parkedFlowAge = gauge(
  'manilla_flow_parked_oldest_age_seconds',
  'Waiting time of the flow that has been parked longest, by cause; 0 when there is none.',
  ['cause'],
);

export const failingFlows = gauge(
  'manilla_flows_failing',
  'Flows with a task that has failed again and again, or that no worker takes or ends, for longer than its limit.',
  ['task'],
);
export const taskQueuePollers = gauge(
  'manilla_task_queue_pollers',
  'Worker processes that poll the task queue for workflow tasks or activities, as the Temporal server sees it.',
  ['task_queue', 'task'],
);

let watching = false;

/** Adds the metrics of the process itself (CPU, memory, event loop, garbage collection). Idempotent. */
export function watchProcess(): void {
  if (watching) return;
  watching = true;
  collectDefaultMetrics({ register: registry, prefix: 'manilla_' });
  // They read undocumented Node internals; `active_resources` covers them.
  for (const suffix of ['requests', 'requests_total', 'handles', 'handles_total']) {
    registry.removeSingleMetric(`manilla_nodejs_active_${suffix}`);
  }
  // Initialised like every counter here; otherwise a series is absent until the first collection of its kind.
  const collections = registry.getSingleMetric('manilla_nodejs_gc_duration_seconds') as Histogram<'kind'>;
  for (const kind of ['major', 'minor', 'incremental', 'weakcb']) collections.zero({ kind });
}
