// Bounds the calls a second to the rail of an environment, of all processes together. Each call takes the next slot
// from a row in the database, waits until its slot and then starts. A call that would wait too long is refused.
import { setTimeout as delay } from 'node:timers/promises';
import { GroupCommit } from '../concurrency/groupCommit.ts';
import type { Sql } from '../database/pool.ts';
import { ALL_ORGANISATIONS } from '../ids.ts';
import type { Environment } from '../money.ts';
import { RailBusyError } from './errors.ts';

/** The longest time that a call waits for its slot. */
const WAIT_MAX_MS = 2_000;

/** Slots issued, as a share of the limit: a busy process starts calls a little later than their slots. */
const ISSUED_SHARE = 0.9;

/** Slots that one statement takes. */
const BATCH_MAX = 100;

/** Resolves when the call may start. */
export type TakeSlot = (signal: AbortSignal) => Promise<void>;

interface Slot {
  waitMs: number;
  /** The time between two slots. */
  gapMs: number;
}

/**
 * `declared`: the limit that the rail declares, unless operators have set another one. `sql` commits asynchronously: a
 * crash of the database may lose the last slots.
 */
export function callSlots(sql: Sql, environment: Environment, declared: number): TakeSlot {
  const slots = new GroupCommit<void, Slot>({
    partitionOf: () => environment,
    entriesMax: BATCH_MAX,
    commit: async (_environment, entries) => {
      const taken = await takeSlots(sql, environment, declared, entries.length);
      return entries.map((_entry, index) =>
        index < taken.count
          ? { status: 'fulfilled', value: { waitMs: taken.waitMs + index * taken.gapMs, gapMs: taken.gapMs } }
          : { status: 'rejected', reason: new RailBusyError(taken.waitMs + taken.count * taken.gapMs) },
      );
    },
  });
  /** When the next call of this process may start. */
  let nextAt = Number.NEGATIVE_INFINITY;

  return async (signal) => {
    const { waitMs, gapMs } = await slots.add();
    if (waitMs > 0) await delay(waitMs, undefined, { signal });
    // After a stall of this process several slots are past: their calls start one by one all the same.
    for (let now = performance.now(); now < nextAt; now = performance.now()) {
      await delay(nextAt - now, undefined, { signal });
    }
    nextAt = performance.now() + gapMs;
  };
}

/** Takes as many of the next slots as begin within `WAIT_MAX_MS`. */
async function takeSlots(
  sql: Sql,
  environment: Environment,
  declared: number,
  wanted: number,
): Promise<{ count: number; waitMs: number; gapMs: number }> {
  const [row] = await sql<{ count: number; waitMs: number; gapMs: number }[]>`
    WITH held AS (
      SELECT greatest(next_at, clock_timestamp()) AS first_at, clock_timestamp() AS now_at,
             ${ISSUED_SHARE}::float8 * coalesce(calls_per_second, ${declared}::int) AS rate
      FROM rail_call_limits WHERE organisation_id = ${ALL_ORGANISATIONS} AND environment = ${environment}
      FOR UPDATE
    ), taken AS (
      SELECT *, extract(epoch FROM first_at - now_at)::float8 AS wait_seconds,
             least(${wanted}::int, greatest(0, 1 + floor(
               (${WAIT_MAX_MS / 1000}::float8 - extract(epoch FROM first_at - now_at)::float8) * rate))::int) AS count
      FROM held
    ), issued AS (
      SELECT *, first_at + make_interval(secs => count / rate) AS free_at FROM taken
    )
    UPDATE rail_call_limits l SET next_at = t.free_at
    FROM issued t
    WHERE l.organisation_id = ${ALL_ORGANISATIONS} AND l.environment = ${environment}
    RETURNING t.count, t.wait_seconds * 1000 AS wait_ms, 1000 / t.rate AS gap_ms`;
  if (row === undefined) throw new Error(`there is no call limit of ${environment}`);
  return row;
}
