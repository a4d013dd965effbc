// Every setting of the service, read once from the environment and validated. Numbers that customers depend on are
// declared here or in src/ledger/limits.ts and src/ledger/fees.ts, never inline.
import { z } from 'zod';
import { RAIL_CALL_MAX_MS } from './concurrency/timeLimits.ts';
import { parseKeyring } from './keyring.ts';

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
const positive = z.coerce.number().int().positive();

const settings = z.object({
  DATABASE_URL: z.string().min(1),
  DATABASE_CONNECTIONS_MAX: positive.default(10),
  TEMPORAL_ADDRESS: z.string().default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_TASK_QUEUE: z.string().default('manilla'),
  TEMPORAL_UI_URL: z.string().default(''),
  WORKER_BUILD_ID: z
    .string()
    .regex(/^[\w.-]{0,100}$/)
    .default(''),
  MANILLA_KEYS: z.string().min(1),
  BIND_ADDRESS: z.string().default('127.0.0.1'),
  SANDBOX_PORT: port.default(8080),
  LIVE_PORT: port.default(8081),
  SANDBOX_HOST: z.string().default(''),
  LIVE_HOST: z.string().default(''),
  RATE_LIMIT_PER_MINUTE: positive.default(600),
  WEBHOOK_ALLOW_PRIVATE_ADDRESSES: z.enum(['', 'sandbox']).default(''),
  WEBHOOK_RETRY_GAPS_SECONDS: z
    .string()
    .regex(/^\d+(\.\d+)?(,\d+(\.\d+)?)*$/)
    .default(WEBHOOK_RETRY_GAPS),
  SANDBOX_RAIL_CALLBACK_URL: z.string().default('http://127.0.0.1:8080/v1/rails/sandbox/callbacks'),
  SANDBOX_RAIL_DELAY_MS: z.coerce.number().int().min(0).default(200),
  SANDBOX_RAIL_CALL_LIMIT_MS: positive.max(RAIL_CALL_MAX_MS).default(5_000),
  SANDBOX_RAIL_UNKNOWN_IS_FINAL_AFTER_MS: z.coerce.number().int().min(0).default(5_000),
  ATTENTION_RAIL_UNREACHABLE_SECONDS: positive.default(HOUR),
  ATTENTION_OUTCOME_UNKNOWN_SECONDS: positive.default(24 * HOUR),
  ATTENTION_CREDIT_UNCONFIRMED_SECONDS: positive.default(HOUR),
  REVIEW_CREDIT_BY_TWO_FROM_KOBO: positive.default(10_000_000),
  METRICS_PORT: optionalPort,
  WORKER_METRICS_PORT: optionalPort,
  METRICS_BIND_ADDRESS: z.string().default('127.0.0.1'),
  TEMPORAL_METRICS_ADDRESS: z.string().default(''),
  SCHEDULES: z.enum(['on', 'off']).default('on'),
  SCHEDULES_EVERY_SECONDS: positive.default(60),
  SWEEP_EVERY_SECONDS: positive.default(30),
  SWEEP_AGE_MIN_SECONDS: z.coerce.number().min(0).default(20),
  HOUSEKEEPING_EVERY_SECONDS: positive.default(HOUR),
  LEDGER_VERIFICATION_EVERY_SECONDS: positive.default(DAY),
  RECONCILIATION_EVERY_SECONDS: positive.default(DAY),
  SEAL_EVERY_SECONDS: positive.default(300),
  SEAL_LAG_SECONDS: positive.min(15).default(60),
  SEAL_FILE: z.string().default(''),
  SEAL_WEBHOOK_URL: optionalUrl,
  CREDIT_POLLING_EVERY_SECONDS: positive.default(300),
  IDEMPOTENCY_KEYS_KEPT_DAYS: positive.min(7).default(7),
  WEBHOOK_ATTEMPTS_KEPT_DAYS: positive.min(30).default(90),
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
  return {
    databaseUrl: value.DATABASE_URL,
    databaseConnectionsMax: value.DATABASE_CONNECTIONS_MAX,
    temporal: {
      address: value.TEMPORAL_ADDRESS,
      namespace: value.TEMPORAL_NAMESPACE,
      taskQueue: value.TEMPORAL_TASK_QUEUE,
      uiUrl: value.TEMPORAL_UI_URL,
      /** Empty: no worker versioning. This worker accepts workflows started by any version. */
      buildId: value.WORKER_BUILD_ID,
    },
    keyring: parseKeyring(value.MANILLA_KEYS),
    bindAddress: value.BIND_ADDRESS,
    ports: { test: value.SANDBOX_PORT, live: value.LIVE_PORT },
    hosts: { test: value.SANDBOX_HOST, live: value.LIVE_HOST },
    rateLimitPerMinute: value.RATE_LIMIT_PER_MINUTE,
    webhooks: {
      allowPrivateInSandbox: value.WEBHOOK_ALLOW_PRIVATE_ADDRESSES === 'sandbox',
      retryGapsMs: value.WEBHOOK_RETRY_GAPS_SECONDS.split(',').map((seconds) => Math.round(Number(seconds) * 1000)),
    },
    sandboxRail: {
      callbackUrl: value.SANDBOX_RAIL_CALLBACK_URL,
      delayMs: value.SANDBOX_RAIL_DELAY_MS,
      callLimitMs: value.SANDBOX_RAIL_CALL_LIMIT_MS,
      unknownIsFinalAfterMs: value.SANDBOX_RAIL_UNKNOWN_IS_FINAL_AFTER_MS,
    },
    attention: {
      railUnreachableMs: value.ATTENTION_RAIL_UNREACHABLE_SECONDS * 1000,
      outcomeUnknownMs: value.ATTENTION_OUTCOME_UNKNOWN_SECONDS * 1000,
      creditUnconfirmedMs: value.ATTENTION_CREDIT_UNCONFIRMED_SECONDS * 1000,
    },
    review: { creditByTwoFrom: value.REVIEW_CREDIT_BY_TWO_FROM_KOBO },
    metrics: {
      ports: { api: value.METRICS_PORT, worker: value.WORKER_METRICS_PORT },
      bindAddress: value.METRICS_BIND_ADDRESS,
      temporalAddress: value.TEMPORAL_METRICS_ADDRESS,
    },
    maintenance: {
      /** False: this process leaves the Schedules in Temporal unchanged. */
      schedules: value.SCHEDULES === 'on',
      schedulesEveryMs: value.SCHEDULES_EVERY_SECONDS * 1000,
      sweepEveryMs: value.SWEEP_EVERY_SECONDS * 1000,
      sweepAgeMinMs: value.SWEEP_AGE_MIN_SECONDS * 1000,
      housekeepingEveryMs: value.HOUSEKEEPING_EVERY_SECONDS * 1000,
      ledgerVerificationEveryMs: value.LEDGER_VERIFICATION_EVERY_SECONDS * 1000,
      reconciliationEveryMs: value.RECONCILIATION_EVERY_SECONDS * 1000,
      sealEveryMs: value.SEAL_EVERY_SECONDS * 1000,
      creditPollingEveryMs: value.CREDIT_POLLING_EVERY_SECONDS * 1000,
      idempotencyKeysKeptDays: value.IDEMPOTENCY_KEYS_KEPT_DAYS,
      webhookAttemptsKeptDays: value.WEBHOOK_ATTEMPTS_KEPT_DAYS,
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

/**
 * Returns null when tracing is off. It is on when an endpoint is set or the exporter is `otlp`, unless
 * OTEL_SDK_DISABLED is `true` or the exporter is `none`.
 */
function tracingOf(value: z.infer<typeof settings>): { url: string; ratio: number; serviceName: string } | null {
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
