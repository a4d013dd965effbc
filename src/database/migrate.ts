// Migrates a database: first the numbered files, which change tables and are applied once; then the files of functions,
// which are source and are applied again when their version is raised. Each file is applied in a transaction of its
// own. Processes may migrate concurrently. A release leaves what a later one added, and runs on it.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { VERSION } from '../release.ts';
import { connect } from './pool.ts';
import { minorOf, refuseRelease } from './releases.ts';

const MIGRATIONS = new URL('./migrations/', import.meta.url);
const FUNCTIONS = new URL('../ledger/sql/', import.meta.url);

/** Key of the advisory lock that makes migrations of a database exclusive. Every version must use the same constant. */
const LOCK = 7_164_500_001;
const LOCK_POLL_MS = 200;

/** `lock_timeout` of a migration: later statements on the table queue behind it, so it times out and retries. */
const TABLE_LOCK_MAX = '2s';
const TRIES_MAX = 100;
const RETRY_PAUSE_MS = 1_000;

/** SQLSTATE of `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03';

/** `…_concurrently`: outside of a transaction, each statement a `CREATE INDEX CONCURRENTLY`. */
type Migration = SqlFile & { number: number };

/** `-- version N` is its first line, unless it is 1. A change raises it: no older process restores its own. */
type FunctionFile = SqlFile & { version: number };

interface SqlFile {
  name: string;
  checksum: string;
  text: string;
}

async function readFiles(folder: URL, pattern: RegExp): Promise<SqlFile[]> {
  const names = (await readdir(folder)).filter((name) => pattern.test(name)).toSorted();
  return await Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8');
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  const files = await readFiles(folder, /^\d{4}_[a-z0-9_]+\.sql$/);
  return files.map((file) => ({ ...file, number: Number(file.name.slice(0, 4)) }));
}

export async function readFunctions(): Promise<FunctionFile[]> {
  const files = await readFiles(FUNCTIONS, /\.sql$/);
  return files.map((file) => {
    const [, version = 1] = /^-- version (\d+)\n/.exec(file.text) ?? [];
    return { ...file, version: Number(version) };
  });
}

/**
 * Applies the missing files and returns their names, and stores the settings that only the owner of the database may
 * change. Migrations of a later release stay as they are. Throws when this release may not follow the one that migrated
 * the database (releases.ts), when an applied migration was edited or is not of this history, when a file of functions
 * was edited without raising its version, or when a table is still locked after `TRIES_MAX` attempts.
 */
export async function migrate(
  databaseUrl: string,
  {
    log = () => {},
    folder = MIGRATIONS,
    settings = process.env,
    version = VERSION,
  }: { log?: (line: string) => void; folder?: URL; settings?: StoredSettings; version?: string } = {},
): Promise<{ applied: string[] }> {
  const sql = connect(databaseUrl, { connectionsMax: 1, role: 'owner' });
  const applied: string[] = [];
  const recordApplied = (name: string): void => {
    applied.push(name);
    log(`applied ${name}`);
  };
  try {
    const [migrations, functions] = await Promise.all([readMigrations(folder), readFunctions()]);
    await acquireMigrationLock(sql);
    await sql.unsafe(`
      CREATE TABLE IF NOT EXISTS migrations (
        number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now());
      CREATE TABLE IF NOT EXISTS functions (
        name text PRIMARY KEY, version integer NOT NULL, checksum text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now());
      CREATE TABLE IF NOT EXISTS releases (minor text PRIMARY KEY, migrated_at timestamptz NOT NULL);
      -- A function that is made from now on may be called by those whom it is granted to.
      ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
    `);
    const known = await sql<Omit<Migration, 'text'>[]>`SELECT number, name, checksum FROM migrations ORDER BY number`;
    const minor = minorOf(version);
    const releases = await sql<{ minor: string }[]>`SELECT minor FROM releases ORDER BY migrated_at DESC`;
    const refusal = refuseRelease(
      minor,
      releases.map((row) => row.minor),
    );
    if (refusal !== null) throw new Error(refusal);
    for (const later of requireSameHistory(known, migrations)) {
      log(`${later} is of a later release, and stays: this one runs on it`);
    }
    for (const { number, name, checksum, text } of migrations.slice(known.length)) {
      const record = `INSERT INTO migrations (number, name, checksum) VALUES (${number}, '${name}', '${checksum}')`;
      if (name.endsWith('_concurrently.sql')) await buildIndexes(sql, text, record);
      else await inTransaction(sql, name, `${text}\n${record};`, log);
      recordApplied(name);
    }
    const rows = await sql<Omit<FunctionFile, 'text'>[]>`SELECT name, version, checksum FROM functions`;
    const current = new Map(rows.map((row) => [row.name, row]));
    for (const file of functions) {
      if (!isNewer(file, current.get(file.name))) continue;
      const { name, version, checksum, text } = file;
      const record = `
        INSERT INTO functions (name, version, checksum) VALUES ('${name}', ${version}, '${checksum}')
        ON CONFLICT (name) DO UPDATE
        SET version = excluded.version, checksum = excluded.checksum, applied_at = excluded.applied_at;`;
      await inTransaction(sql, name, text + record, log);
      recordApplied(name);
    }
    await sql`
      INSERT INTO releases (minor, migrated_at) VALUES (${minor}, clock_timestamp())
      ON CONFLICT (minor) DO UPDATE SET migrated_at = excluded.migrated_at`;
    const { REVIEW_CREDIT_BY_TWO_FROM_KOBO: twoFrom, DEBT_RECOVERY: recovery } = settings;
    if (recovery) await sql`UPDATE decision_limits SET recovers_debts = ${recovery !== 'operators'}`;
    if (twoFrom)
      await sql`UPDATE decision_limits SET credit_by_two_from = ${twoFrom}, since = now() WHERE credit_by_two_from <> ${twoFrom}`;
    return { applied };
  } finally {
    await sql.end();
  }
}

