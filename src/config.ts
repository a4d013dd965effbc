// Every setting of the service, read once from the environment and validated. Numbers that customers depend on are
// declared here or in src/ledger/limits.ts and src/ledger/fees.ts, never inline.
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
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
} as const;
const { flows, payouts } = WORKER_DEFAULTS;

const roles = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(WORKER_ROLES)).refine((list) => new Set(list).size === list.length, 'a role is named twice'));
/** The SDK requires two where flows are cached. */
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
  WORKER_PAYOUTS_TASKS_MAX: slots.default(payouts.tasksMax),
  WORKER_PAYOUTS_ACTIVITIES_MAX: positive.default(payouts.activitiesMax),
  RAIL_ACTIVITIES_PER_SECOND: z.union([z.literal('').transform(() => null), positive]).default(null),
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
  ATTENTION_RAIL_UNREACHABLE_SECONDS: positive.default(HOUR),
  ATTENTION_OUTCOME_UNKNOWN_SECONDS: positive.default(24 * HOUR),
  REVIEW_CREDIT_BY_TWO_FROM_KOBO: positive.default(10_000_000),
  CODEC_PORT: port.default(8234),
  METRICS_PORT: optionalPort,
  WORKER_METRICS_PORT: optionalPort,
  METRICS_BIND_ADDRESS: z.string().default('127.0.0.1'),
  SCHEDULES: z.enum(['on', 'off']).default('on'),
  LEDGER_VERIFICATION_EVERY_SECONDS: positive.default(DAY),
  RECONCILIATION_EVERY_SECONDS: positive.default(DAY),
  SEAL_FILE: z.string().default(''),
  SEAL_WEBHOOK_URL: optionalUrl,
  CREDIT_POLLING_EVERY_SECONDS: positive.default(300),
  IDEMPOTENCY_KEYS_KEPT_DAYS: positive.min(7).default(7),
  WEBHOOK_ATTEMPTS_KEPT_DAYS: positive.min(30).default(90),
  REQUEST_LOGS_KEPT_DAYS: z.coerce.number().int().min(0).default(30),
  OTEL_SDK_DISABLED: z.string().default(''),
  OTEL_EXPORTER_OTLP_ENDPOINT: optionalUrl,
  OTEL_EXPORTER_OTLP_PROTOCOL: z.enum(['', 'http/json']).default(''),
  OTEL_TRACES_SAMPLER: z.enum(['', 'parentbased_always_on', 'parentbased_traceidratio']).default(''),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  OTEL_SERVICE_NAME: z.string().default(''),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

/** Numbers that no deployment has a reason to change, each with its own reason. Tests pass others. */
const FIXED = {
  /** An hour without money on its way is what an operator should know of; most rails recover within it. */
  railNotReadyMs: HOUR * 1000,
  creditUnconfirmedMs: HOUR * 1000,
  /** A parked transfer continues this soon after its rail knows the outcome, if no callback comes. */
  probeMs: 15 * 60_000,
  /** Only for a signal that was lost: a resumed rail wakes its flows itself. */
  pausedLookMs: HOUR * 1000,
  /** Activities are retried through an outage, and a fix of a failing workflow task is deployed at once. */
  activityFailingMs: HOUR * 1000,
  workflowTaskFailingMs: 5 * 60_000,
  /** Longer than a deployment, and than a task waits for its turn in a burst. */
  taskStalledMs: 5 * 60_000,
  schedulesEveryMs: 60_000,
  sweepEveryMs: 30_000,
  /** The relay starts a flow within seconds of the commit: what is older is missing. */
  sweepAgeMinMs: 20_000,
  failingFlowsEveryMs: 60_000,
  retentionEveryMs: HOUR * 1000,
  /** Rewritten history of the last minutes is not noticed. */
  sealEveryMs: 5 * 60_000,
  /** Longer than any statement of the service runs, so that all older postings are committed. */
  sealLagMs: 60_000,
  sandboxCallLimitMs: 5_000,
  /** At least the limit of a call: a transfer may arrive that late. */
  sandboxUnknownIsFinalAfterMs: 5_000,
  /** Open payment pages of a process, about 20 kB each; further ones poll. */
  checkoutPagesMax: 10_000,
};
export type Fixed = typeof FIXED;

