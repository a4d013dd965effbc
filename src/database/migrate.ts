// Brings a database up to date: first the numbered files, which change tables and are applied once, then the functions, which
// are source: a file of them is applied again when it has a new version. Each is applied in a transaction of its own. Any number
// of processes may do this at the same time, and one that is older than the database refuses to touch it.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from './pool.ts';

const MIGRATIONS = new URL('./migrations/', import.meta.url);
const FUNCTIONS = new URL('../ledger/sql/', import.meta.url);

/** Any constant will do, as long as every Manilla uses the same: one migrator of a database works at a time. */
const LOCK = 7_164_500_001;
const LOCK_POLL_MS = 200;

/**
 * How long a migration waits for the lock of a table. All statements that come after it wait with it, those that move money too, so
 * it gives up soon and tries again.
 */
const TABLE_LOCK_MAX = '2s';
const TRIES_MAX = 100;
const RETRY_PAUSE_MS = 1_000;

/** SQLSTATE of `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * A numbered file. One whose name ends in `_concurrently` is not run in a transaction: each of its statements is a
 * `CREATE INDEX CONCURRENTLY`, which builds an index while others write.
 */
interface Migration {
  number: number;
  name: string;
  checksum: string;
  text: string;
}

/** A file of functions. Its first line is `-- version N`; whoever changes the text raises N, so that no older process puts its own back. */
interface FunctionFile {
  name: string;
  version: number;
  checksum: string;
  text: string;
}

const checksumOf = (text: string): string => createHash('sha256').update(text).digest('hex');

async function readFiles(folder: URL, pattern: RegExp): Promise<{ name: string; text: string; checksum: string }[]> {
  const names = (await readdir(folder)).filter((name) => pattern.test(name)).toSorted();
  return await Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8');
      return { name, text, checksum: checksumOf(text) };
    }),
  );
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  const files = await readFiles(folder, /^\d{4}_[a-z0-9_]+\.sql$/);
  return files.map((file) => ({ ...file, number: Number(file.name.slice(0, 4)) }));
}

async function readFunctions(): Promise<FunctionFile[]> {
  const files = await readFiles(FUNCTIONS, /\.sql$/);
  return files.map((file) => {
    const [, version] = /^-- version (\d+)\n/.exec(file.text) ?? [];
    if (version === undefined) throw new Error(`${file.name} must begin with a line \`-- version N\`.`);
    return { ...file, version: Number(version) };
  });
}

/**
 * Applies what is missing and names it. Throws when the database has a migration that this version does not know, when an applied
 * migration was edited since, when a file of functions was edited and its version was not raised, or when a table stays locked.
 */
export async function migrate(
  databaseUrl: string,
  { log, folder = MIGRATIONS }: { log?: (line: string) => void; folder?: URL } = {},
): Promise<{ applied: string[] }> {
  const sql = connect(databaseUrl, { connectionsMax: 1, role: 'owner' });
  const applied: string[] = [];
  const note = (name: string): void => {
    applied.push(name);
    log?.(`applied ${name}`);
  };
  try {
    const [migrations, functions] = await Promise.all([readMigrations(folder), readFunctions()]);
    await acquireMigrationLock(sql);
    await sql.unsafe(`
      CREATE TABLE IF NOT EXISTS migrations (
        number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
      CREATE TABLE IF NOT EXISTS functions (
        name text PRIMARY KEY, version integer NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
    `);
    const known = await sql<{ number: number; name: string; checksum: string }[]>`
      SELECT number, name, checksum FROM migrations ORDER BY number`;
    requireSameHistory(known, migrations);
    for (const migration of migrations.slice(known.length)) {
      await applyMigration(sql, migration, log);
      note(migration.name);
    }
    const current = new Map(
      (await sql<Omit<FunctionFile, 'text'>[]>`SELECT name, version, checksum FROM functions`).map((row) => [
        row.name,
        row,
      ]),
    );
    for (const file of functions) {
      if (!isNewer(file, current.get(file.name))) continue;
      await applyFunctions(sql, file, log);
      note(file.name);
    }
    return { applied };
  } finally {
    await sql.end();
  }
}

