// A watchdog for the embedded Temporal server: restarts it when its process runs but flow starts stall. The data and
// ports stay the same, so API and worker reconnect.
import { connect } from '../src/database/pool.ts';
import { createLog } from '../src/telemetry/log.ts';
import { createTemporalHealth } from '../src/temporal/health.ts';
import { unsecured } from './temporal.ts';

/** The result of one check. */
export interface Look {
  atMs: number;
  /** Age of the oldest flow message in the outbox; null when there is none. */
  oldestMs: number | null;
  /** Whether a message of the previous check is gone: flows start, perhaps slowly. */
  moved: boolean;
  /** Whether the server responds to a call that has the same requirements as a flow start. */
  answers: boolean;
}

export interface Watch {
  /** Since when consecutive checks found no response while messages waited. Null when the server is healthy. */
  stalledSinceMs: number | null;
  /** Restarts since flows last started. */
  restarts: number;
  /** Whether the message that restarts do not help was printed. */
  givenUp: boolean;
}

export const WELL: Watch = { stalledSinceMs: null, restarts: 0, givenUp: false };

/** After this many restarts without effect, no further one is attempted. */
const RESTARTS_MAX = 3;

/**
 * Decides what to do after a check. Restarts when all of these hold for the whole limit: a message is older than the
 * limit, no waiting message has been handled, and the server does not respond. An overload does not count, because
 * messages are handled; neither does a message that can never be handled or a stopped worker, because the server
 * responds. The limit doubles with each further restart.
 */
export function judge(watch: Watch, look: Look, limitMs: number): { watch: Watch; act: 'wait' | 'restart' | 'giveUp' } {
  if (look.oldestMs === null || look.moved) return { watch: WELL, act: 'wait' };
  if (look.answers) return { watch: { ...watch, stalledSinceMs: null }, act: 'wait' };
  const stalledSinceMs = watch.stalledSinceMs ?? look.atMs;
  const currentLimitMs = limitMs * 2 ** watch.restarts;
  if (look.oldestMs < limitMs || look.atMs - stalledSinceMs < currentLimitMs) {
    return { watch: { ...watch, stalledSinceMs }, act: 'wait' };
  }
  if (watch.restarts < RESTARTS_MAX) {
    return { watch: { ...watch, stalledSinceMs: null, restarts: watch.restarts + 1 }, act: 'restart' };
  }
  return { watch: { ...watch, stalledSinceMs, givenUp: true }, act: watch.givenUp ? 'wait' : 'giveUp' };
}

interface WatchOptions {
  databaseUrl: string;
  address: string;
  namespace: string;
  limitMs: number;
  say: (line: string) => void;
  /** The server's log and data, for messages. */
  logFile: string;
  dataFolder: string;
  /** Restarts the server; resolves when the old process has exited. */
  restart: () => Promise<void>;
}

/** Checks per limit, and the longest interval between two checks. */
const CHECKS_PER_LIMIT = 6;
const CHECK_INTERVAL_MAX_MS = 5_000;

/** Checks periodically until `stop` is called. */
export function watchTemporal(options: WatchOptions): { stop: () => Promise<void> } {
  const { limitMs, say } = options;
  const intervalMs = Math.min(CHECK_INTERVAL_MAX_MS, limitMs / CHECKS_PER_LIMIT);
  const sql = connect(options.databaseUrl, { connectionsMax: 1, closeWhenStalled: true, statementTimeoutMs: 5_000 });
  const temporal = createTemporalHealth(unsecured(options.address, options.namespace), {
    log: createLog('start', 'silent'),
    timeoutMs: Math.min(5_000, limitMs),
    searchAttributes: [],
  });
  let watch = WELL;
  let previous = { newest: 0, count: 0 };

  const check = async (): Promise<Look> => {
    // Ids increase, so the messages up to the newest id of the previous check are those it counted.
    const [row] = await sql<{ oldestMs: number | null; newest: number; count: number; left: number }[]>`
      SELECT extract(epoch FROM now() - min(created_at))::float8 * 1000 AS oldest_ms, coalesce(max(id), 0) AS newest,
        count(*)::int AS count, count(*) FILTER (WHERE id <= ${previous.newest})::int AS left
      FROM outbox WHERE topic = 'flow'`;
    const { oldestMs = null, newest = 0, count = 0, left = 0 } = row ?? {};
    const moved = left < previous.count;
    previous = { newest, count };
    const isWaiting = oldestMs !== null && oldestMs >= limitMs / CHECKS_PER_LIMIT;
    const answers = !isWaiting || (await respondsInTime());
    return { atMs: performance.now(), oldestMs, moved, answers };
  };
  const respondsInTime = () => temporal.check().then((status) => status === 'ok');

  const checkAndAct = async (): Promise<void> => {
    const result = await check();
    const decision = judge(watch, result, limitMs);
    watch = decision.watch;
    if (decision.act === 'wait') return;
    const seconds = Math.round((result.oldestMs ?? 0) / 1000);
    const stalled = `Temporal is running but starts no flows; the oldest has waited ${seconds} s (log: ${options.logFile}).`;
    if (decision.act === 'restart') {
      say(`${stalled} Restarting Temporal; its data and ports stay the same.`);
      await options.restart();
    } else {
      say(
        `${stalled} ${RESTARTS_MAX} restarts did not help. Stop with Ctrl-C, delete ${options.dataFolder} and run the same ` +
          'command again: the ledger is in Postgres, and unfinished flows are restarted from it.',
      );
    }
  };

  let stopped = false;
  let wake = (): void => {};
  const loop = (async () => {
    while (!stopped) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, intervalMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      // An unreachable database says nothing about Temporal: check again later.
      if (!stopped) await checkAndAct().catch(() => {});
    }
  })();
  return {
    stop: async () => {
      stopped = true;
      wake();
      await loop;
      await Promise.all([temporal.close(), sql.end({ timeout: 0 })]);
    },
  };
}