export type Config = ReturnType<typeof readConfig>;

/**
 * Reads and validates the settings. Throws one error that lists every invalid variable, so that a process with an
 * invalid configuration exits before it accepts a request. `docs/configuration.md` describes each setting.
 */
export function readConfig(environment: Record<string, string | undefined>, changed: Partial<Fixed> = {}) {
  const parsed = settings.safeParse(environment);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`Invalid configuration. Correct these environment variables:\n${problems.join('\n')}`);
  }
  const value = parsed.data;
  const fixed = { ...FIXED, ...changed };
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
        cachedMax: flows.cachedMax,
      },
      payouts: {
        tasksMax: value.WORKER_PAYOUTS_TASKS_MAX,
        activitiesMax: value.WORKER_PAYOUTS_ACTIVITIES_MAX,
        cachedMax: payouts.cachedMax,
      },
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
      pagesMax: fixed.checkoutPagesMax,
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
      callLimitMs: fixed.sandboxCallLimitMs,
      unknownIsFinalAfterMs: fixed.sandboxUnknownIsFinalAfterMs,
    },
    attention: {
      railUnreachableMs: value.ATTENTION_RAIL_UNREACHABLE_SECONDS * 1000,
      railNotReadyMs: fixed.railNotReadyMs,
      outcomeUnknownMs: value.ATTENTION_OUTCOME_UNKNOWN_SECONDS * 1000,
      creditUnconfirmedMs: fixed.creditUnconfirmedMs,
      probeMs: fixed.probeMs,
      pausedLookMs: fixed.pausedLookMs,
      activityFailingMs: fixed.activityFailingMs,
      workflowTaskFailingMs: fixed.workflowTaskFailingMs,
      taskStalledMs: fixed.taskStalledMs,
    },
    review: { creditByTwoFrom: value.REVIEW_CREDIT_BY_TWO_FROM_KOBO },
    metrics: {
      ports: { api: value.METRICS_PORT, worker: value.WORKER_METRICS_PORT },
      bindAddress: value.METRICS_BIND_ADDRESS,
    },
    maintenance: {
      /** False: this process leaves the Schedules in Temporal unchanged. */
      schedules: value.SCHEDULES === 'on',
      schedulesEveryMs: fixed.schedulesEveryMs,
      sweepEveryMs: fixed.sweepEveryMs,
      sweepAgeMinMs: fixed.sweepAgeMinMs,
      failingFlowsEveryMs: fixed.failingFlowsEveryMs,
      retentionEveryMs: fixed.retentionEveryMs,
      ledgerVerificationEveryMs: value.LEDGER_VERIFICATION_EVERY_SECONDS * 1000,
      reconciliationEveryMs: value.RECONCILIATION_EVERY_SECONDS * 1000,
      sealEveryMs: fixed.sealEveryMs,
      creditPollingEveryMs: value.CREDIT_POLLING_EVERY_SECONDS * 1000,
      idempotencyKeysKeptDays: value.IDEMPOTENCY_KEYS_KEPT_DAYS,
      webhookAttemptsKeptDays: value.WEBHOOK_ATTEMPTS_KEPT_DAYS,
      /** 0: no request log. */
      requestLogsKeptDays: value.REQUEST_LOGS_KEPT_DAYS,
    },
    seals: {
      lagMs: fixed.sealLagMs,
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

/** Returns null when tracing is off: it is on when an endpoint is set, unless OTEL_SDK_DISABLED is `true`. */
function tracingOf(value: z.infer<typeof settings>): TracingSettings | null {
  const endpoint = value.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (value.OTEL_SDK_DISABLED === 'true' || endpoint === '') return null;
  return {
    url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
    ratio: value.OTEL_TRACES_SAMPLER === 'parentbased_traceidratio' ? value.OTEL_TRACES_SAMPLER_ARG : 1,
    serviceName: value.OTEL_SERVICE_NAME,
  };
}
