// Every setting of the service, read once from the environment and validated. Numbers that customers depend on are
// declared here or in src/ledger/limits.ts and src/ledger/fees.ts, never inline.
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { IDLE_GRACE_MS } from './httpListener.ts';
import { parseKeyring } from './keyring.ts';
import type { TracingSettings } from './telemetry/span.ts';
import { readPayloadKeys } from './temporal/dataConverter.ts';
import { DEFAULT_ADDRESS, DEFAULT_NAMESPACE, readProfile } from './temporal/profile.ts';

const HOUR = 3600;
const HALF_HOUR = HOUR / 2;
const DAY = 24 * HOUR;

/** Pauses between webhook attempts in seconds: the ten attempts in 75 h 35 m of Standard Webhooks. */
const WEBHOOK_RETRY_GAPS = [5, 300, 1800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR].join(',');

const text = z.string().default('');
const required = z.string().min(1);
const port = z.coerce.number().int().min(0).max(65_535);
const optionalUrl = z.union([z.literal(''), z.url({ protocol: /^https?$/ })]).default('');
/** Scheme, host and port alone; null: not set. */
const optionalOrigin = optionalUrl
  .refine((url) => url === '' || (URL.canParse(url) && new URL(url).href === `${new URL(url).origin}/`), {
    message: 'must be an address without a path',
  })
  .transform((url) => (url === '' ? null : new URL(url).origin));
const positive = z.coerce.number().int().positive();
const notNegative = z.coerce.number().int().min(0);
/** Null where it is not set, or empty. */
const orNull = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([z.literal('').transform(() => null), schema]).default(null);
/** One of these words; the first where it is not set. */
const oneOf = <const Word extends string>(...words: [Word, ...Word[]]) => z.enum(words).default(words[0]);
/** Whose the interest is that banks pay: `customers` are owed it, and adjustments distribute it. */
export const bankInterest = oneOf('own', 'customers');
/** What a connection to a database on another machine must have. */
export const databaseTls = oneOf('verified', 'unverified', 'off');
/** A setting in seconds, as milliseconds. */
const seconds = (usual: number) => positive.default(usual).transform((value) => value * 1000);
/** A time in milliseconds for every rail, and for those that have their own. */
export interface TimeByRail {
  usualMs: number;
  ownMs: Readonly<Record<string, number>>;
}
export const msOfRail = ({ usualMs, ownMs }: TimeByRail, rail: string): number => ownMs[rail] ?? usualMs;
/** In seconds, such as `60` or `60,monnify=300`. */
const secondsByRail = (usual: number) =>
  z
    .string()
    .regex(/^[1-9]\d{0,8}(,[a-z_]+=[1-9]\d{0,8})*$/, 'must be seconds, such as 60 or 60,monnify=300')
    .default(String(usual))
    .transform((list): TimeByRail => {
      const [first, ...own] = list.split(',').map((one) => one.split('='));
      const entries = own.map(([rail, value]) => [rail, Number(value) * 1000] as const);
      return { usualMs: Number(first?.[0]) * 1000, ownMs: Object.fromEntries(entries) };
    });

/** Polls the queues of flows, of payout items, of maintenance, or runs the relay and the sandbox bank's loops. */
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
const addressRanges = text
  .transform((list) =>
    list
      .split(',')
      .map((range) => range.trim())
      .filter((range) => range !== ''),
  )
  .refine((ranges) => ranges.every((range) => ipaddr.isValid(range) || ipaddr.isValidCIDR(range)), {
    message: 'must be addresses or CIDR ranges, separated by commas',
  });

export type Config = ReturnType<typeof readConfig>;

/**
 * Reads and validates the settings. Throws one error that lists every invalid variable, so that a process with an
 * invalid configuration exits before it accepts a request. `docs/configuration.md` describes each setting. Numbers
 * that no deployment has a reason to change are constants.
 */
