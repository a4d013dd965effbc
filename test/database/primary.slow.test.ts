// Connections to several servers: to the primary only, also after a failover, and never to a former primary.
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
import { choosePrimary, type Server } from '../../src/database/primary.ts';
import { requireServiceLogin } from '../../src/database/serviceLogin.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { waitFor } from '../support/waitFor.ts';

describe('the choice', () => {
  const address = (port: number) => ({ host: 'db', port });
  const primary = (port: number, timeline: number): Server => ({
    address: address(port),
    answer: { isStandby: false, timeline },
  });
  const standby = (port: number): Server => ({ address: address(port), answer: { isStandby: true, timeline: null } });
  const silent = (port: number): Server => ({ address: address(port), answer: null });

  test.each<[string, Server[], number, number | null]>([
    ['the primary', [standby(1), primary(2, 1)], 0, 2],
    ['none while all are standbys', [standby(1), standby(2)], 1, null],
    ['none while no server answers', [silent(1), silent(2)], 1, null],
    ['the promoted one before the former primary', [primary(1, 1), primary(2, 2)], 0, 2],
    ['the promoted one, whatever its place', [primary(1, 3), primary(2, 2)], 2, 1],
    ['not the former primary, while the promoted one is silent', [primary(1, 1), silent(2)], 2, null],
    ['the same primary again', [primary(1, 2), silent(2)], 2, 1],
  ])('%s', (_, servers, timelineSeen, port) => {
    expect(choosePrimary(servers, timelineSeen)?.address.port ?? null).toBe(port);
  });
});

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
    await expect(requireServiceLogin(alone, log, () => {})).rejects.toThrow('DATABASE_URL is a standby');
    await alone.end();
    await expect(requireServiceLogin(sql, log, () => {})).resolves.toBeUndefined();
  });

  test('a URL that asks for a standby is refused', () => {
    const settings = { MANILLA_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64url')}` };
    const withAttributes = (value: string) => `${bothUrl()}?target_session_attrs=${value}`;
    expect(() => readConfig({ ...settings, DATABASE_URL: withAttributes('standby') })).toThrow('DATABASE_URL');
    expect(readConfig({ ...settings, DATABASE_URL: withAttributes('primary') })).toMatchObject({
      databaseUrl: withAttributes('primary'),
    });
  });

  test('after a failover the same pool uses the new primary, and a former primary neither answers a commit nor is used', async () => {
    await sql`INSERT INTO kept VALUES (1)`;
    process.kill(pids.get('postgres') ?? 0, 'SIGKILL');
    await waitFor('an outage', () => sql`SELECT`.then(() => false, isOutage));
    // As an outage, for which a start waits, and not as a standby, which it refuses.
    const startedMeanwhile = connect(bothUrl(), { connectionsMax: 1 });
    await expect(startedMeanwhile`SELECT`).rejects.toMatchObject({ code: 'ECONNREFUSED' });

    await promote(second.adminUrl);
    const failures: unknown[] = [];
    await waitFor('the new primary for a pool without connections', () =>
      startedMeanwhile`SELECT`.then(
        () => true,
        ({ code }: { code: unknown }) => {
          failures.push(code);
          return false;
        },
      ),
    );
    // The first session is begun properly, and not only after connections that time out.
    expect(failures.filter((code) => code !== 'ECONNREFUSED')).toEqual([]);
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

    await waitFor('the former primary to have ended', () => Promise.resolve(!pids.has('postgres')));
    const back = await startPostgres(supervisor, {
      ...options,
      folder: path.join(folder, 'first'),
      portPreferred: first.port,
    }).catch((error: unknown) => error);
    expect(back).toMatchObject({ port: first.port });

    const old = asAdmin(first);
    const unanswered = old`INSERT INTO kept VALUES (3)`.then(
      () => 'answered',
      () => 'ended',
    );
    const observer = asAdmin(first);
    await waitFor('the commit on the former primary to wait', async () => {
      const rows = await observer`SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%kept%'`;
      return rows.length > 0;
    });

    const other = connect(bothUrl(), { connectionsMax: 1, role: 'application' });
    await waitFor('a commit on the new primary', () => insert(other, 4));
    expect(await insert(sql, 5)).toBe(true);
    const rows = await asRows(sql);
    expect(rows).toEqual(expect.arrayContaining([1, 2, 4, 5]));
    expect(rows).not.toContain(3);
    await Promise.all([other.end({ timeout: 0 }), old.end({ timeout: 0 }), observer.end({ timeout: 0 })]);
    expect(await unanswered).toBe('ended');
  });

  const asRows = async (pool: Sql): Promise<number[]> =>
    (await pool<{ number: number }[]>`SELECT number FROM kept ORDER BY number`).map(({ number }) => number);
});
