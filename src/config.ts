// Every setting of the service, read once from the environment and validated. Numbers that customers depend on are
// declared here or in src/ledger/limits.ts and src/ledger/fees.ts, never inline.
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { RAIL_CALL_MAX_MS } from './concurrency/timeLimits.ts';
import { parseKeyring } from './keyring.ts';
import type { TracingSettings } from './telemetry/span.ts';
import { readPayloadKeys } from './temporal/dataConverter.ts';
import { DEFAULT_ADDRESS, DEFAULT_NAMESPACE, readProfile } from './temporal/profile.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

/**
 * Pauses between webhook attempts in seconds: ten attempts in 75 h 35 m, the schedule that Standard Webhooks suggests.
 */
const WEBHOOK_RETRY_GAPS = [5, 300, 1800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR].join(',');

/** Default endpoint of an OpenTelemetry collector (OTLP over HTTP). */
const DEFAULT_COLLECTOR_URL = 'http://localhost:4318';

const port = z.coerce.number().int().min(0).max(65_535);
/** Empty string: off. */
const optionalPort = z.union([z.literal('').transform(() => null), port]).default(null);
const optionalUrl = z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).default('');
/** Scheme, host and port alone. */
const optionalOrigin = optionalUrl.refine(
  (url) => url === '' || (URL.canParse(url) && new URL(url).href === `${new URL(url).origin}/`),
  {
    message: 'must be an address without a path',
  },
);
const positive = z.coerce.number().int().positive();

/**
 * What a worker process does: it polls the queues of the flows, of payout items, of maintenance, or
 * runs the relay of the outbox with the loops of the sandbox bank.
 */
export const WORKER_ROLES = ['flows', 'payouts', 'maintenance', 'relay'] as const;
export type WorkerRole = (typeof WORKER_ROLES)[number];

export const WORKER_DEFAULTS = {
  flows: { tasksMax: 40, activitiesMax: 100, cachedMax: 1_000 },
  payouts: { tasksMax: 10, activitiesMax: 20, cachedMax: 500 },
  pollers: 10,
} as const;
const { flows, payouts, pollers } = WORKER_DEFAULTS;

const roles = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(WORKER_ROLES)).refine((list) => new Set(list).size === list.length, 'a role is named twice'));
const share = z.coerce.number().gt(0).max(1);
/** The SDK requires two of each where flows are cached. */
const slots = z.coerce.number().int().min(2);

/** Addresses and CIDR ranges, separated by commas. */
const addressRanges = z
  .string()
  .default('')
  .transform((list) =>
    list
      .split(',')
      .map((range) => range.trim())
      .filter((range) => range !== ''),
  )
  .refine((ranges) => ranges.every((range) => ipaddr.isValid(range) || ipaddr.isValidCIDR(range)), {
    message: 'must be addresses or CIDR ranges, separated by commas',
  });

