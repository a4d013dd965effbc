// Samples a running stack every few seconds: memory and open files of its processes, rows and bytes of its tables, and
// its queues.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import type { Sql } from '../../src/database/pool.ts';
import { PARTS } from '../chaos/plan.ts';
import type { ChaosStack } from '../chaos/stack.ts';
import type { Series } from './growth.ts';

const EVERY_MS = 5_000;
const MB = 2 ** 20;
/** What the memory of a process varies by between two collections of garbage. */
const MEMORY_SLACK = 100 * MB;
const HANDLES_SLACK = 40;
/** Pools close what is idle, so after a quiet moment there are few. */
const PROCESSES_SLACK = 40;
const QUEUE_SLACK = 100;
/** Temporal lists a flow as running for a while after its end. */
const FLOWS_SLACK = 500;
/** Until it is vacuumed, what was deleted keeps its bytes. */
const TABLE_SLACK = { rows: 1_000, bytes: 8 * MB };

/** These run from the beginning to the end of a soak. */
const LEVEL_PROCESSES: readonly string[] = ['api-1', 'worker-1', 'postgres'];
/** Tables that hold what is under way, or one row for each of what does not become more. */
const LEVEL_TABLES: readonly string[] = [
  'outbox',
  'rate_counters',
  'failing_flows',
  'bank_balances',
  'rail_progress',
  'rail_pauses',
  'webhook_endpoints',
  'callbacks',
];

type Point = Omit<Series, 'points'> & { value: number };

export class Sampler {
  readonly #stack: ChaosStack;
  readonly #temporal: Client;
  readonly #points: { atMs: number; points: Point[] }[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(stack: ChaosStack, temporal: Client) {
    this.#stack = stack;
    this.#temporal = temporal;
    this.#timer = setInterval(() => void this.#sample(), EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** What was sampled before this time. */
  seriesUntil(endMs: number): Series[] {
    const all = new Map<string, Series & { points: { atMs: number; value: number }[] }>();
    for (const { atMs, points } of this.#points) {
      if (atMs > endMs) break;
      for (const { value, ...what } of points) {
        const key = `${what.of} ${what.name}`;
        const series = all.get(key) ?? { ...what, points: [] };
        series.points.push({ atMs, value });
        all.set(key, series);
      }
    }
    return [...all.values()];
  }

