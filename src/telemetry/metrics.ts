// Every metric of the service, declared in one place (docs/metrics.md lists them; a test keeps the two alike). Labels are
// few and closed: an id never becomes one. Counting one thing costs one to three microseconds.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics of this process: those of the service, and once `watchProcess` was called those of Node. */
export const registry = new Registry();
const registers = [registry];

/** From a balance read to a request that hangs until its deadline of 12 s. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 12];
/** One statement: a lone caller needs under a millisecond, a full batch tens of them. */
const STATEMENT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
/** Up to the most that one batch takes (BATCH_MAX of the journal). */
const BATCH_SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500];

/** A counter over a closed set of outcomes. It shows each as 0 from the start, so that the first one counts as a rise. */
function outcomeCounter(name: string, help: string, outcomes: readonly string[]): Counter<'outcome'> {
  const counter = new Counter({ name, help, labelNames: ['outcome'], registers });
  for (const outcome of outcomes) counter.inc({ outcome }, 0);
  return counter;
}

const httpSeconds = new Histogram({
  name: 'manilla_http_request_duration_seconds',
  help: 'Requests by environment, method, route pattern and class of status: the time until the answer was ready.',
  labelNames: ['environment', 'method', 'route', 'status'],
  buckets: REQUEST_SECONDS,
  registers,
});

type HttpLabels = { environment: string; method: string; route: string; status: string };
/** Label objects by route and by first digit of the status, made when they are first met and used again after that. */
const httpLabels: Record<'test' | 'live', Map<string, HttpLabels[]>> = { test: new Map(), live: new Map() };
const STATUS_CLASSES = ['', '1xx', '2xx', '3xx', '4xx', '5xx'];

/** Counts an answered request. `route` is method and pattern (`GET /wallets/:id`); undefined: it matched none. */
export function countRequest(
  environment: 'test' | 'live',
  route: string | undefined,
  status: number,
  seconds: number,
): void {
  const name = route ?? 'none none';
  let labels = httpLabels[environment].get(name);
  if (labels === undefined) {
    const [method = '', pattern = ''] = name.split(' ');
    labels = STATUS_CLASSES.map((one) => ({ environment, method, route: pattern, status: one }));
    httpLabels[environment].set(name, labels);
  }
  const found = labels[Math.floor(status / 100)];
  if (found !== undefined) httpSeconds.observe(found, seconds);
}

export const rateLimited = new Counter({
  name: 'manilla_http_rate_limited_total',
  help: 'Requests refused because their key was used too often in its minute.',
  registers,
});

export const idempotencyClaims = outcomeCounter(
  'manilla_idempotency_claims_total',
  'Money requests by what became of their Idempotency-Key: claimed (the request went ahead), replayed, in_progress or reused.',
  ['claimed', 'replayed', 'in_progress', 'reused'],
);

export const journalBatchSize = new Histogram({
  name: 'manilla_journal_batch_movements',
  help: 'Movements that one posting statement carried.',
  buckets: BATCH_SIZES,
  registers,
});

export const journalBatchSeconds = new Histogram({
  name: 'manilla_journal_batch_duration_seconds',
  help: 'Time of one posting statement: ok or failed.',
  labelNames: ['outcome'],
  buckets: STATEMENT_SECONDS,
  registers,
});

export const journalMovements = new Counter({
  name: 'manilla_journal_movements_total',
  help: 'Movements by outcome (posted, duplicate, duplicate_differs, refused, conflict, failed); code says why one was refused.',
  labelNames: ['outcome', 'code'],
  registers,
});
for (const outcome of ['posted', 'duplicate', 'duplicate_differs', 'conflict', 'failed'])
  journalMovements.inc({ outcome, code: 'none' }, 0);

export const outboxMessages = new Counter({
  name: 'manilla_outbox_messages_total',
  help: 'Outbox messages by topic: handled, or failed and put back for another try.',
  labelNames: ['topic', 'outcome'],
  registers,
});
for (const topic of ['flow', 'event']) {
  for (const outcome of ['handled', 'failed']) outboxMessages.inc({ topic, outcome }, 0);
}

export const railSeconds = new Histogram({
  name: 'manilla_rail_call_duration_seconds',
  help: 'Calls to a rail by operation and outcome: ok, refused, unavailable, timed_out, error (a fault on our side).',
  labelNames: ['rail', 'operation', 'outcome'],
  buckets: REQUEST_SECONDS,
  registers,
});

export const railCallbacks = new Counter({
  name: 'manilla_rail_callbacks_total',
  help: 'Callbacks of a rail: accepted as its own, or invalid (not signed, too old, unreadable).',
  labelNames: ['rail', 'outcome'],
  registers,
});

