// Health (contract, section 4.3): 200 while money requests can be accepted, 503 when the database is unavailable.
// Responds within two seconds even if a dependency hangs.

import { readFileSync } from 'node:fs';
import { withTimeout } from '../../concurrency/withTimeout.ts';
import { FLOW_TOPIC } from '../../workflows/flows.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiError } from '../errors.ts';
import { type Route, route } from '../route.ts';

const CHECK_TIMEOUT_MS = 1_500;
/** Cache time of the checks: whatever the request rate, the database and Temporal are checked at most once a second. */
const FRESH_FOR_MS = 1_000;
/**
 * Flows are `delayed` when a message waits longer: no worker is running, there are too few, or Temporal starts no
 * flows.
 */
const FLOWS_DELAYED_SECONDS = 30;

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** The results of the checks. Undefined: the check failed or timed out. */
interface CheckResults {
  /** How long the oldest message has been waiting to start or wake a flow; 0 when there is none. */
  undeliveredSeconds: number | undefined;
  temporal: true | undefined;
}

async function runChecks(dependencies: ApiDependencies): Promise<CheckResults> {
  const [undeliveredSeconds, temporal] = await Promise.all([
    resultOf(oldestUndelivered(dependencies)),
    resultOf(dependencies.temporalIsUp().then((isUp) => isUp || undefined)),
  ]);
  return { undeliveredSeconds, temporal };
}

/**
 * Up to this many messages the result is exact. With more, the first in this order is overdue itself, so the delay is
 * still detected.
 */
const MESSAGES_CHECKED_MAX = 1_000;

/**
 * The age in seconds of the oldest message that starts or wakes a flow; 0 when there is none. Measured from
 * `created_at`, not `available_at`: a message that Temporal rejects is rescheduled after each attempt, so it is never
 * due for long. Also serves as the database check. Bounded by a LIMIT, in the order of the index that the relay reads.
 */
async function oldestUndelivered({ asyncCommitSql: sql }: ApiDependencies): Promise<number> {
  const [oldest] = await sql<{ seconds: number }[]>`
    SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS seconds
    FROM (
      SELECT created_at FROM outbox WHERE topic = ${FLOW_TOPIC} ORDER BY available_at, id LIMIT ${MESSAGES_CHECKED_MAX}
    ) undelivered`;
  return oldest?.seconds ?? 0;
}

/** The result of a check; undefined when it fails or times out. */
const resultOf = <Result>(check: Promise<Result>): Promise<Result | undefined> =>
  withTimeout(check, CHECK_TIMEOUT_MS).catch(() => undefined);

/**
 * Shares one call of `load` among all concurrent callers, and its result for a second afterwards. `load` must not fail.
 */
function cached<Result>(load: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | undefined;
  let freshUntil = 0;
  return () => {
    if (current === undefined || performance.now() >= freshUntil) {
      freshUntil = Number.POSITIVE_INFINITY;
      current = load();
      void current.then(() => {
        freshUntil = performance.now() + FRESH_FOR_MS;
      });
    }
    return current;
  };
}

/** One cache per process: both environments use the same database and Temporal server. */
const checkCaches = new WeakMap<ApiDependencies, () => Promise<CheckResults>>();

function checksOf(dependencies: ApiDependencies): () => Promise<CheckResults> {
  let checks = checkCaches.get(dependencies);
  if (checks === undefined) {
    checks = cached(() => runChecks(dependencies));
    checkCaches.set(dependencies, checks);
  }
  return checks;
}

const health = route({
  method: 'get',
  path: '/health',
  access: 'none',
  handle: async ({ dependencies, environment }) => {
    const { undeliveredSeconds, temporal } = await checksOf(dependencies)();
    if (undeliveredSeconds === undefined) throw new ApiError('SERVICE_UNAVAILABLE', { service: 'database' });
    const flowsStartInTime = undeliveredSeconds <= FLOWS_DELAYED_SECONDS;
    return {
      status: 200,
      data: {
        status: temporal && flowsStartInTime ? 'ok' : 'degraded',
        version,
        environment,
        checks: {
          database: 'ok',
          temporal: temporal ? 'ok' : 'unreachable',
          flows: flowsStartInTime ? 'ok' : 'delayed',
          rail: dependencies.rails.of(environment)?.name ?? 'none',
        },
      },
    };
  },
});

export const healthRoutes: Route[] = [health];
