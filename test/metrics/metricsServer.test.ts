// A scrape is cheap and truthful: it polls its sources rarely, does not wait long for any of them, and never reports a
// stale value.
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { connect } from '../../src/database/pool.ts';
import { newUuid } from '../../src/ids.ts';
import type { BankRail } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';
import { gaugeSourceUp, parkedFlows } from '../../src/telemetry/metrics.ts';
import {
  type Collector,
  type MetricsServer,
  type MetricsServerOptions,
  startMetricsServer,
} from '../../src/telemetry/metricsServer.ts';
import { databaseGauges } from '../../src/worker/backlogGauges.ts';
import { sendRaw } from '../support/rawHttp.ts';
import { createDatabase, ownerOf } from '../support/stack.ts';
import { scrape } from './exposition.ts';

/** A rail in test, none in live. */
const RAILS = new Rails({ test: { name: 'sandbox' } as BankRail });

let server: MetricsServer | null = null;

const database = await createDatabase();
const sql = connect(ownerOf(database.url), { connectionsMax: 2, role: 'owner' });

afterAll(async () => {
  await sql.end();
  await database.drop();
  gaugeSourceUp.remove({ source: 'test' });
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

/** A source whose polls the test answers. */
function source(look: () => Promise<number>): Collector & { looks: number } {
  const collector = {
    name: 'test',
    looks: 0,
    collect: async () => {
      collector.looks += 1;
      const count = await look();
      return () => parkedFlows.set({ cause: 'test' }, count);
    },
    reset: () => parkedFlows.reset(),
  };
  return collector;
}

const PARKED = ['manilla_flows_parked', { cause: 'test' }] as const;
const READABLE = ['manilla_gauge_source_up', { source: 'test' }] as const;

test('a source is polled once per cache period, however many scrapes there are', async () => {
  const { port, add } = await start();
  const counted = source(() => Promise.resolve(3));
  add(counted);
  const all = await Promise.all(Array.from({ length: 20 }, () => scrape(port)));
  expect((await scrape(port)).value(...PARKED)).toBe(3);
  expect(all.map((one) => one.value(...PARKED))).toEqual(all.map(() => 3));
  expect(counted.looks).toBe(1);
});

test('the gauges of a failing source are absent until it recovers, and its up metric is 0', async () => {
  const { port, add } = await start({ cacheMs: 0 });
  let isUp = true;
  add(source(() => (isUp ? Promise.resolve(5) : Promise.reject(new Error('unavailable')))));
  expect((await scrape(port)).value(...PARKED)).toBe(5);
  isUp = false;
  const failed = await scrape(port);
  expect([failed.value(...PARKED), failed.value(...READABLE)]).toEqual([null, 0]);
  isUp = true;
  const recovered = await scrape(port);
  expect([recovered.value(...PARKED), recovered.value(...READABLE)]).toEqual([5, 1]);
});

test('a scrape does not wait for a hanging source, and its late result is discarded', async () => {
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
  const scraped = await scrape(port);
  expect([scraped.value(...PARKED), scraped.value(...READABLE)]).toEqual([null, 0]);
  release(9);
  expect((await scrape(port)).value(...PARKED)).toBeNull();
});

test('polling a busy database is cancelled after two seconds by its statement timeout', async () => {
  const { port, add } = await start({ cacheMs: 0 });
  const gauges = databaseGauges(database.url, RAILS, 0);
  add(gauges);
  try {
    expect((await scrape(port)).value('manilla_outbox_messages', { topic: 'flow' })).toBe(0);
    const locking = await sql.reserve();
    try {
      await locking`BEGIN`;
      await locking`LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE`;
      const scraped = await scrape(port);
      expect(scraped.value('manilla_gauge_source_up', { source: 'database' })).toBe(0);
      expect(scraped.value('manilla_outbox_messages')).toBeNull();
      expect(scraped.value('manilla_database_connections')).toBeNull();
      const [{ waiting } = { waiting: -1 }] = await sql<{ waiting: number }[]>`
        SELECT count(*) AS waiting FROM pg_locks WHERE NOT granted AND relation = 'outbox'::regclass`;
      expect(waiting).toBe(0);
    } finally {
      await locking`ROLLBACK`;
      locking.release();
    }
    expect((await scrape(port)).value('manilla_gauge_source_up', { source: 'database' })).toBe(1);
  } finally {
    await gauges.close();
  }
});

test('backlog gauges report the age of the oldest item per environment', async () => {
  const { port, add } = await start({ cacheMs: 0 });
  const gauges = databaseGauges(database.url, RAILS, 0);
  add(gauges);
  const organisation = '018f0000-0000-7000-8000-000000000001';
  try {
    await sql`
      INSERT INTO outbox (organisation_id, environment, topic, message, available_at, created_at)
      VALUES (${organisation}, 'live', 'event', '{}', now() + interval '10 s', now() - interval '110 s'),
             (${organisation}, 'test', 'flow', '{}', now(), now() - interval '60 s')`;
    await sql`
      WITH endpoints AS (
        INSERT INTO webhook_endpoints (organisation_id, environment, id, url, sealed_secret, failing_since, created_at)
        VALUES (${organisation}, 'test', ${organisation}, 'http://127.0.0.1:9/', 'sealed', NULL, now()),
               (${organisation}, 'test', gen_random_uuid(), 'http://127.0.0.1:9/', 'sealed', now(), now())
        RETURNING id, failing_since IS NOT NULL AS fails
      )
      INSERT INTO webhook_deliveries (organisation_id, environment, event_id, endpoint_id, status, next_attempt_at, attempted_at,
                                      created_at)
      SELECT ${organisation}::uuid, 'test', gen_random_uuid(), id, 'pending', now(), NULL,
             now() - CASE WHEN fails THEN interval '560 s' ELSE interval '310 s' END FROM endpoints
      UNION ALL
      SELECT ${organisation}::uuid, 'live', gen_random_uuid(), gen_random_uuid(), 'pending', now(), now(), now() - interval '510 s'
      UNION ALL
      SELECT ${organisation}::uuid, 'live', gen_random_uuid(), gen_random_uuid(), 'delivered', NULL, now(), now() - interval '900 s'`;
    // The second organisation was never reconciled.
    await sql`
      INSERT INTO organisations (organisation_id, name, created_at)
      VALUES (${organisation}, 'Ada', now() - interval '9 days'), (gen_random_uuid(), 'Obi', now() - interval '710 s')`;
    await sql`
      INSERT INTO rail_progress (organisation_id, environment, rail, reconciled_to, read_from)
      VALUES (${organisation}, 'test', 'sandbox', now() - interval '60 s', now() - interval '60 s')`;
    const scraped = await scrape(port);
    // Rounded down to fifty seconds, so that the scrape may be later than the rows.
    const about = (name: string, labels: Record<string, string>) =>
      Math.floor((scraped.value(name, labels) ?? -1) / 50) * 50;
    // A leased or rescheduled message keeps its age.
    expect(about('manilla_outbox_lag_seconds', { topic: 'event' })).toBe(100);
    expect(about('manilla_outbox_lag_seconds', { topic: 'flow' })).toBe(50);
    expect(about('manilla_webhook_oldest_undelivered_age_seconds', { environment: 'live' })).toBe(500);
    expect(about('manilla_webhook_oldest_undelivered_age_seconds', { environment: 'test' })).toBe(550);
    expect(about('manilla_reconciliation_oldest_age_seconds', { environment: 'test' })).toBe(700);
    expect(about('manilla_reconciliation_oldest_age_seconds', { environment: 'live' })).toBe(0);
    // An event that is still in the outbox counts as not attempted; one for an endpoint that fails does not count.
    expect(about('manilla_webhook_oldest_unattempted_age_seconds', { environment: 'live' })).toBe(100);
    expect(about('manilla_webhook_oldest_unattempted_age_seconds', { environment: 'test' })).toBe(300);
  } finally {
    await gauges.close();
  }
});

test('accounts whose balance the rail contradicts, or that are below zero, are counted until that has cleared', async () => {
  const found = [
    { environment: 'live', kind: 'balance', cleared_at: null, statement_amount: 900 },
    { environment: 'live', kind: 'balance', cleared_at: null, statement_amount: null },
    { environment: 'live', kind: 'balance', cleared_at: new Date(), statement_amount: 900 },
    { environment: 'test', kind: 'amount', cleared_at: null, statement_amount: 900 },
  ];
  for (const one of found)
    await sql`
      INSERT INTO reconciliation_breaks ${sql({
        ...one,
        organisation_id: newUuid(),
        id: newUuid(),
        version: 1,
        rail: 'nomba',
        line: 'other_out',
        reference: 'clearing:nomba',
        at: new Date(),
        occurrence: 1,
        ledger_amount: -100,
        created_at: new Date(),
      })}`;
  const gauges = databaseGauges(database.url, RAILS, 0);
  const { port, add } = await start({ cacheMs: 0 });
  add(gauges);
  const scraped = await scrape(port);
  const of = (environment: string) => scraped.value('manilla_balance_breaks', { environment });
  expect([of('live'), of('test')]).toEqual([2, 0]);
  await gauges.close();
});

test('the balance of each rail is that of its contract with the least, without contracts that are disconnected', async () => {
  const balances = ['sandbox', 'monnify', 'monnify', 'monnify', 'nomba'].map((rail, index) => ({
    rail,
    environment: rail === 'sandbox' ? 'test' : 'live',
    organisation_id: newUuid(),
    available: [700, 900, 800, 100, 50][index] as number,
  }));
  for (const { available, ...contract } of balances) {
    await sql`INSERT INTO rail_progress ${sql({ ...contract, available, read_at: new Date() })}`;
    const isOver = available <= 100;
    if (contract.environment === 'live')
      await sql`
        INSERT INTO rail_contracts ${sql({ ...contract, id: newUuid(), sealed: isOver ? null : 'x', disconnected_at: isOver ? new Date() : null })}`;
  }
  const gauges = databaseGauges(database.url, RAILS, 800);
  const { port, add } = await start({ cacheMs: 0 });
  add(gauges);
  const scraped = await scrape(port);
  const balanceOf = (environment: string, rail: string) =>
    scraped.value('manilla_rail_balance_kobo', { environment, rail });
  expect([balanceOf('test', 'sandbox'), balanceOf('live', 'monnify')]).toEqual([700, 800]);
  expect(balanceOf('live', 'nomba')).toBeNull();
  expect(scraped.value('manilla_rail_balances_low', { environment: 'live' })).toBe(0);
  expect(scraped.value('manilla_rail_balances_low', { environment: 'test' })).toBe(1);
  await gauges.close();
});

test.each(['/metrics', '/ready'])('a page of another site whose name leads here does not read %s', async (path) => {
  const { port } = await start({ probes: { '/ready': async () => ({ ok: true, body: {} }) } });
  const statusFor = async (host: string): Promise<number> =>
    (await sendRaw(`http://127.0.0.1:${port}`, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).status;
  expect(await statusFor(`evil.example:${port}`)).toBe(421);
  expect(await statusFor(`127.0.0.1:${port}`)).toBe(200);
});
