// Bounds the calls a second of a contract, of all processes together. Each call takes the next slot from a row in the
// database, waits until its slot and then starts. A call that would wait too long is refused. Calls that are not
// limited take none.
import { setTimeout as delay } from 'node:timers/promises';
import type { Sql } from '../database/pool.ts';
import type { Book } from '../money.ts';
import { type Caller, CallQueue } from './callQueue.ts';
import { RailBusyError } from './errors.ts';

/** The longest time that a call waits for its slot. */
const WAIT_MAX_MS = 2_000;

/** Slots issued, as a share of the limit: a busy process starts calls a little later than their slots. */
const ISSUED_SHARE = 0.9;

/**
 * A process takes slots so far ahead. Short, because whose call starts is decided at the slot: until then another
 * organisation may come, and another process takes the slots after these.
 */
const AHEAD_MS = 100;

/** A process reads again after this whether operators have limited a rail that declares no limit. */
const READ_AGAIN_AFTER_MS = 2_000;
/** Calls wait for that if the last response is older. */
const BELIEVED_MS = 5_000;

/** Whose calls have a limit together: a contract's, or, with `ALL_ORGANISATIONS`, those to a rail that serves all. */
export interface LimitScope extends Book {
  rail: string;
}

/** Resolves when the call may start. */
export type TakeSlot = (signal: AbortSignal, caller: Caller) => Promise<void>;

interface WaitingCall extends Caller {
  /** It waits no longer than this, by `performance.now()`. */
  until: number;
  start: () => void;
  refuse: (reason: unknown) => void;
}

/** Slots that were taken: so many, the first after `waitMs`, and `gapMs` between two. */
interface Taken {
  count: number;
  waitMs: number;
  gapMs: number;
}

/**
 * `declared`: the limit that the rail declares, unless operators have set another one; null: none. `sql` commits
 * asynchronously: a crash of the database may lose the last slots.
 */
export function callSlots(sql: Sql, scope: LimitScope, declared: number | null): TakeSlot {
  const isLimited = declared === null ? cachedIsLimited(sql, scope) : () => Promise.resolve(true);
  const queue = new CallQueue<WaitingCall>();
  /** The first slot that is not given to a call yet, as far as this process knows. */
  let free = { at: 0, gapMs: 0 };
  /** When the next call of this process may start. */
  let nextAt = Number.NEGATIVE_INFINITY;
  let isServing = false;

  /** Refuses the calls that would wait too long. */
  function refuseLate(): void {
    const now = performance.now();
    const { at, gapMs } = free;
    const refusal = (): RailBusyError => new RailBusyError(Math.max(0, at - now) + queue.size * gapMs);
    for (const call of queue.all().filter((one) => one.until < at)) {
      call.refuse(refusal());
      queue.remove(call);
    }
    while (queue.size > 0 && at + (queue.size - 1) * gapMs > now + WAIT_MAX_MS) {
      const error = refusal();
      queue.dropOne()?.refuse(error);
    }
  }

  async function serve(): Promise<void> {
    while (queue.size > 0) {
      const taken = await takeSlots(sql, scope, declared, queue.size);
      if (taken === null) {
        for (let call = queue.next(); call !== undefined; call = queue.next()) call.start();
        return;
      }
      const { count, waitMs, gapMs } = taken;
      free = { at: performance.now() + waitMs, gapMs };
      refuseLate();
      for (let slot = 0; slot < count; slot += 1) {
        // After a stall of this process several slots are past: their calls start one by one all the same.
        await until(Math.max(free.at, nextAt));
        nextAt = performance.now() + gapMs;
        free.at += gapMs;
        queue.next()?.start();
      }
      if (count === 0 && queue.size > 0) await until(free.at - AHEAD_MS);
    }
  }

  function startServing(): void {
    if (isServing) return;
    isServing = true;
    free = { at: 0, gapMs: 0 };
    serve()
      .catch((error: unknown) => {
        for (let call = queue.next(); call !== undefined; call = queue.next()) call.refuse(error);
      })
      .finally(() => {
        isServing = false;
        if (queue.size > 0) startServing();
      });
  }

  return async (signal, caller) => {
    if (!(await isLimited())) return;
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const settled = (): void => signal.removeEventListener('abort', onAbort);
      const call: WaitingCall = {
        ...caller,
        until: performance.now() + WAIT_MAX_MS,
        start: () => {
          settled();
          resolve();
        },
        refuse: (reason) => {
          settled();
          reject(reason);
        },
      };
      const onAbort = (): void => {
        queue.remove(call);
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      queue.add(call);
      if (isServing) refuseLate();
      startServing();
    });
  };
}

