// A scrape must never hurt: it asks its sources rarely, waits for none of them long, and never shows an old value as if it
// were true.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { connect, type Sql } from '../../src/database/pool.ts';
import { parkedFlows } from '../../src/telemetry/metrics.ts';
import {
  type Collector,
  type MetricsServer,
  type MetricsServerOptions,
  startMetricsServer,
} from '../../src/telemetry/metricsServer.ts';
import { databaseGauges } from '../../src/worker/backlogGauges.ts';
import { createDatabase, type TestDatabase } from '../support/stack.ts';
import { scrape } from './exposition.ts';

let database: TestDatabase;
let sql: Sql;
let server: MetricsServer | null = null;

beforeAll(async () => {
  database = await createDatabase();
  sql = connect(database.url, { connectionsMax: 2, role: 'owner' });
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

afterEach(async () => {
  await server?.close();
  server = null;
});

const start = async (options: Partial<MetricsServerOptions> = {}): Promise<MetricsServer> => {
  const log = pino({ level: 'silent' });
  server = await startMetricsServer({ port: 0, bindAddress: '127.0.0.1', log, ...options });
  return server;
};

/** A source whose looks are answered by the test. */
function source(look: () => Promise<number>): Collector & { looks: number } {
  const made = {
    name: 'test',
    looks: 0,
    collect: async () => {
      made.looks += 1;
      const count = await look();
      return () => parkedFlows.set({ cause: 'test' }, count);
    },
    reset: () => parkedFlows.reset(),
  };
  return made;
}

const PARKED = ['manilla_flows_parked', { cause: 'test' }] as const;
const READABLE = ['manilla_gauge_source_up', { source: 'test' }] as const;

test('however many scrape, a source is asked once in its while', async () => {
  const { port, add } = await start();
  const asked = source(() => Promise.resolve(3));
  add(asked);
  const all = await Promise.all(Array.from({ length: 20 }, () => scrape(port)));
  expect((await scrape(port)).value(...PARKED)).toBe(3);
  expect(all.map((one) => one.value(...PARKED))).toEqual(all.map(() => 3));
  expect(asked.looks).toBe(1);
});

test('a source that fails takes its gauges away, says so, and brings them back', async () => {
  const { port, add } = await start({ cacheMs: 0 });
  let isUp = true;
  add(source(() => (isUp ? Promise.resolve(5) : Promise.reject(new Error('away')))));
  expect((await scrape(port)).value(...PARKED)).toBe(5);
  isUp = false;
  const without = await scrape(port);
  expect([without.value(...PARKED), without.value(...READABLE)]).toEqual([null, 0]);
  isUp = true;
  const back = await scrape(port);
  expect([back.value(...PARKED), back.value(...READABLE)]).toEqual([5, 1]);
});

test('a scrape does not wait for a source that hangs, and a late answer is not shown', async () => {
  const { port, add } = await start({ waitMs: 50 });
  let release: (count: number) => void = () => {};
  add(
    source(
      () =>
        new Promise((resolve) => {
          release = resolve;
        }),
    ),
  );
  const answered = await scrape(port);
  expect([answered.value(...PARKED), answered.value(...READABLE)]).toEqual([null, 0]);
  release(9);
  expect((await scrape(port)).value(...PARKED)).toBeNull();
});

test('a database that is busy with itself is let alone after two seconds, by its own clock', async () => {
  const { port, add } = await start({ cacheMs: 0 });
  const standing = databaseGauges(database.url);
  add(standing);
  try {
    expect((await scrape(port)).value('manilla_outbox_messages', { topic: 'flow' })).toBe(0);
    const held = await sql.reserve();
    try {
      await held`BEGIN`;
      await held`LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE`;
      const blind = await scrape(port);
      expect(blind.value('manilla_gauge_source_up', { source: 'database' })).toBe(0);
      expect(blind.value('manilla_outbox_messages')).toBeNull();
      expect(blind.value('manilla_database_connections')).toBeNull();
      const [{ waiting } = { waiting: -1 }] = await sql<{ waiting: number }[]>`
        SELECT count(*) AS waiting FROM pg_locks WHERE NOT granted AND relation = 'outbox'::regclass`;
      expect(waiting).toBe(0);
    } finally {
      await held`ROLLBACK`;
      held.release();
    }
    expect((await scrape(port)).value('manilla_gauge_source_up', { source: 'database' })).toBe(1);
  } finally {
    await standing.close();
  }
});

test('what waits is told by its age, in its own environment', async () => {
  const { port, add } = await start({ cacheMs: 0 });
  const standing = databaseGauges(database.url);
  add(standing);
  const organisation = '018f0000-0000-7000-8000-000000000001';
  try {
    await sql`
      INSERT INTO outbox (organisation_id, environment, topic, message, available_at, created_at)
      VALUES (${organisation}, 'live', 'event', '{}', now() + interval '10 s', now() - interval '110 s'),
             (${organisation}, 'test', 'flow', '{}', now(), now() - interval '60 s')`;
    await sql`
      INSERT INTO webhook_deliveries (organisation_id, environment, event_id, endpoint_id, status, attempts, created_at)
      VALUES (${organisation}, 'live', gen_random_uuid(), gen_random_uuid(), 'pending', 3, now() - interval '510 s'),
             (${organisation}, 'live', gen_random_uuid(), gen_random_uuid(), 'delivered', 1, now() - interval '900 s'),
             (${organisation}, 'test', gen_random_uuid(), gen_random_uuid(), 'pending', 0, now() - interval '310 s')`;
    const seen = await scrape(port);
    // To the fifty seconds, so that a scrape may come a while after the rows.
    const about = (name: string, labels: Record<string, string>) =>
      Math.floor((seen.value(name, labels) ?? -1) / 50) * 50;
    // Leased or put back for later, a message is as old as it is.
    expect(about('manilla_outbox_lag_seconds', { topic: 'event' })).toBe(100);
    expect(about('manilla_outbox_lag_seconds', { topic: 'flow' })).toBe(50);
    expect(about('manilla_webhook_oldest_undelivered_age_seconds', { environment: 'live' })).toBe(500);
    expect(about('manilla_webhook_oldest_undelivered_age_seconds', { environment: 'test' })).toBe(300);
    // An event that is still in the outbox was not attempted either.
    expect(about('manilla_webhook_oldest_unattempted_age_seconds', { environment: 'live' })).toBe(100);
    expect(about('manilla_webhook_oldest_unattempted_age_seconds', { environment: 'test' })).toBe(300);
  } finally {
    await standing.close();
  }
});