/** The settings that are stored in the database (src/config.ts checks them). */
type StoredSettings = Partial<Record<'REVIEW_CREDIT_BY_TWO_FROM_KOBO' | 'DEBT_RECOVERY', string>>;

type Owner = ReturnType<typeof connect>;

/**
 * Waits for the advisory lock of migrations, which the connection holds until it closes. It polls, because a statement
 * that waits for the lock holds a snapshot, and CREATE INDEX CONCURRENTLY waits for every older snapshot.
 */
async function acquireMigrationLock(sql: Owner): Promise<void> {
  for (;;) {
    const [row] = await sql<{ acquired: boolean }[]>`SELECT pg_try_advisory_lock(${LOCK}) AS acquired`;
    if (row?.acquired) return;
    await pause(LOCK_POLL_MS);
  }
}

/** Returns the migrations of the database that are after those of this release. */
function requireSameHistory(known: readonly Omit<Migration, 'text'>[], migrations: readonly Migration[]): string[] {
  for (const [position, row] of known.slice(0, migrations.length).entries()) {
    const file = migrations[position];
    if (file?.number !== row.number) {
      throw new Error(`The database has migration ${row.name}, which is not of this history of Manilla.`);
    }
    if (file.checksum !== row.checksum) {
      throw new Error(`Migration ${row.name} was edited after it was applied. Restore it and add a new file instead.`);
    }
  }
  return known.slice(migrations.length).map(({ name }) => name);
}

/** Whether to apply the file. False when the database has a higher version, which a newer process applied. */
function isNewer(file: FunctionFile, current: Omit<FunctionFile, 'text'> | undefined): boolean {
  if (current === undefined || file.version > current.version) return true;
  if (file.version === current.version && file.checksum !== current.checksum) {
    throw new Error(
      `${file.name} was edited and is still version ${file.version}. Raise the number in its first line.`,
    );
  }
  return false;
}

/** Runs the text in one transaction with a `lock_timeout`, and retries when a table is locked. */
async function inTransaction(sql: Owner, name: string, text: string, log: (line: string) => void): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      // One message of the simple query protocol: when the connection is lost, the server rolls back all of it.
      await sql.unsafe(`BEGIN; SET LOCAL lock_timeout = '${TABLE_LOCK_MAX}'; ${MIGRATION_LOCKED} ${text} COMMIT;`);
      return;
    } catch (error) {
      await sql.unsafe('ROLLBACK');
      if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
      if (tries === TRIES_MAX) {
        const problem = 'a table that it changes is still locked. Run it again at a time of less traffic.';
        throw new Error(`${name} could not be applied: ${problem}`, { cause: error });
      }
      if (tries === 1) log(`${name}: lock timeout on a table; retrying`);
      await pause(RETRY_PAUSE_MS);
    }
  }
}

/** Raises an error when this connection does not hold the lock: the driver reconnected after losing it. */
const MIGRATION_LOCKED = `
  DO $check$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted) THEN
      RAISE EXCEPTION 'the connection was lost during a migration: run it again';
    END IF;
  END $check$;`;

/** Builds the indexes of a file. A build that failed leaves an invalid index, which is dropped and built again. */
async function buildIndexes(sql: Owner, text: string, record: string): Promise<void> {
  await sql.unsafe(MIGRATION_LOCKED);
  for (const part of text.replaceAll(/^--.*$/gm, '').split(';')) {
    const statement = part.trim();
    if (statement === '') continue;
    const [, name] = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS (\w+)\s+ON\s/.exec(statement) ?? [];
    if (name === undefined)
      throw new Error(`Write CREATE INDEX CONCURRENTLY IF NOT EXISTS in this file, not: ${statement}`);
    const invalid = await sql<{ index: string }[]>`
      SELECT indexrelid::regclass::text AS index FROM pg_index JOIN pg_class c ON c.oid = indexrelid
      WHERE c.relname = ${name} AND NOT indisvalid`;
    for (const { index } of invalid) await sql.unsafe(`DROP INDEX CONCURRENTLY ${index}`);
    await sql.unsafe(statement);
  }
  await sql.unsafe(record);
}
