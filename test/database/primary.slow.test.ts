// Connections to several servers: to the primary only, also after a failover.
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import postgres from 'postgres';
import { type PostgresServer, startPostgres } from '../../dev/postgres.ts';
import { promote, requireSynchronous, startStandby } from '../../dev/standby.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { readConfig } from '../../src/config.ts';
import { isOutage } from '../../src/database/errors.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { addressesOf, areStandbys } from '../../src/database/primary.ts';
import { requireServiceLogin } from '../../src/database/serviceLogin.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { waitFor } from '../support/waitFor.ts';

describe('a primary and a synchronous standby', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'primary-'));
  chmodSync(folder, 0o755);
  const options = { password: 'secret', durability: 'throwAway', sharedBuffersMb: 16 } as const;
  const log = createLog('test', 'silent');
  let pids = new Map<string, number>();
  let supervisor: Supervisor;
  let first: PostgresServer;
  let second: PostgresServer;
  let sql: Sql;

  /** The URL of the service with both servers, the standby first. */
  const bothUrl = (): string => second.url.replace(`:${second.port}/`, `:${second.port},127.0.0.1:${first.port}/`);
  const asAdmin = (server: PostgresServer): postgres.Sql =>
    postgres(new URL('/manilla', server.adminUrl).href, { max: 1, onnotice: () => {} });

  beforeAll(async () => {
    supervisor = new Supervisor({
      logFolder: path.join(folder, 'logs'),
      say: () => {},
      onChange: (running) => {
        pids = new Map(running.map(({ name, pid }) => [name, pid]));
      },
    });
    supervisor.removeAtEnd(folder);
    const primary = path.join(folder, 'first');
    first = await startPostgres(supervisor, { ...options, folder: primary });
    const admin = asAdmin(first);
    await admin`CREATE TABLE kept (number int)`;
    await admin`GRANT ALL ON kept TO manilla_app`;
    await admin.end();
    second = await startStandby(supervisor, {
      ...options,
      folder: path.join(folder, 'second'),
      name: 'standby',
      primary: { adminUrl: first.adminUrl, folder: primary },
    });
    await requireSynchronous(first.adminUrl, 'standby');
    sql = connect(bothUrl(), { connectionsMax: 2, closeWhenStalled: true });
  });

  afterAll(async () => {
    await sql.end({ timeout: 0 });
    await supervisor.stop();
  });

  test('every connection is to the primary', async () => {
    const used = await Promise.all(Array.from({ length: 4 }, () => sql`SELECT pg_is_in_recovery() AS standby`));
    expect(used.map(([row]) => row?.standby)).toEqual([false, false, false, false]);
  });

  test('a start against the standby alone is refused, and against both is not', async () => {
    const alone = connect(second.url, { connectionsMax: 1, closeWhenStalled: true });
    await expect(requireServiceLogin(alone, second.url, log, () => {})).rejects.toThrow('DATABASE_URL is a standby');
    await alone.end();
    await expect(requireServiceLogin(sql, bothUrl(), log, () => {})).resolves.toBeUndefined();
  });

  test('a URL that asks for a standby is refused', () => {
    const settings = { MANILLA_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64url')}` };
    const withAttributes = (value: string) => `${bothUrl()}?target_session_attrs=${value}`;
    expect(() => readConfig({ ...settings, DATABASE_URL: withAttributes('standby') })).toThrow('DATABASE_URL');
    expect(readConfig({ ...settings, DATABASE_URL: withAttributes('primary') })).toMatchObject({
      databaseUrl: withAttributes('primary'),
    });
  });

  test('after a failover the same pool uses the new primary, and a pool that has no connection yet waits for it', async () => {
    await sql`INSERT INTO kept VALUES (1)`;
    process.kill(pids.get('postgres') ?? 0, 'SIGKILL');
    await waitFor('an outage', () => sql`SELECT`.then(() => false, isOutage));
    // One of the servers does not answer, so a start waits instead of being refused.
    const startedMeanwhile = connect(bothUrl(), { connectionsMax: 1 });
    expect(await startedMeanwhile`SELECT`.then(() => false, isOutage)).toBe(true);
    expect(await areStandbys(startedMeanwhile, addressesOf(bothUrl()))).toBe(false);

    await promote(second.adminUrl);
    const failures: unknown[] = [];
    await waitFor('the new primary for a pool without connections', () =>
      startedMeanwhile`SELECT`.then(
        () => true,
        (error: unknown) => {
          failures.push(error);
          return false;
        },
      ),
    );
    expect(failures.filter((error) => !isOutage(error))).toEqual([]);
    await startedMeanwhile.end();
    const insert = (pool: Sql, number: number) =>
      pool`INSERT INTO kept VALUES (${number})`.then(
        () => true,
        (error: unknown) => {
          if (!isOutage(error)) throw error;
          return false;
        },
      );
    await waitFor('the new primary', () => insert(sql, 2));

    expect(await insert(sql, 3)).toBe(true);
    const rows = await sql<{ number: number }[]>`SELECT number FROM kept ORDER BY number`;
    expect(rows.map(({ number }) => number)).toEqual(expect.arrayContaining([1, 2, 3]));
  });
});
