// Rate limiting and Idempotency-Key look-up, in one statement per batch of concurrent requests. The rate limit is exact
// across processes: Postgres has one counter row per API key. Commits do not wait for the disk, so a crash may lose the
// latest counts.
import { GroupCommit } from '../../concurrency/groupCommit.ts';
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book } from '../../money.ts';
import type { Budget, Caller } from '../route.ts';

/** The rate limit of an API key in the current minute. */
export interface Rate {
  limit: number;
  remaining: number;
  resetAt: Date;
  exceeded: boolean;
}

/** A request to be counted against a limit. */
interface IncomingRequest {
  book: Book;
  budget: Budget;
  idempotencyKey: string | undefined;
}

/** The rate limit and the Idempotency-Key of one request. */
export interface CheckResult {
  rate: Rate;
  /** The time by the clock of the database, which is the same for all processes. */
  now: Date;
  /** Whether the Idempotency-Key has an outcome in the database, even past its retention. */
  keyIsKnown: boolean;
}

const BATCH_MAX = 1_000;
const WINDOW_MS = 60_000;

/**
 * Returns a function that counts one request against the limit of the caller's API key, then, unless that refuses it,
 * against those of the keys that made it. It returns the tightest limit, and whether the Idempotency-Key is known.
 * `perMinute`: the limit of a key that has none.
 */
export function createRateLimiter(asyncCommitSql: Sql, perMinute: number) {
  const group = new GroupCommit<IncomingRequest, CheckResult>({
    partitionOf: ({ book }) => book.organisationId,
    commit: async (organisationId, requests) => {
      const hits = Map.groupBy(requests, ({ budget }) => budget.keyId);
      const rows = await countAndLookUp(asyncCommitSql, organisationId, hits, requests);
      const totals = new Map(
        rows.map((row) => [row.keyId, { ...row, used: row.hits - (hits.get(row.keyId)?.length ?? 0) }]),
      );
      const known = new Set(rows[0]?.known);
      return requests.map(({ budget: { keyId, rateLimit } }, position) => {
        const total = totals.get(keyId);
        if (total === undefined) throw new Error('the result has no row for a rate counter');
        total.used += 1;
        const limit = rateLimit ?? perMinute;
        const rate = {
          limit,
          remaining: Math.max(0, limit - total.used),
          resetAt: new Date(total.windowStart.getTime() + WINDOW_MS),
          exceeded: total.used > limit,
        };
        return { status: 'fulfilled', value: { rate, now: total.now, keyIsKnown: known.has(position) } };
      });
    },
    entriesMax: BATCH_MAX,
  });

  return async ({ book, budgets: [own, ...others] }: Caller, idempotencyKey?: string): Promise<CheckResult> => {
    let result = await group.add({ book, budget: own, idempotencyKey });
    for (const budget of others) {
      if (result.rate.exceeded) break;
      const { rate } = await group.add({ book, budget, idempotencyKey: undefined });
      if (rate.exceeded || rate.remaining < result.rate.remaining) result = { ...result, rate };
    }
    return result;
  };
}

/**
 * One row per API key. `known` is the same in all rows: the positions of the requests whose Idempotency-Key exists.
 * LATERAL with OFFSET 0, which the planner does not flatten into a join: each key is looked up by index.
 */
async function countAndLookUp(
  sql: Sql,
  organisationId: Uuid,
  hits: ReadonlyMap<Uuid, readonly IncomingRequest[]>,
  requests: readonly IncomingRequest[],
) {
  // Sorted by key, so that two processes that count the same keys do not deadlock.
  const counts = [...hits].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lookUps = requests.flatMap(({ book, idempotencyKey: key }, position) =>
    key === undefined ? [] : [{ environment: book.environment, key, position }],
  );
  // Another statement may have begun in the next minute. A later window is of a clock that was wrong.
  const isSame = sql`r.window_start BETWEEN excluded.window_start AND excluded.window_start + interval '1 minute'`;
  return await sql<{ keyId: Uuid; windowStart: Date; hits: number; now: Date; known: number[] }[]>`
    WITH counted AS (
      INSERT INTO rate_counters AS r (organisation_id, api_key_id, window_start, hits)
      SELECT ${organisationId}::uuid, api_key_id, date_trunc('minute', now()), hits
      FROM unnest(${counts.map(([id]) => id)}::uuid[], ${counts.map(([, own]) => own.length)}::integer[]) AS n (api_key_id, hits)
      ON CONFLICT (organisation_id, api_key_id) DO UPDATE SET
        hits = CASE WHEN ${isSame} THEN r.hits ELSE 0 END + excluded.hits,
        window_start = CASE WHEN ${isSame} THEN r.window_start ELSE excluded.window_start END
      RETURNING api_key_id, window_start, hits
    )
    SELECT api_key_id AS key_id, window_start, hits, now()::timestamptz(3) AS now, ARRAY(
      SELECT a.position
      FROM unnest(
        ${lookUps.map(({ position }) => position)}::integer[], ${lookUps.map(({ environment }) => environment)}::text[],
        ${lookUps.map(({ key }) => key)}::text[]
      ) AS a (position, environment, key),
      LATERAL (
        SELECT FROM idempotency_keys i
        WHERE i.organisation_id = ${organisationId} AND i.environment = a.environment AND i.key = a.key OFFSET 0
      ) existing
    ) AS known
    FROM counted`;
}
