// Health (contract, section 4.3): 200 while money can be accepted, 503 when the database is gone. It answers within two
// seconds even when a dependency hangs rather than refuses.
import { readFileSync } from 'node:fs';
import { ApiError } from '../../errors.ts';
import { FLOW_TOPIC } from '../../workflows/flows.ts';
import { type Route, route } from '../route.ts';
import type { Services } from '../services.ts';

const CHECK_TIMEOUT_MS = 1_500;
/** However many ask, the database and Temporal are asked once a second. */
const FRESH_FOR_MS = 1_000;
/** A flow whose start is due and that nobody has taken up for longer is late: no worker runs, or not enough of them. */
const FLOWS_DELAYED_SECONDS = 30;

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** What the checks found. Undefined: that check failed, or had no answer in time. */
interface Found {
  /** For how long the start of a flow has been due without being taken up. 0: none is. */
  dueSeconds: number | undefined;
  temporal: true | undefined;
}

async function look(services: Services): Promise<Found> {
  const [dueSeconds, temporal] = await Promise.all([
    inTime(longestDue(services)),
    inTime(services.temporalIsUp().then((isUp) => isUp || undefined)),
  ]);
  return { dueSeconds, temporal };
}

/**
 * The database's own check as well. A message that a relay has leased, or that waits for another try, is not due: its
 * `available_at` lies ahead. So this is the first row of an index.
 */
async function longestDue({ volatileSql: sql }: Services): Promise<number> {
  const [first] = await sql<{ seconds: number }[]>`
    SELECT extract(epoch FROM now() - available_at)::float8 AS seconds FROM outbox
    WHERE topic = ${FLOW_TOPIC} AND available_at <= now() ORDER BY available_at, id LIMIT 1`;
  return first?.seconds ?? 0;
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
const looks = new WeakMap<Services, () => Promise<Found>>();

function lookOf(services: Services): () => Promise<Found> {
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
    const { dueSeconds, temporal } = await lookOf(services)();
    if (dueSeconds === undefined) throw new ApiError('SERVICE_UNAVAILABLE', { service: 'database' });
    const inTimeForFlows = dueSeconds <= FLOWS_DELAYED_SECONDS;
    return {
      status: 200,
      data: {
        status: temporal && inTimeForFlows ? 'ok' : 'degraded',
        version,
        environment,
        checks: {
          database: 'ok',
          temporal: temporal ? 'ok' : 'unreachable',
          flows: inTimeForFlows ? 'ok' : 'delayed',
          rail: services.rails.of(environment)?.name ?? 'none',
        },
      },
    };
  },
});

export const healthRoutes: Route[] = [health];
