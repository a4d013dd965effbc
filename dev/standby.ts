// A standby of the embedded Postgres by streaming replication: for drills and tests of a failover.
import { realpathSync } from 'node:fs';
import postgres from 'postgres';
import { copyFiles } from './baseBackup.ts';
import { type PostgresOptions, type PostgresServer, startServer, urlsOf } from './postgres.ts';
import { locateFiles } from './postgresFiles.ts';
import type { Supervisor } from './supervisor.ts';
import { until } from './until.ts';

const ATTACHED_WITHIN_MS = 30_000;

interface StandbyOptions extends PostgresOptions {
  name: string;
  primary: { adminUrl: string; folder: string };
}

/** Copies the primary, starts the copy as its standby, and waits until it streams. */
export async function startStandby(supervisor: Supervisor, options: StandbyOptions): Promise<PostgresServer> {
  const { name, primary } = options;
  const files = await locateFiles(options.folder);
  if (options.durability === 'throwAway') supervisor.removeAtEnd(files.folder);
  const sql = postgres(primary.adminUrl, { max: 1, onnotice: () => {} });
  try {
    await sql`SELECT pg_create_physical_replication_slot(${name}, true)
      WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ${name})`;
    await copyFiles(sql, realpathSync(primary.folder), files, 'standby');
    const { adminUrl, port } = await startServer(supervisor, { ...options, ...files, settings: follow(primary, name) });
    await until(
      `${name} to stream from the primary`,
      async () => {
        const rows =
          await sql`SELECT FROM pg_stat_replication WHERE application_name = ${name} AND state = 'streaming'`;
        return rows.length > 0 || undefined;
      },
      ATTACHED_WITHIN_MS,
    );
    return { ...urlsOf(adminUrl), port };
  } finally {
    await sql.end();
  }
}

/** The settings with which a server follows a primary, if it has a `standby.signal`. */
function follow({ adminUrl }: { adminUrl: string }, name: string): Record<string, string> {
  const { hostname, port, username, password } = new URL(adminUrl);
  return {
    primary_conninfo: `host=${hostname} port=${port} user=${username} password=${password} application_name=${name}`,
    primary_slot_name: name,
    // A standby that has lost its primary asks again after this time.
    wal_retrieve_retry_interval: '500ms',
  };
}

/** The primary acknowledges no commit before this standby has it on disk. */
export async function requireSynchronous(adminUrl: string, name: string): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
    await sql`SELECT pg_reload_conf()`;
    await until(
      `${name} to be synchronous`,
      async () => {
        const rows =
          await sql`SELECT FROM pg_stat_replication WHERE application_name = ${name} AND sync_state = 'sync'`;
        return rows.length > 0 || undefined;
      },
      ATTACHED_WITHIN_MS,
    );
  } finally {
    await sql.end();
  }
}

/** Makes a standby the primary. Resolves when it accepts writes. */
export async function promote(adminUrl: string): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} });
  try {
    await sql`SELECT pg_promote(wait => true)`;
  } finally {
    await sql.end();
  }
}
