// What every request is asked at the door, in one statement: which one it is of its key's this minute, and whether its
// Idempotency-Key was seen before. The count is exact across processes: one counter a key in Postgres, whose commit does not
// wait for the disk. Concurrent requests of one process share the statement.

import { GroupCommit } from '../../concurrency/groupCommit.ts';
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Caller } from '../route.ts';

/** Where a key stands in its current minute. */
export interface Rate {
  limit: number;
  remaining: number;
  resetAt: Date;
  exceeded: boolean;
}

/** A request at the door. */
interface IncomingRequest {
  caller: Caller;
  idempotencyKey: string | undefined;
}

/** What is known of it. */
export interface CheckResult {
  rate: Rate;
  /** Whether the Idempotency-Key was claimed or answered before, be it long ago. */
  keyIsKnown: boolean;
}

const BATCH_MAX = 1_000;
const WINDOW_MS = 60_000;

export class RateLimiter {
  readonly #sql: Sql;
  readonly #perMinute: number;
  readonly #group: GroupCommit<IncomingRequest, CheckResult>;

  constructor(asyncCommitSql: Sql, perMinute: number) {
    this.#sql = asyncCommitSql;
    this.#perMinute = perMinute;
    this.#group = new GroupCommit({
      partitionOf: ({ caller }) => caller.book.organisationId,
      commit: (organisationId, arrivals) => this.#admit(organisationId, arrivals),
      entriesMax: BATCH_MAX,
    });
  }

  /** Counts one request of this caller's key, and looks for its Idempotency-Key where it has one. */
  check(caller: Caller, idempotencyKey?: string): Promise<CheckResult> {
    return this.#group.add({ caller, idempotencyKey });
  }

  async #admit(organisationId: Uuid, arrivals: IncomingRequest[]): Promise<PromiseSettledResult<CheckResult>[]> {
    const hits = new Map<Uuid, number>();
    const places = arrivals.map(({ caller: { keyId } }) => {
      const place = (hits.get(keyId) ?? 0) + 1;
      hits.set(keyId, place);
      return place;
    });
    const rows = await this.#countAndLook(organisationId, [...hits], arrivals);
    const totals = new Map(rows.map((row) => [row.keyId, row]));
    const known = new Set(rows[0]?.known);
    return arrivals.map(({ caller }, position) => {
      const total = totals.get(caller.keyId);
      if (total === undefined) throw new Error('a rate counter did not come back');
      const before = total.hits - (hits.get(caller.keyId) ?? 0);
      const used = before + (places[position] ?? 0);
      const rate = {
        limit: this.#perMinute,
        remaining: Math.max(0, this.#perMinute - used),
        resetAt: new Date(total.windowStart.getTime() + WINDOW_MS),
        exceeded: used > this.#perMinute,
      };
      return { status: 'fulfilled', value: { rate, keyIsKnown: known.has(position) } };
    });
  }

  /**
   * A row for each API key, and in every row the positions of the arrivals whose Idempotency-Key is there. LATERAL with
   * OFFSET, which no plan looks through: each is found by its own key.
   */
  async #countAndLook(organisationId: Uuid, hits: [Uuid, number][], arrivals: IncomingRequest[]) {
    // In key order, so that two processes that count the same keys never wait for each other in a circle.
    const counts = hits.toSorted(([a], [b]) => (a < b ? -1 : 1));
    const asked = arrivals.flatMap(({ caller, idempotencyKey: key }, position) =>
      key === undefined ? [] : [{ environment: caller.book.environment, key, position }],
    );
    return await this.#sql<{ keyId: Uuid; windowStart: Date; hits: number; known: number[] }[]>`
      WITH counted AS (
        INSERT INTO rate_counters AS r (organisation_id, api_key_id, window_start, hits)
        SELECT ${organisationId}::uuid, api_key_id, date_trunc('minute', now()), hits
        FROM unnest(${counts.map(([id]) => id)}::uuid[], ${counts.map(([, count]) => count)}::integer[]) AS n (api_key_id, hits)
        ON CONFLICT (organisation_id, api_key_id) DO UPDATE SET
          hits = CASE WHEN r.window_start >= excluded.window_start THEN r.hits ELSE 0 END + excluded.hits,
          window_start = greatest(r.window_start, excluded.window_start)
        RETURNING api_key_id, window_start, hits
      )
      SELECT api_key_id AS key_id, window_start, hits, ARRAY(
        SELECT a.position
        FROM unnest(
          ${asked.map(({ environment }) => environment)}::text[], ${asked.map(({ key }) => key)}::text[],
          ${asked.map(({ position }) => position)}::integer[]
        ) AS a (environment, key, position),
        LATERAL (
          SELECT FROM idempotency_keys i
          WHERE i.organisation_id = ${organisationId} AND i.environment = a.environment AND i.key = a.key OFFSET 0
        ) there
      ) AS known
      FROM counted`;
  }
}