export function readConfig(environment: Record<string, string | undefined>) {
  const problems: string[] = [];
  /** Returns a validated variable; adds what is wrong with it to `problems`. */
  const read = <Schema extends z.ZodType>(name: string, schema: Schema): z.output<Schema> => {
    const parsed = schema.safeParse(environment[name]);
    if (parsed.success) return parsed.data;
    problems.push(...parsed.error.issues.map(({ path, message }) => `  ${[name, ...path].join('.')}: ${message}`));
    return undefined as z.output<Schema>;
  };
  const profile = readProfile(environment);
  const ports = { test: read('SANDBOX_PORT', port.default(8080)), live: read('LIVE_PORT', port.default(8081)) };
  const host = text.transform((name) => name.toLowerCase());
  const hosts = { test: read('SANDBOX_HOST', host), live: read('LIVE_HOST', host) };
  const sampledRatio = read('OTEL_TRACES_SAMPLER_ARG', z.coerce.number().min(0).max(1).default(1));
  const sampler = read('OTEL_TRACES_SAMPLER', oneOf('', 'parentbased_always_on', 'parentbased_traceidratio'));
  const tracing: TracingSettings = {
    url: read(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      optionalUrl.transform((url) => url && `${url.replace(/\/$/, '')}/v1/traces`),
    ),
    ratio: sampler === 'parentbased_traceidratio' ? sampledRatio : 1,
    serviceName: read('OTEL_SERVICE_NAME', text),
  };
  read('OTEL_EXPORTER_OTLP_PROTOCOL', oneOf('', 'http/json')); // the only one that there is
  const isTraced = tracing.url !== '' && read('OTEL_SDK_DISABLED', text) !== 'true';
  read('DATABASE_TLS', databaseTls); // used where connections are made, also those of the command line
  const config = {
    databaseUrl: read(
      'DATABASE_URL',
      required.refine(
        (url) => !/[?&]target_session_attrs=(?!primary|read-write)/.test(url),
        'the service needs the primary',
      ),
    ),
    databaseConnectionsMax: read('DATABASE_CONNECTIONS_MAX', positive.default(10)),
    journalStatementsMax: read('JOURNAL_STATEMENTS_MAX', positive.max(2).default(2)),
    temporal: {
      address: profile.address ?? DEFAULT_ADDRESS,
      namespace: profile.namespace ?? DEFAULT_NAMESPACE,
      /** Reads them again, so that replaced files take effect. */
      credentials: () => readProfile(environment).credentials,
      taskQueue: read(
        'TEMPORAL_TASK_QUEUE',
        z
          .string()
          .refine((name) => !name.endsWith('-payouts'), 'a name with this ending is that of the queue of payouts')
          .default('manilla'),
      ),
      /** Encrypt payloads; null: they are not encrypted. */
      payloadKeys: readPayloadKeys(environment),
      uiUrl: read('TEMPORAL_UI_URL', optionalUrl),
      /** Empty: no worker versioning. This worker accepts workflows started by any version. */
      buildId: read('WORKER_BUILD_ID', text.pipe(z.string().regex(/^[\w.-]{0,100}$/))),
    },
    worker: {
      roles: read('WORKER_ROLES', roles.default([...WORKER_ROLES])),
      flows: {
        tasksMax: read('WORKER_FLOWS_TASKS_MAX', slots.default(flows.tasksMax)),
        activitiesMax: read('WORKER_FLOWS_ACTIVITIES_MAX', positive.default(flows.activitiesMax)),
        cachedMax: read('WORKER_FLOWS_CACHED_MAX', positive.default(flows.cachedMax)),
      },
      payouts: {
        tasksMax: read('WORKER_PAYOUTS_TASKS_MAX', slots.default(payouts.tasksMax)),
        activitiesMax: read('WORKER_PAYOUTS_ACTIVITIES_MAX', positive.default(payouts.activitiesMax)),
        cachedMax: read('WORKER_PAYOUTS_CACHED_MAX', positive.default(payouts.cachedMax)),
      },
      /** Activities that call a rail, of all processes together; null: no limit. */
      railActivitiesPerSecond: read('RAIL_ACTIVITIES_PER_SECOND', orNull(positive)),
    },
    keyring: read(
      'MANILLA_KEYS',
      required.transform((keys) => parseKeyring(keys)),
    ),
    codec: { port: read('CODEC_PORT', port.default(8234)) },
    bindAddress: read('BIND_ADDRESS', z.string().default('127.0.0.1')),
    /** How long an idle connection stays open after the API has begun to stop. */
    idleGraceMs: IDLE_GRACE_MS,
    ports,
    hosts,
    walletsPerBvnMax: read('WALLETS_PER_BVN_MAX', orNull(positive)),
    rateLimitPerMinute: read('RATE_LIMIT_PER_MINUTE', positive.default(600)),
    requestsInProgressMax: read('REQUESTS_IN_PROGRESS_MAX', positive.default(128)),
    /** Addresses and ranges of the proxies in front of the API, whose X-Forwarded-For is believed. */
    trustedProxies: read('TRUSTED_PROXIES', addressRanges),
    checkout: {
      /** Where payers reach the payment pages, without a slash at the end. */
      origins: {
        test: read('SANDBOX_CHECKOUT_URL', optionalOrigin) ?? originOf(hosts.test, ports.test),
        live: read('LIVE_CHECKOUT_URL', optionalOrigin) ?? originOf(hosts.live, ports.live),
      },
      /** Open pages of this process, about 20 kB each, that get their changes over a connection; further ones poll. */
      pagesMax: 10_000,
    },
    webhooks: {
      allowPrivateInSandbox: read('WEBHOOK_ALLOW_PRIVATE_ADDRESSES', oneOf('', 'sandbox')) === 'sandbox',
      retryGapsMs: read(
        'WEBHOOK_RETRY_GAPS_SECONDS',
        z
          .string()
          .regex(/^\d+(\.\d+)?(,\d+(\.\d+)?)*$/)
          .default(WEBHOOK_RETRY_GAPS)
          .transform((gaps) => gaps.split(',').map((gap) => Math.round(Number(gap) * 1000))),
      ),
      /** Attempts at one endpoint in progress at once, of all processes, besides the first ones of new events. */
      retriesAtOnce: read('WEBHOOK_RETRIES_AT_ONCE', positive.default(8)),
    },
    /** A rail that can pay out less is counted as low. */
    railBalanceLow: read('RAIL_BALANCE_LOW_KOBO', notNegative.default(10_000_000)),
    /** Whether a contract accepts nothing until a check with this version of its adapter has passed. */
    railCheckRequired: read('RAIL_CHECK', oneOf('optional', 'required')) === 'required',
    sandboxRail: {
      callbackUrl: read(
        'SANDBOX_RAIL_CALLBACK_URL',
        z.string().default('http://127.0.0.1:8080/v1/rails/sandbox/callbacks'),
      ),
      delayMs: read('SANDBOX_RAIL_DELAY_MS', notNegative.default(200)),
      callLimitMs: 5_000,
      /** At least the limit of a call: a transfer may arrive that late. */
      notVisibleForMs: 5_000,
    },
    attention: {
      railUnreachableMs: read('ATTENTION_RAIL_UNREACHABLE_SECONDS', seconds(HALF_HOUR)),
      /** An hour without money on its way is what an operator should know of; most rails recover within it. */
      railNotReadyMs: HOUR * 1000,
      /** Longer than most transfers take; a parked flow ends by itself once the rail knows the outcome. */
      outcomeUnknown: read('ATTENTION_OUTCOME_UNKNOWN_SECONDS', secondsByRail(HALF_HOUR)),
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
    },
    /** Only checked: `migrate` stores it, because only the owner of the database may change it. */
    review: { creditByTwoFrom: read('REVIEW_CREDIT_BY_TWO_FROM_KOBO', positive.default(10_000_000)) },
    debts: { recovery: read('DEBT_RECOVERY', oneOf('automatic', 'operators')) },
    interest: read('BANK_INTEREST', bankInterest),
    metrics: {
      ports: { api: read('METRICS_PORT', orNull(port)), worker: read('WORKER_METRICS_PORT', orNull(port)) },
      bindAddress: read('METRICS_BIND_ADDRESS', z.string().default('127.0.0.1')),
    },
    maintenance: {
      /** False: this process leaves the Schedules in Temporal unchanged. */
      schedules: read('SCHEDULES', oneOf('on', 'off')) === 'on',
      schedulesEveryMs: 60_000,
      sweepEveryMs: 30_000,
      /** The relay starts a flow within seconds of the commit: what is older is missing. */
      sweepAgeMinMs: 20_000,
      failingFlowsEveryMs: 60_000,
      retentionEveryMs: HOUR * 1000,
      ledgerVerificationEveryMs: read('LEDGER_VERIFICATION_EVERY_SECONDS', seconds(DAY)),
      reconciliationEveryMs: read('RECONCILIATION_EVERY_SECONDS', seconds(DAY)),
      /** Rewritten history of the last minutes is not noticed. */
      sealEveryMs: 5 * 60_000,
      /** A payer whose callback was lost waits this long. */
      creditPolling: read('CREDIT_POLLING_EVERY_SECONDS', secondsByRail(60)),
      idempotencyKeysKeptDays: read('IDEMPOTENCY_KEYS_KEPT_DAYS', positive.min(7).default(7)),
      /** With their deliveries. At least a year: see `ledger.sequence_before`. */
      eventsKeptDays: read('EVENTS_KEPT_DAYS', positive.min(366).default(396)),
      webhookAttemptsKeptDays: read('WEBHOOK_ATTEMPTS_KEPT_DAYS', positive.min(30).default(90)),
      /** Of transfers that have ended. */
      sendsKeptDays: 90,
      sandboxBankKeptDays: read('SANDBOX_BANK_KEPT_DAYS', positive.default(90)),
      /** 0: no request log. */
      requestLogsKeptDays: read('REQUEST_LOGS_KEPT_DAYS', notNegative.default(30)),
    },
    seals: {
      /** Longer than any statement of the service runs, so that all older postings are committed. */
      lagMs: 60_000,
      file: read('SEAL_FILE', text),
      webhookUrl: read('SEAL_WEBHOOK_URL', optionalUrl),
    },
    tracing: isTraced ? tracing : null,
    logLevel: read('LOG_LEVEL', oneOf('info', 'trace', 'debug', 'warn', 'error', 'fatal', 'silent')),
  };
  if (problems.length === 0) return config;
  throw new Error(`Invalid configuration. Correct these environment variables:\n${problems.join('\n')}`);
}

/** Where payers reach an environment: its host behind the proxy, else its port on this machine. */
const originOf = (host: string, port: number): string => (host === '' ? `http://127.0.0.1:${port}` : `https://${host}`);
