// Brings a database up to date: first the numbered files, which change tables and are applied once, then the functions, which
// are source: a file of them is applied again when it has a new version. Each is applied in a transaction of its own. Any number
// of processes may do this at the same time, and one that is older than the database refuses to touch it.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from '../database.ts';

const MIGRATIONS = new URL('./migrations/', import.meta.url);
const FUNCTIONS = new URL('../ledger/sql/', import.meta.url);

/** Any constant will do, as long as every Manilla uses the same: two migrators of one database take turns on it. */
const LOCK = 7_164_500_001;

/** SQLSTATE that the guard of a file raises when another process has applied it in the meantime. */
const APPLIED = 'ML002';

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

async function readMigrations(): Promise<Migration[]> {
  const files = await readFiles(MIGRATIONS, /^\d{4}_[a-z0-9_]+\.sql$/);
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
 * migration was edited since, or when a file of functions was edited and its version was not raised.
 */
export async function migrate(
  databaseUrl: string,
  options: { log?: (line: string) => void } = {},
): Promise<{ applied: string[] }> {
  const sql = connect(databaseUrl, { connectionsMax: 1, role: 'owner' });
  const applied: string[] = [];
  const note = (name: string): void => {
    applied.push(name);
    options.log?.(`applied ${name}`);
  };
  try {
    const [migrations, functions] = await Promise.all([readMigrations(), readFunctions()]);
    await sql.unsafe(`
      BEGIN;
      SELECT pg_advisory_xact_lock(${LOCK});
      CREATE TABLE IF NOT EXISTS migrations (
        number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
      CREATE TABLE IF NOT EXISTS functions (
        name text PRIMARY KEY, version integer NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
      COMMIT;
    `);
    const known = await sql<{ number: number; name: string; checksum: string }[]>`
      SELECT number, name, checksum FROM migrations ORDER BY number`;
    requireSameHistory(known, migrations);
    for (const migration of migrations.slice(known.length)) {
      if (await applyMigration(sql, migration)) note(migration.name);
    }
    const current = new Map(
      (await sql<Omit<FunctionFile, 'text'>[]>`SELECT name, version, checksum FROM functions`).map((row) => [
        row.name,
        row,
      ]),
    );
    for (const file of functions) {
      if (isNewer(file, current.get(file.name)) && (await applyFunctions(sql, file))) note(file.name);
    }
    return { applied };
  } finally {
    await sql.end();
  }
}

function requireSameHistory(
  known: readonly { number: number; name: string; checksum: string }[],
  migrations: Migration[],
) {
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

const applyMigration = (sql: Owner, { number, name, checksum, text }: Migration): Promise<boolean> =>
  applyOnce(
    sql,
    `SELECT FROM migrations WHERE number = ${number}`,
    text,
    `
    INSERT INTO migrations (number, name, checksum) VALUES (${number}, '${name}', '${checksum}')`,
  );

const applyFunctions = (sql: Owner, { name, version, checksum, text }: FunctionFile): Promise<boolean> =>
  applyOnce(
    sql,
    `SELECT FROM functions WHERE name = '${name}' AND version >= ${version}`,
    text,
    `
    INSERT INTO functions (name, version, checksum) VALUES ('${name}', ${version}, '${checksum}')
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, checksum = excluded.checksum, applied_at = now()`,
  );

type Owner = ReturnType<typeof connect>;

/** Applies a text and records it, unless another process has done so. Whether it was this one. */
async function applyOnce(sql: Owner, isApplied: string, text: string, record: string): Promise<boolean> {
  try {
    // One simple-protocol message: the server runs it all in this transaction or, when the connection is lost, none.
    await sql.unsafe(`
      BEGIN;
      SELECT pg_advisory_xact_lock(${LOCK});
      DO $guard$ BEGIN
        IF EXISTS (${isApplied}) THEN
          RAISE EXCEPTION 'already applied' USING ERRCODE = '${APPLIED}';
        END IF;
      END $guard$;
      ${text}
      ${record};
      COMMIT;
    `);
    return true;
  } catch (error) {
    await sql.unsafe('ROLLBACK');
    if ((error as { code?: unknown }).code === APPLIED) return false;
    throw error;
  }
}