  async #sample(): Promise<void> {
    const atMs = Date.now();
    try {
      const tables = await tablePoints(this.#stack.sql);
      const queues = await queuePoints(this.#stack.sql, this.#temporal);
      this.#points.push({ atMs, points: [...this.#processPoints(), ...tables, ...queues] });
    } catch {
      // The database is being started again, after its disk was full.
    }
  }

  #processPoints(): Point[] {
    const points = PARTS.flatMap((part) => {
      const pids = this.#stack.pidsOf(part);
      if (pids.length === 0) return [];
      const isLevel = LEVEL_PROCESSES.includes(part);
      // Of the largest, because Postgres has a process for each connection: their number is that of the pools.
      const most = (measure: (pid: number) => number): number => Math.max(...pids.map(measure));
      return [
        point('process', `${part}, memory`, 'bytes', isLevel ? MEMORY_SLACK : null, most(memoryOf)),
        point('process', `${part}, open files`, 'count', isLevel ? HANDLES_SLACK : null, most(handlesOf)),
        point('process', `${part}, processes`, 'count', isLevel ? PROCESSES_SLACK : null, pids.length),
      ];
    });
    const { size } = statSync(path.join(this.#stack.folder, 'temporal.db'));
    return [...points, point('table', 'of Temporal, all', 'bytes', null, size)];
  }
}

function point(of: Point['of'], name: string, unit: Point['unit'], slack: number | null, value: number): Point {
  return { of, name, unit, slack, value };
}

/** Its own memory in bytes, without what it shares with others, as the processes of Postgres do. Linux only. */
function memoryOf(pid: number): number {
  const status = readIfRunning(() => readFileSync(`/proc/${pid}/status`, 'utf8'), '');
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

const handlesOf = (pid: number): number => readIfRunning(() => readdirSync(`/proc/${pid}/fd`).length, 0);

function readIfRunning<Found>(read: () => Found, otherwise: Found): Found {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

async function tablePoints(sql: Sql): Promise<Point[]> {
  const rows = await sql<{ schema: string; name: string; rows: number; bytes: number }[]>`
    SELECT schemaname AS schema, relname AS name, n_live_tup::float8 AS rows,
           pg_total_relation_size(relid)::float8 AS bytes
    FROM pg_stat_user_tables ORDER BY schemaname, relname`;
  return rows.flatMap(({ schema, name, ...table }) => {
    const isLevel = LEVEL_TABLES.includes(name);
    const full = schema === 'public' ? name : `${schema}.${name}`;
    return (['rows', 'bytes'] as const).map((measure) =>
      point(
        'table',
        `${full}, ${measure}`,
        measure === 'rows' ? 'count' : 'bytes',
        isLevel ? TABLE_SLACK[measure] : null,
        table[measure],
      ),
    );
  });
}

/** What a row takes with its indexes, in each table that has enough of them; the most first. */
export const readBytesOfRows = (sql: Sql) => sql<{ table: string; bytes: number }[]>`
  SELECT concat(nullif(schemaname, 'public') || '.', relname) AS table,
         round(pg_total_relation_size(relid) / rows)::float8 AS bytes
  FROM pg_stat_user_tables, LATERAL (
    SELECT (xpath('/row/n/text()', query_to_xml(
      format('SELECT count(*) AS n FROM %I.%I', schemaname, relname), false, true, '')))[1]::text::float8 AS rows
  ) counted
  WHERE rows >= 500 ORDER BY bytes DESC`;

async function queuePoints(sql: Sql, temporal: Client): Promise<Point[]> {
  const [row] = await sql<Record<'outbox' | 'deliveries' | 'failing' | 'credits' | 'expired' | 'waiting', number>[]>`
    SELECT (SELECT count(*) FROM outbox WHERE topic <> 'scheduled')::int AS outbox,
           (SELECT count(*) FROM webhook_deliveries d JOIN webhook_endpoints w
              ON w.organisation_id = d.organisation_id AND w.environment = d.environment AND w.id = d.endpoint_id
            WHERE d.status = 'pending' AND d.next_attempt_at < now() AND w.failing_since IS NULL)::int AS deliveries,
           (SELECT count(*) FROM webhook_deliveries d JOIN webhook_endpoints w
              ON w.organisation_id = d.organisation_id AND w.environment = d.environment AND w.id = d.endpoint_id
            WHERE d.status = 'pending' AND w.failing_since IS NOT NULL)::int AS failing,
           (SELECT count(*) FROM inbound_credits WHERE status = 'received')::int AS credits,
           (SELECT count(*) FROM payments WHERE status IN ('pending', 'partial') AND expires_at < now())::int AS expired,
           (SELECT count(*) FROM review_cases WHERE status IN ('open', 'returning', 'unclaimed'))::int
             + (SELECT count(*) FROM withdrawals WHERE status = 'processing')::int
             + (SELECT count(*) FROM refunds WHERE status = 'processing')::int
             + (SELECT count(*) FROM payouts WHERE status = 'processing')::int
             + (SELECT count(*) FROM payout_items WHERE status = 'processing')::int AS waiting`;
  const { count: running } = await temporal.workflow.count("ExecutionStatus = 'Running'");
  const level = (name: string, value: number): Point => point('queue', name, 'count', QUEUE_SLACK, value);
  return [
    level('messages of the outbox that are due', row?.outbox ?? 0),
    level('deliveries that are due, endpoints that respond', row?.deliveries ?? 0),
    point('queue', 'deliveries that wait, endpoints that fail', 'count', null, row?.failing ?? 0),
    level('credits that are not posted', row?.credits ?? 0),
    level('payments past their expiry', row?.expired ?? 0),
    point('queue', 'flows', 'count', null, running),
    point('queue', 'flows besides those of what is open', 'count', FLOWS_SLACK, running - (row?.waiting ?? 0)),
  ];
}
