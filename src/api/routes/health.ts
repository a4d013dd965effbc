// Health (contract, section 4.3): 200 while money requests can be accepted, 503 when the database is unavailable.
// Responds within two seconds even if a dependency hangs.
import type { z } from 'zod';
import { cached } from '../../concurrency/shared.ts';
import { withTimeout } from '../../concurrency/withTimeout.ts';
import { VERSION } from '../../release.ts';
import { FLOW_TOPIC } from '../../workflows/flows.ts';
import { health as healthSchema } from '../contract/answers.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiError } from '../errors.ts';
import { route } from '../route.ts';

const CHECK_TIMEOUT_MS = 1_500;
/**
 * Flows are `delayed` when a message waits longer: no worker is running, there are too few, or Temporal starts no
 * flows.
 */
const FLOWS_DELAYED_SECONDS = 30;

/** The results of the checks; undefined for one that failed or timed out. */
const runChecks = (dependencies: ApiDependencies) =>
  Promise.all([
    resultOf(oldestUndelivered(dependencies)),
    resultOf(dependencies.temporalStatus()),
    resultOf(dependencies.rails.names('live')),
  ]);

/**
 * Up to this many messages the result is exact. With more it covers the urgent ones first; where no worker takes
 * messages, these are overdue themselves, so the delay is still detected.
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
      SELECT created_at FROM outbox WHERE topic = ${FLOW_TOPIC} ORDER BY priority, environment, organisation_id, available_at, id
      LIMIT ${MESSAGES_CHECKED_MAX}
    ) undelivered`;
  return oldest?.seconds ?? 0;
}

/** The result of a check; undefined when it fails or times out. */
const resultOf = <Result>(check: Promise<Result>): Promise<Result | undefined> =>
  withTimeout(check, CHECK_TIMEOUT_MS).catch(() => undefined);

/** One cache per process, whatever the request rate: both environments use the same database and Temporal server. */
const checkCaches = new WeakMap<ApiDependencies, () => ReturnType<typeof runChecks>>();

function checksOf(dependencies: ApiDependencies) {
  const checks = checkCaches.get(dependencies) ?? cached(() => runChecks(dependencies));
  checkCaches.set(dependencies, checks);
  return checks();
}

export const getHealth = route({
  operationId: 'getHealth',
  success: { status: 200, data: healthSchema },
  endpoint: 'GET /health',
  access: 'none',
  handle: async ({ dependencies, environment }) => {
    const [undeliveredSeconds, temporal = 'unreachable', liveRails = []] = await checksOf(dependencies);
    if (undeliveredSeconds === undefined) throw new ApiError('SERVICE_UNAVAILABLE', { service: 'database' });
    const flowsStartInTime = undeliveredSeconds <= FLOWS_DELAYED_SECONDS;
    const data: z.output<typeof healthSchema> = {
      status: temporal === 'ok' && flowsStartInTime ? 'ok' : 'degraded',
      version: VERSION,
      environment,
      checks: {
        database: 'ok',
        temporal,
        flows: flowsStartInTime ? 'ok' : 'delayed',
        rail: dependencies.rails.shared(environment)?.name ?? (liveRails.join(',') || 'none'),
      },
    };
    return data;
  },
});