export const webhookAttempts = outcomeCounter(
  'manilla_webhook_attempts_total',
  'Attempts to deliver an event to an endpoint: delivered, answered with another status, or the reason of no answer.',
  ['delivered', 'answered_3xx', 'answered_4xx', 'answered_5xx', 'timeout', 'connection_failed', 'connection_lost'],
);

export const webhookAttemptSeconds = new Histogram({
  name: 'manilla_webhook_attempt_duration_seconds',
  help: 'Time of one attempt, whatever came of it.',
  buckets: REQUEST_SECONDS,
  registers,
});

export const webhookDeliveries = outcomeCounter(
  'manilla_webhook_deliveries_total',
  'Deliveries that came to their end: delivered, or failed and why (retries_exhausted, endpoint_disabled, endpoint_deleted).',
  ['delivered', 'retries_exhausted', 'endpoint_disabled', 'endpoint_deleted'],
);

export const ledgerVerifications = outcomeCounter(
  'manilla_ledger_verifications_total',
  'Verifications of all books by what they found: ok, or violations. Violations need an operator at once.',
  ['ok', 'violations'],
);

export const flowsRestarted = new Counter({
  name: 'manilla_flows_restarted_total',
  help: 'Accepted resources that the sweep found without a flow, and whose flow it started.',
  registers,
});

export const sweeps = new Counter({
  name: 'manilla_sweeps_total',
  help: 'Sweeps that came to their end: all accepted resources were looked at for one without a flow.',
  registers,
});

/** How things stand, asked of the database and of Temporal when somebody looks (src/worker/backlogGauges.ts). */
const backlogRegistry = <Label extends string>(
  name: string,
  help: string,
  labelNames: readonly Label[],
): Gauge<Label> => new Gauge({ name, help, labelNames, registers });

export const gaugeSourceUp = backlogRegistry(
  'manilla_gauge_source_up',
  '1 when the gauges of this source could be read at the last look, 0 when not; then they are absent.',
  ['source'],
);
export const outboxDepth = backlogRegistry('manilla_outbox_messages', 'Outbox messages not handled yet.', ['topic']);
export const outboxLag = backlogRegistry(
  'manilla_outbox_lag_seconds',
  'Age of the oldest outbox message that is not handled yet; 0 when there is none.',
  ['topic'],
);
export const undeliveredAge = backlogRegistry(
  'manilla_webhook_oldest_undelivered_age_seconds',
  'Age of the oldest event whose delivery to an endpoint is not over; 0 when there is none.',
  ['environment'],
);
export const unattemptedAge = backlogRegistry(
  'manilla_webhook_oldest_unattempted_age_seconds',
  'Age of the oldest event that no delivery was ever attempted for though one is due; 0 when there is none.',
  ['environment'],
);
export const suspenseBalance = backlogRegistry(
  'manilla_suspense_balance_kobo',
  'Money received that has not found its place: the sum of all suspense accounts.',
  ['environment'],
);
export const openReviewCases = backlogRegistry('manilla_review_cases_open', 'Review cases that are not resolved.', [
  'environment',
]);
export const reviewCaseAge = backlogRegistry(
  'manilla_review_case_oldest_age_seconds',
  'Age of the oldest open review case; 0 when there is none.',
  ['environment'],
);
export const railPaused = backlogRegistry(
  'manilla_rail_paused',
  '1 while operations have paused the rail, 0 while it sends.',
  ['environment'],
);
export const databaseConnections = backlogRegistry(
  'manilla_database_connections',
  'Connections that all processes of the service hold to this database.',
  [],
);
databaseConnections.remove(); // no value until somebody looked
export const parkedFlows = backlogRegistry('manilla_flows_parked', 'Flows that wait for a person, by cause.', [
  'cause',
]);
export const parkedFlowAge = backlogRegistry(
  'manilla_flow_parked_oldest_age_seconds',
  'How long the longest parked flow has waited for a person, by cause; 0 when there is none.',
  ['cause'],
);

let watching = false;

/** Adds the metrics of the process itself (CPU, memory, event loop, garbage collection). Once for each process. */
export function watchProcess(): void {
  if (watching) return;
  watching = true;
  collectDefaultMetrics({ register: registry, prefix: 'manilla_' });
  // Node's older, private way of counting; `active_resources` says the same.
  for (const old of ['requests', 'requests_total', 'handles', 'handles_total']) {
    registry.removeSingleMetric(`manilla_nodejs_active_${old}`);
  }
  // Initialised like every counter here: otherwise the series would be absent until the first collection of its kind.
  const collections = registry.getSingleMetric('manilla_nodejs_gc_duration_seconds') as Histogram<'kind'>;
  for (const kind of ['major', 'minor', 'incremental', 'weakcb']) collections.zero({ kind });
}
