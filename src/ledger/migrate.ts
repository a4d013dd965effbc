// Brings a database up to date: numbered SQL files, each applied once in a transaction of its own. Any number of
// processes may do this at the same time, and one that is older than the database refuses to touch it.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from '../database.ts';

const FOLDER = new URL('./migrations/', import.meta.url);

/** Any constant will do, as long as every Manilla uses the same: two migrators of one database take turns on it. */
const LOCK = 7_164_500_001;

/** SQLSTATE that a file's guard raises when another process applied it in the meantime. */
const APPLIED = 'ML002';

interface Migration {
  number: number;
  name: string;
  checksum: string;
  text: string;
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).toSorted();
  return await Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, FOLDER), 'utf8');
      return {
        number: Number(name.slice(0, 4)),
        name,
        checksum: createHash('sha256').update(text).digest('hex'),
        text,
      };
    }),
  );
}

/**
 * Applies what is missing and names it. Throws when the database has a migration that this version does not know, or
 * when an applied file was edited since.
 */
export async function migrate(
  databaseUrl: string,
  options: { log?: (line: string) => void } = {},
): Promise<{ applied: string[] }> {
  const sql = connect(databaseUrl, { connectionsMax: 1, role: 'owner' });
  try {
    const migrations = await readMigrations();
    await sql.unsafe(`
      BEGIN;
      SELECT pg_advisory_xact_lock(${LOCK});
      CREATE TABLE IF NOT EXISTS migrations (
        number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
      COMMIT;
    `);
    const known = await sql<{ number: number; name: string; checksum: string }[]>`
      SELECT number, name, checksum FROM migrations ORDER BY number`;
    for (const row of known) {
      const file = migrations.find((migration) => migration.number === row.number);
      if (file === undefined) {
        throw new Error(
          `The database has migration ${row.name}, which this version of Manilla does not know. Run the newer version.`,
        );
      }
      if (file.checksum !== row.checksum) {
        throw new Error(
          `Migration ${row.name} was edited after it was applied. Restore it and add a new file instead.`,
        );
      }
    }
    const applied: string[] = [];
    for (const migration of migrations.slice(known.length)) {
      if (await applyMigration(sql, migration)) {
        applied.push(migration.name);
        options.log?.(`applied ${migration.name}`);
      }
    }
    return { applied };
  } finally {
    await sql.end();
  }
}

async function applyMigration(sql: ReturnType<typeof connect>, migration: Migration): Promise<boolean> {
  try {
    // One simple-protocol message: the server runs it all in this transaction or, when the connection is lost, none.
    await sql.unsafe(`
      BEGIN;
      SELECT pg_advisory_xact_lock(${LOCK});
      DO $guard$ BEGIN
        IF EXISTS (SELECT FROM migrations WHERE number = ${migration.number}) THEN
          RAISE EXCEPTION 'already applied' USING ERRCODE = '${APPLIED}';
        END IF;
      END $guard$;
      ${migration.text}
      INSERT INTO migrations (number, name, checksum) VALUES (${migration.number}, '${migration.name}', '${migration.checksum}');
      COMMIT;
    `);
    return true;
  } catch (error) {
    await sql.unsafe('ROLLBACK');
    if ((error as { code?: unknown }).code === APPLIED) return false;
    throw error;
  }
}