const settings = z.object({
  DATABASE_URL: z
    .string()
    .min(1)
    .refine((url) => !/[?&]target_session_attrs=(?!primary|read-write)/.test(url), 'the service needs the primary'),
  DATABASE_CONNECTIONS_MAX: positive.default(10),
  JOURNAL_STATEMENTS_MAX: positive.max(2).default(2),
  TEMPORAL_TASK_QUEUE: z
    .string()
    .refine((name) => !name.endsWith('-payouts'), 'a name with this ending is that of the queue of payouts')
    .default('manilla'),
  TEMPORAL_UI_URL: optionalUrl,
  TEMPORAL_PAYLOAD_KEYS: z.string().default(''),
  WORKER_BUILD_ID: z
    .string()
    .regex(/^[\w.-]{0,100}$/)
    .default(''),
  WORKER_ROLES: roles.default([...WORKER_ROLES]),
  WORKER_FLOWS_TASKS_MAX: slots.default(flows.tasksMax),
  WORKER_FLOWS_ACTIVITIES_MAX: positive.default(flows.activitiesMax),
  WORKER_FLOWS_CACHED_MAX: slots.default(flows.cachedMax),
  WORKER_PAYOUTS_TASKS_MAX: slots.default(payouts.tasksMax),
  WORKER_PAYOUTS_ACTIVITIES_MAX: positive.default(payouts.activitiesMax),
  WORKER_PAYOUTS_CACHED_MAX: slots.default(payouts.cachedMax),
  WORKER_SLOTS: z.enum(['fixed', 'resources']).default('fixed'),
  WORKER_CPU_TARGET: share.default(0.9),
  WORKER_MEMORY_TARGET: share.default(0.8),
  RAIL_ACTIVITIES_PER_SECOND: z.union([z.literal('').transform(() => null), positive]).default(null),
  WORKER_POLLERS: z.union([z.literal('auto'), slots]).default(pollers),
  MANILLA_KEYS: z.string().min(1),
  BIND_ADDRESS: z.string().default('127.0.0.1'),
  SANDBOX_PORT: port.default(8080),
  LIVE_PORT: port.default(8081),
  SANDBOX_HOST: z.string().default(''),
  LIVE_HOST: z.string().default(''),
  RATE_LIMIT_PER_MINUTE: positive.default(600),
  REQUESTS_IN_PROGRESS_MAX: positive.default(512),
  TRUSTED_PROXIES: addressRanges,
  SANDBOX_CHECKOUT_URL: optionalOrigin,
  LIVE_CHECKOUT_URL: optionalOrigin,
  CHECKOUT_PAGES_MAX: positive.default(10_000),
  WEBHOOK_ALLOW_PRIVATE_ADDRESSES: z.enum(['', 'sandbox']).default(''),
  WEBHOOK_RETRY_GAPS_SECONDS: z
    .string()
    .regex(/^\d+(\.\d+)?(,\d+(\.\d+)?)*$/)
    .default(WEBHOOK_RETRY_GAPS),
  RAIL_BALANCE_LOW_KOBO: z.coerce.number().int().min(0).default(10_000_000),
  FEE_SCHEDULES_FILE: z.string().default(''),
  RAIL_CHECK: z.enum(['optional', 'required']).default('optional'),
  SANDBOX_RAIL_CALLBACK_URL: z.string().default('http://127.0.0.1:8080/v1/rails/sandbox/callbacks'),
  SANDBOX_RAIL_DELAY_MS: z.coerce.number().int().min(0).default(200),
  SANDBOX_RAIL_CALL_LIMIT_MS: positive.max(RAIL_CALL_MAX_MS).default(5_000),
  SANDBOX_RAIL_UNKNOWN_IS_FINAL_AFTER_MS: z.coerce.number().int().min(0).default(5_000),
  ATTENTION_RAIL_UNREACHABLE_SECONDS: positive.default(HOUR),
  ATTENTION_RAIL_NOT_READY_SECONDS: positive.default(HOUR),
  ATTENTION_OUTCOME_UNKNOWN_SECONDS: positive.default(24 * HOUR),
  ATTENTION_CREDIT_UNCONFIRMED_SECONDS: positive.default(HOUR),
  ATTENTION_PROBE_SECONDS: positive.default(900),
  RAIL_PAUSED_LOOK_SECONDS: positive.default(HOUR),
  ATTENTION_ACTIVITY_FAILING_SECONDS: positive.default(HOUR),
  ATTENTION_WORKFLOW_TASK_FAILING_SECONDS: positive.default(300),
  // Longer than a deployment, and than a task waits for its turn in a burst.
  ATTENTION_TASK_STALLED_SECONDS: positive.default(300),
  REVIEW_CREDIT_BY_TWO_FROM_KOBO: positive.default(10_000_000),
  CODEC_PORT: port.default(8234),
  METRICS_PORT: optionalPort,
  WORKER_METRICS_PORT: optionalPort,
  METRICS_BIND_ADDRESS: z.string().default('127.0.0.1'),
  SCHEDULES: z.enum(['on', 'off']).default('on'),
  SCHEDULES_EVERY_SECONDS: positive.default(60),
  SWEEP_EVERY_SECONDS: positive.default(30),
  SWEEP_AGE_MIN_SECONDS: z.coerce.number().min(0).default(20),
  FAILING_FLOWS_EVERY_SECONDS: positive.default(60),
  RETENTION_EVERY_SECONDS: positive.default(HOUR),
  LEDGER_VERIFICATION_EVERY_SECONDS: positive.default(DAY),
  RECONCILIATION_EVERY_SECONDS: positive.default(DAY),
  SEAL_EVERY_SECONDS: positive.default(300),
  SEAL_LAG_SECONDS: positive.min(15).default(60),
  SEAL_FILE: z.string().default(''),
  SEAL_WEBHOOK_URL: optionalUrl,
  CREDIT_POLLING_EVERY_SECONDS: positive.default(300),
  IDEMPOTENCY_KEYS_KEPT_DAYS: positive.min(7).default(7),
  WEBHOOK_ATTEMPTS_KEPT_DAYS: positive.min(30).default(90),
  REQUEST_LOGS_KEPT_DAYS: z.coerce.number().int().min(0).default(30),
  OTEL_SDK_DISABLED: z.string().default(''),
  OTEL_TRACES_EXPORTER: z.enum(['', 'otlp', 'none']).default(''),
  OTEL_EXPORTER_OTLP_ENDPOINT: optionalUrl,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: optionalUrl,
  OTEL_EXPORTER_OTLP_PROTOCOL: z.enum(['', 'http/json']).default(''),
  OTEL_TRACES_SAMPLER: z.enum(['', 'parentbased_always_on', 'parentbased_traceidratio']).default(''),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  OTEL_SERVICE_NAME: z.string().default(''),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

export type Config = ReturnType<typeof readConfig>;

/**
 * Reads and validates the settings. Throws one error that lists every invalid variable, so that a process with an
 * invalid configuration exits before it accepts a request. `docs/configuration.md` describes each setting.
 */
export function readConfig(environment: Record<string, string | undefined>) {
  const parsed = settings.safeParse(environment);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`Invalid configuration. Correct these environment variables:\n${problems.join('\n')}`);
  }
  const value = parsed.data;
  const profile = readProfile(environment);
  return {
    databaseUrl: value.DATABASE_URL,
    databaseConnectionsMax: value.DATABASE_CONNECTIONS_MAX,
    journalStatementsMax: value.JOURNAL_STATEMENTS_MAX,
    temporal: {
      address: profile.address ?? DEFAULT_ADDRESS,
      namespace: profile.namespace ?? DEFAULT_NAMESPACE,
      /** Reads them again, so that replaced files take effect. */
      credentials: () => readProfile(environment).credentials,
      taskQueue: value.TEMPORAL_TASK_QUEUE,
      /** Encrypt payloads; null: they are not encrypted. */
      payloadKeys: readPayloadKeys(environment),
      uiUrl: value.TEMPORAL_UI_URL,
      /** Empty: no worker versioning. This worker accepts workflows started by any version. */
      buildId: value.WORKER_BUILD_ID,
    },
    worker: {
      roles: value.WORKER_ROLES,
      flows: {
        tasksMax: value.WORKER_FLOWS_TASKS_MAX,
        activitiesMax: value.WORKER_FLOWS_ACTIVITIES_MAX,
        cachedMax: value.WORKER_FLOWS_CACHED_MAX,
      },
      payouts: {
        tasksMax: value.WORKER_PAYOUTS_TASKS_MAX,
        activitiesMax: value.WORKER_PAYOUTS_ACTIVITIES_MAX,
        cachedMax: value.WORKER_PAYOUTS_CACHED_MAX,
      },
      /** Null: the maxima are the number of slots. Otherwise slots are given out while the machine is below these. */
      targets:
        value.WORKER_SLOTS === 'fixed' ? null : { cpu: value.WORKER_CPU_TARGET, memory: value.WORKER_MEMORY_TARGET },
      pollers: value.WORKER_POLLERS,
      /** Activities that call a rail, of all processes together; null: no limit. */
      railActivitiesPerSecond: value.RAIL_ACTIVITIES_PER_SECOND,
    },
    keyring: parseKeyring(value.MANILLA_KEYS),
    codec: { port: value.CODEC_PORT },
    bindAddress: value.BIND_ADDRESS,
    ports: { test: value.SANDBOX_PORT, live: value.LIVE_PORT },
    hosts: { test: value.SANDBOX_HOST, live: value.LIVE_HOST },
    rateLimitPerMinute: value.RATE_LIMIT_PER_MINUTE,
    requestsInProgressMax: value.REQUESTS_IN_PROGRESS_MAX,
    /** Addresses and ranges of the proxies in front of the API, whose X-Forwarded-For is believed. */
    trustedProxies: value.TRUSTED_PROXIES,
    checkout: {
      /** Where payers reach the payment pages, without a slash at the end. */
      origins: {
        test: originOf(value.SANDBOX_CHECKOUT_URL, value.SANDBOX_HOST, value.SANDBOX_PORT),
        live: originOf(value.LIVE_CHECKOUT_URL, value.LIVE_HOST, value.LIVE_PORT),
      },
      /** Open pages of this process that get their changes over a connection. */
      pagesMax: value.CHECKOUT_PAGES_MAX,
    },
    webhooks: {
      allowPrivateInSandbox: value.WEBHOOK_ALLOW_PRIVATE_ADDRESSES === 'sandbox',
      retryGapsMs: value.WEBHOOK_RETRY_GAPS_SECONDS.split(',').map((seconds) => Math.round(Number(seconds) * 1000)),
    },
    /** A rail that can pay out less is counted as low. */
    railBalanceLow: value.RAIL_BALANCE_LOW_KOBO,
    /** Empty: every rail has the default fees. */
    feeSchedulesFile: value.FEE_SCHEDULES_FILE,
    /** Whether a contract accepts nothing until a check with this version of its adapter has passed. */
    railCheckRequired: value.RAIL_CHECK === 'required',
    sandboxRail: {
      callbackUrl: value.SANDBOX_RAIL_CALLBACK_URL,
      delayMs: value.SANDBOX_RAIL_DELAY_MS,
      callLimitMs: value.SANDBOX_RAIL_CALL_LIMIT_MS,
      unknownIsFinalAfterMs: value.SANDBOX_RAIL_UNKNOWN_IS_FINAL_AFTER_MS,
    },
    attention: {
      railUnreachableMs: value.ATTENTION_RAIL_UNREACHABLE_SECONDS * 1000,
      railNotReadyMs: value.ATTENTION_RAIL_NOT_READY_SECONDS * 1000,
      outcomeUnknownMs: value.ATTENTION_OUTCOME_UNKNOWN_SECONDS * 1000,
      creditUnconfirmedMs: value.ATTENTION_CREDIT_UNCONFIRMED_SECONDS * 1000,
      probeMs: value.ATTENTION_PROBE_SECONDS * 1000,
      pausedLookMs: value.RAIL_PAUSED_LOOK_SECONDS * 1000,
      activityFailingMs: value.ATTENTION_ACTIVITY_FAILING_SECONDS * 1000,
      workflowTaskFailingMs: value.ATTENTION_WORKFLOW_TASK_FAILING_SECONDS * 1000,
      taskStalledMs: value.ATTENTION_TASK_STALLED_SECONDS * 1000,
    },
    review: { creditByTwoFrom: value.REVIEW_CREDIT_BY_TWO_FROM_KOBO },
    metrics: {
      ports: { api: value.METRICS_PORT, worker: value.WORKER_METRICS_PORT },
      bindAddress: value.METRICS_BIND_ADDRESS,
    },
    maintenance: {
      /** False: this process leaves the Schedules in Temporal unchanged. */
      schedules: value.SCHEDULES === 'on',
      schedulesEveryMs: value.SCHEDULES_EVERY_SECONDS * 1000,
      sweepEveryMs: value.SWEEP_EVERY_SECONDS * 1000,
      sweepAgeMinMs: value.SWEEP_AGE_MIN_SECONDS * 1000,
      failingFlowsEveryMs: value.FAILING_FLOWS_EVERY_SECONDS * 1000,
      retentionEveryMs: value.RETENTION_EVERY_SECONDS * 1000,
      ledgerVerificationEveryMs: value.LEDGER_VERIFICATION_EVERY_SECONDS * 1000,
      reconciliationEveryMs: value.RECONCILIATION_EVERY_SECONDS * 1000,
      sealEveryMs: value.SEAL_EVERY_SECONDS * 1000,
      creditPollingEveryMs: value.CREDIT_POLLING_EVERY_SECONDS * 1000,
      idempotencyKeysKeptDays: value.IDEMPOTENCY_KEYS_KEPT_DAYS,
      webhookAttemptsKeptDays: value.WEBHOOK_ATTEMPTS_KEPT_DAYS,
      /** 0: no request log. */
      requestLogsKeptDays: value.REQUEST_LOGS_KEPT_DAYS,
    },
    seals: {
      /** Longer than any statement of the service runs, so that all older postings are committed. */
      lagMs: value.SEAL_LAG_SECONDS * 1000,
      file: value.SEAL_FILE,
      webhookUrl: value.SEAL_WEBHOOK_URL,
    },
    tracing: tracingOf(value),
    logLevel: value.LOG_LEVEL,
  };
}

/** A public address that is not set is the host of the environment behind its proxy, else its port on this machine. */
function originOf(publicUrl: string, host: string, port: number): string {
  if (publicUrl !== '') return new URL(publicUrl).origin;
  return host === '' ? `http://127.0.0.1:${port}` : `https://${host}`;
}

/**
 * Returns null when tracing is off. It is on when an endpoint is set or the exporter is `otlp`, unless
 * OTEL_SDK_DISABLED is `true` or the exporter is `none`.
 */
function tracingOf(value: z.infer<typeof settings>): TracingSettings | null {
  const { OTEL_TRACES_EXPORTER: exporter, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = value;
  const tracesEndpoint = value.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const enabled = exporter === 'otlp' || endpoint !== '' || tracesEndpoint !== '';
  if (value.OTEL_SDK_DISABLED === 'true' || exporter === 'none' || !enabled) return null;
  return {
    url: tracesEndpoint || `${(endpoint || DEFAULT_COLLECTOR_URL).replace(/\/$/, '')}/v1/traces`,
    ratio: value.OTEL_TRACES_SAMPLER === 'parentbased_traceidratio' ? value.OTEL_TRACES_SAMPLER_ARG : 1,
    serviceName: value.OTEL_SERVICE_NAME,
  };
}
