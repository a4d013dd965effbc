// Watches whether the embedded Temporal server still starts flows, and starts it again when it does not though its process
// lives. Its data and its ports stay, so API and worker go on by themselves.
import { connect } from '../src/database/pool.ts';
import { createTemporalHealth } from '../src/temporal/health.ts';

/** What one look found. */
export interface Look {
  atMs: number;
  /** Age of the oldest flow message in the outbox; null: there is none. */
  oldestMs: number | null;
  /** Whether a message that was there at the look before is gone: flows start, be it slowly. */
  moved: boolean;
  /** Whether the server answers a call that needs what a flow start needs. */
  answers: boolean;
}

export interface Watch {
  /** Since when it has not answered, look for look, while messages waited. Null: it is well. */
  stalledSinceMs: number | null;
  /** Restarts since flows last started. */
  restarts: number;
  /** Whether it was said that restarts do not help. */
  givenUp: boolean;
}

export const WELL: Watch = { stalledSinceMs: null, restarts: 0, givenUp: false };

/** More restarts than this do not help where these did not. */
const RESTARTS_MAX = 3;

/**
 * What to do after a look. Restarts only where three things are true for the whole of the limit: a message is older than it,
 * none of those that wait has gone, and the server does not answer. An overload alone is none: messages go. Nor is a message
 * that can never be handled, nor a worker that is away: the server answers. Each further restart waits twice as long.
 */
export function judge(watch: Watch, look: Look, limitMs: number): { watch: Watch; act: 'wait' | 'restart' | 'giveUp' } {
  if (look.oldestMs === null || look.moved) return { watch: WELL, act: 'wait' };
  if (look.answers) return { watch: { ...watch, stalledSinceMs: null }, act: 'wait' };
  const stalledSinceMs = watch.stalledSinceMs ?? look.atMs;
  const patienceMs = limitMs * 2 ** watch.restarts;
  if (look.oldestMs < limitMs || look.atMs - stalledSinceMs < patienceMs) {
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
  /** Where a person finds what the server said, and its data. */
  logFile: string;
  dataFolder: string;
  /** Ends the server and starts it again; resolves when it has ended. */
  restart: () => Promise<void>;
}

/** Looks are this many to a limit, and no more than one in this time. */
const LOOKS_IN_LIMIT = 6;
const LOOK_EVERY_MAX_MS = 5_000;

/** Looks again and again until `stop` is called. */
export function watchTemporal(options: WatchOptions): { stop: () => Promise<void> } {
  const { limitMs, say } = options;
  const everyMs = Math.min(LOOK_EVERY_MAX_MS, limitMs / LOOKS_IN_LIMIT);
  const sql = connect(options.databaseUrl, { connectionsMax: 1, closeWhenStalled: true, statementTimeoutMs: 5_000 });
  const temporal = createTemporalHealth(options.address, options.namespace, Math.min(5_000, limitMs));
  let watch = WELL;
  let before = { newest: 0, count: 0 };

  const look = async (): Promise<Look> => {
    // Ids grow, so those up to the newest of before are those that were there then.
    const [row] = await sql<{ oldestMs: number | null; newest: number; count: number; left: number }[]>`
      SELECT extract(epoch FROM now() - min(created_at))::float8 * 1000 AS oldest_ms, coalesce(max(id), 0) AS newest,
        count(*)::int AS count, count(*) FILTER (WHERE id <= ${before.newest})::int AS left
      FROM outbox WHERE topic = 'flow'`;
    const { oldestMs = null, newest = 0, count = 0, left = 0 } = row ?? {};
    const moved = left < before.count;
    before = { newest, count };
    const waits = oldestMs !== null && oldestMs >= limitMs / LOOKS_IN_LIMIT;
    const answers = !waits || (await answersInTime());
    return { atMs: performance.now(), oldestMs, moved, answers };
  };
  const answersInTime = () =>
    temporal.check().then(
      () => true,
      () => false,
    );

  const act = async (): Promise<void> => {
    const found = await look();
    const judged = judge(watch, found, limitMs);
    watch = judged.watch;
    if (judged.act === 'wait') return;
    const seconds = Math.round((found.oldestMs ?? 0) / 1000);
    const stalled = `Temporal runs but starts no flow; the oldest has waited ${seconds} s (log: ${options.logFile}).`;
    if (judged.act === 'restart') {
      say(`${stalled} Starting Temporal again; its data and its ports stay.`);
      await options.restart();
    } else {
      say(
        `${stalled} ${RESTARTS_MAX} restarts did not help. End this with Ctrl-C, remove ${options.dataFolder} and run the ` +
          'same command again: the books are in Postgres, and the flows that have not ended are started anew.',
      );
    }
  };

  let stopped = false;
  let wake = (): void => {};
  const loop = (async () => {
    while (!stopped) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      // A database that is away tells nothing about Temporal.
      if (!stopped) await act().catch(() => {});
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
