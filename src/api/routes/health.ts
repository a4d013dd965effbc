// Health (contract, section 4.3): 200 while money can be accepted, 503 when the database is gone. It answers within two
// seconds even when a dependency hangs rather than refuses.
import { readFileSync } from 'node:fs';
import { FLOW_TOPIC } from '../../workflows/flows.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiError } from '../errors.ts';
import { type Route, route } from '../route.ts';

const CHECK_TIMEOUT_MS = 1_500;
/** However many ask, the database and Temporal are asked once a second. */
const FRESH_FOR_MS = 1_000;
/** A flow that has waited longer is delayed: no worker runs, or too few, or Temporal starts none. */
const FLOWS_DELAYED_SECONDS = 30;

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** What the checks found. Undefined: that check failed, or had no answer in time. */
interface Found {
  /** How long a flow has been waiting for its start, or for what wakes it. 0: none is. */
  undeliveredSeconds: number | undefined;
  temporal: true | undefined;
}

async function look(services: ApiDependencies): Promise<Found> {
  const [undeliveredSeconds, temporal] = await Promise.all([
    inTime(oldestUndelivered(services)),
    inTime(services.temporalIsUp().then((isUp) => isUp || undefined)),
  ]);
  return { undeliveredSeconds, temporal };
}

/** Enough that with fewer messages all are looked at; and where there are more, the first one is overdue itself. */
const MESSAGES_LOOKED_AT = 1_000;

/**
 * The age of the oldest message that is to start or wake a flow, in seconds; 0 when there is none. By when it was written and
 * not by when it is due: one that Temporal refuses is put back again and again, and is never due for long. The check of the
 * database as well. Bounded, and in the order of the index that the relay reads.
 */
async function oldestUndelivered({ asyncCommitSql: sql }: ApiDependencies): Promise<number> {
  const [oldest] = await sql<{ seconds: number }[]>`
    SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS seconds
    FROM (
      SELECT created_at FROM outbox WHERE topic = ${FLOW_TOPIC} ORDER BY available_at, id LIMIT ${MESSAGES_LOOKED_AT}
    ) undelivered`;
  return oldest?.seconds ?? 0;
}

/** The answer, or undefined when the check fails or takes too long. */
async function inTime<Answer>(check: Promise<Answer>): Promise<Answer | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), CHECK_TIMEOUT_MS);
  });
  try {
    return await Promise.race([check.catch(() => undefined), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** One look at a time, shared by all who ask meanwhile and for a second after it. `take` must not fail. */
function shared<Answer>(take: () => Promise<Answer>): () => Promise<Answer> {
  let current: Promise<Answer> | undefined;
  let freshUntil = 0;
  return () => {
    if (current === undefined || performance.now() >= freshUntil) {
      freshUntil = Number.POSITIVE_INFINITY;
      current = take();
      void current.then(() => {
        freshUntil = performance.now() + FRESH_FOR_MS;
      });
    }
    return current;
  };
}

/** By process: both environments have the same database and the same Temporal. */
const looks = new WeakMap<ApiDependencies, () => Promise<Found>>();

function lookOf(services: ApiDependencies): () => Promise<Found> {
  let found = looks.get(services);
  if (found === undefined) {
    found = shared(() => look(services));
    looks.set(services, found);
  }
  return found;
}

const health = route({
  method: 'get',
  path: '/health',
  access: 'none',
  handle: async ({ services, environment }) => {
    const { undeliveredSeconds, temporal } = await lookOf(services)();
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
          rail: services.rails.of(environment)?.name ?? 'none',
        },
      },
    };
  },
});

export const healthRoutes: Route[] = [health];