type Owner = ReturnType<typeof connect>;

/**
 * Waits until no other migrator works on this database; the turn ends with the connection. By asking again and again: one that
 * waited in a statement would hold a snapshot, and an index that is built concurrently waits for every older snapshot.
 */
async function acquireMigrationLock(sql: Owner): Promise<void> {
  for (;;) {
    const [row] = await sql<{ taken: boolean }[]>`SELECT pg_try_advisory_lock(${LOCK}) AS taken`;
    if (row?.taken) return;
    await pause(LOCK_POLL_MS);
  }
}

function requireSameHistory(
  known: readonly { number: number; name: string; checksum: string }[],
  migrations: readonly Migration[],
): void {
  for (const row of known) {
    const file = migrations.find((migration) => migration.number === row.number);
    if (file === undefined) {
      throw new Error(
        `The database has migration ${row.name}, which this version of Manilla does not know. Run the newer version.`,
      );
    }
    if (file.checksum !== row.checksum) {
      throw new Error(`Migration ${row.name} was edited after it was applied. Restore it and add a new file instead.`);
    }
  }
}

/** Whether the file is to be applied. One that is older than what the database has is left: a newer process was here. */
function isNewer(file: FunctionFile, current: Omit<FunctionFile, 'text'> | undefined): boolean {
  if (current === undefined || file.version > current.version) return true;
  if (file.version === current.version && file.checksum !== current.checksum) {
    throw new Error(
      `${file.name} was edited and is still version ${file.version}. Raise the number in its first line.`,
    );
  }
  return false;
}

async function applyMigration(
  sql: Owner,
  { number, name, checksum, text }: Migration,
  log: ((line: string) => void) | undefined,
): Promise<void> {
  const record = `INSERT INTO migrations (number, name, checksum) VALUES (${number}, '${name}', '${checksum}')`;
  if (name.endsWith('_concurrently.sql')) await buildIndexes(sql, text, record);
  else await inTransaction(sql, name, `${text}\n${record};`, log);
}

const applyFunctions = (
  sql: Owner,
  { name, version, checksum, text }: FunctionFile,
  log: ((line: string) => void) | undefined,
): Promise<void> =>
  inTransaction(
    sql,
    name,
    `${text}
    INSERT INTO functions (name, version, checksum) VALUES ('${name}', ${version}, '${checksum}')
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, checksum = excluded.checksum, applied_at = now();`,
    log,
  );

/** Runs it whole or not at all, with a limit for each lock; where a table stays locked, again after a pause. */
async function inTransaction(
  sql: Owner,
  name: string,
  text: string,
  log: ((line: string) => void) | undefined,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      // One simple-protocol message: the server runs it all in this transaction or, when the connection is lost, none.
      await sql.unsafe(`BEGIN; SET LOCAL lock_timeout = '${TABLE_LOCK_MAX}'; ${MIGRATION_LOCKED} ${text} COMMIT;`);
      return;
    } catch (error) {
      await sql.unsafe('ROLLBACK');
      if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
      if (tries === TRIES_MAX) {
        throw new Error(
          `${name} could not be applied: a table that it changes stays locked. Run it when less is done.`,
          {
            cause: error,
          },
        );
      }
      if (tries === 1) log?.(`${name} waits for a table that is locked; trying again`);
      await pause(RETRY_PAUSE_MS);
    }
  }
}

/** Fails where the connection that had the turn was lost and the driver made another. */
const MIGRATION_LOCKED = `
  DO $turn$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted) THEN
      RAISE EXCEPTION 'the connection was lost in the middle of a migration: run it again';
    END IF;
  END $turn$;`;

/** An index whose building failed half-way is there and not valid: it is dropped and built anew. */
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
