// The request rate of each key, counted exactly across processes: one counter a key in Postgres, whose commit does not
// wait for the disk. Concurrent requests of one process share a statement.
import type { Sql } from '../database.ts';
import { GroupCommit } from '../groupCommit.ts';
import type { Uuid } from '../ids.ts';
import type { Caller } from './route.ts';

/** Where a key stands in its current minute. */
export interface Rate {
  limit: number;
  remaining: number;
  resetAt: Date;
  exceeded: boolean;
}

const BATCH_MAX = 1_000;
const WINDOW_MS = 60_000;

export class RateLimit {
  readonly #sql: Sql;
  readonly #perMinute: number;
  readonly #group: GroupCommit<Caller, Rate>;

  constructor(volatileSql: Sql, perMinute: number) {
    this.#sql = volatileSql;
    this.#perMinute = perMinute;
    this.#group = new GroupCommit({
      laneOf: ({ book }) => book.organisationId,
      commit: (organisationId, callers) => this.#count(organisationId, callers),
      entriesMax: BATCH_MAX,
    });
  }

  /** Counts one request of this key. */
  count(caller: Caller): Promise<Rate> {
    return this.#group.add(caller);
  }

  async #count(organisationId: Uuid, callers: Caller[]): Promise<PromiseSettledResult<Rate>[]> {
    const hits = new Map<Uuid, number>();
    const places = callers.map(({ keyId }) => {
      const place = (hits.get(keyId) ?? 0) + 1;
      hits.set(keyId, place);
      return place;
    });
    // In key order, so that two processes that count the same keys never wait for each other in a circle.
    const keys = [...hits].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const rows = await this.#sql<{ keyId: Uuid; windowStart: Date; hits: number }[]>`
      INSERT INTO rate_counters AS r (organisation_id, api_key_id, window_start, hits)
      SELECT ${organisationId}::uuid, api_key_id, date_trunc('minute', now()), hits
      FROM unnest(${keys.map(([id]) => id)}::uuid[], ${keys.map(([, count]) => count)}::integer[]) AS n (api_key_id, hits)
      ON CONFLICT (organisation_id, api_key_id) DO UPDATE SET
        hits = CASE WHEN r.window_start >= excluded.window_start THEN r.hits ELSE 0 END + excluded.hits,
        window_start = greatest(r.window_start, excluded.window_start)
      RETURNING api_key_id AS key_id, window_start, hits`;
    const totals = new Map(rows.map((row) => [row.keyId, row]));
    return callers.map((caller, position) => {
      const total = totals.get(caller.keyId);
      if (total === undefined) throw new Error('a rate counter did not come back');
      const before = total.hits - (hits.get(caller.keyId) ?? 0);
      const used = before + (places[position] ?? 0);
      return {
        status: 'fulfilled',
        value: {
          limit: this.#perMinute,
          remaining: Math.max(0, this.#perMinute - used),
          resetAt: new Date(total.windowStart.getTime() + WINDOW_MS),
          exceeded: used > this.#perMinute,
        },
      };
    });
  }
}