/** At most a millisecond early, which is the shortest time that a timer waits. */
async function until(at: number): Promise<void> {
  for (let now = performance.now(); at - now >= 1; now = performance.now()) await delay(at - now);
}

/**
 * Whether operators have limited it. Read once in seconds and beside the calls, so that a rail that is not limited
 * costs nothing; only a process that has not called it for a while waits for the response.
 */
function cachedIsLimited(sql: Sql, { organisationId, environment, rail }: LimitScope): () => Promise<boolean> {
  let known = { at: Number.NEGATIVE_INFINITY, isLimited: false };
  let reading: Promise<boolean> | null = null;
  const read = async (): Promise<boolean> => {
    try {
      const at = performance.now();
      const rows = await sql`
        SELECT FROM rail_call_limits
        WHERE organisation_id = ${organisationId} AND environment = ${environment} AND rail = ${rail}
          AND calls_per_second IS NOT NULL`;
      known = { at, isLimited: rows.length > 0 };
      return known.isLimited;
    } finally {
      reading = null;
    }
  };
  return async () => {
    const age = performance.now() - known.at;
    if (age <= READ_AGAIN_AFTER_MS) return known.isLimited;
    reading ??= read();
    if (age > BELIEVED_MS) return await reading;
    reading.catch(() => {}); // the next call reads again
    return known.isLimited;
  };
}

/** Takes as many of the next slots as begin within `AHEAD_MS`. Null: it is not limited. */
async function takeSlots(sql: Sql, scope: LimitScope, declared: number | null, wanted: number): Promise<Taken | null> {
  const { organisationId, environment, rail } = scope;
  const [row] = await sql<Taken[]>`
    WITH held AS (
      SELECT greatest(next_at, clock_timestamp()) AS first_at, clock_timestamp() AS now_at,
             ${ISSUED_SHARE}::float8 * coalesce(calls_per_second, ${declared}::int) AS rate
      FROM rail_call_limits
      WHERE organisation_id = ${organisationId} AND environment = ${environment} AND rail = ${rail}
      FOR UPDATE
    ), taken AS (
      SELECT *, extract(epoch FROM first_at - now_at)::float8 AS wait_seconds,
             least(${wanted}::int, greatest(0, 1 + floor(
               (${AHEAD_MS / 1000}::float8 - extract(epoch FROM first_at - now_at)::float8) * rate))::int) AS count
      FROM held WHERE rate IS NOT NULL
    ), issued AS (
      SELECT first_at + make_interval(secs => count / rate) AS free_at FROM taken WHERE count > 0
    ), updated AS (
      UPDATE rail_call_limits l SET next_at = i.free_at
      FROM issued i
      WHERE l.organisation_id = ${organisationId} AND l.environment = ${environment} AND l.rail = ${rail}
    )
    SELECT count, wait_seconds * 1000 AS wait_ms, 1000 / rate AS gap_ms FROM taken`;
  if (row !== undefined) return row;
  if (declared === null) return null;
  await sql`
    INSERT INTO rail_call_limits (organisation_id, environment, rail)
    VALUES (${organisationId}, ${environment}, ${rail}) ON CONFLICT DO NOTHING`;
  return { count: 0, waitMs: 0, gapMs: 0 };
}
