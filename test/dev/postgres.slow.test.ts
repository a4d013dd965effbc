// The embedded Postgres under unusual conditions: as root, in inaccessible folders, after kill -9.
import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import postgres from 'postgres';
import { OWNER, ownerUrl, serviceUrl, startPostgres } from '../../dev/postgres.ts';
import { removePostgresFolder } from '../../dev/postgresFiles.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { temporaryFolder } from './temporaryFolder.ts';

const isRoot = process.getuid?.() === 0;
const started: Supervisor[] = [];

/** Initialising a cluster takes seconds on a slow disk, so most tests share this one. */
const shared = path.join(temporaryFolder(), 'postgres');

afterEach(() => Promise.all(started.splice(0).map((parts) => parts.stop())));

/** Starts a server with its files in that folder. `kill` ends it as a crash would. */
async function start(folder: string, password = 'secret') {
  let pid = 0;
  const parts = new Supervisor({
    logFolder: path.join(path.dirname(folder), 'logs'),
    say: () => {},
    onChange: (running) => {
      pid = running[0]?.pid ?? 0;
    },
  });
  started.push(parts);
  const server = await startPostgres(parts, { folder, password, durability: 'durable' });
  const kill = async () => {
    process.kill(pid, 'SIGKILL');
    await waitFor('Postgres to exit', async () => pid === 0);
  };
  return { ...server, parts, kill };
}

async function query(url: string, statement: string) {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}

/** A folder whose parent is accessible to its owner only, as /root is. */
function closedFolder(): string {
  const parent = temporaryFolder();
  chmodSync(parent, 0o700);
  return path.join(parent, 'postgres');
}

test('data survives a restart and a crash', async () => {
  const first = await start(shared);
  await query(first.ownerUrl, 'CREATE TABLE kept AS SELECT 1 AS number');
  await first.parts.stop();
  const second = await start(shared);
  await query(second.ownerUrl, 'INSERT INTO kept VALUES (2)');
  await second.kill();
  const third = await start(shared);
  expect(await query(third.ownerUrl, 'SELECT number FROM kept ORDER BY number')).toMatchObject([
    { number: 1 },
    { number: 2 },
  ]);
});

test('Postgres starts in a folder that its account cannot enter: as root, the files are kept elsewhere behind a symbolic link', async () => {
  const folder = closedFolder();
  const { url, parts } = await start(folder);
  expect(await query(url, 'SELECT current_user AS name')).toMatchObject([{ name: 'manilla_service' }]);
  await parts.stop();
  expect(lstatSync(folder).isSymbolicLink()).toBe(isRoot);

  const files = realpathSync(folder);
  expect(existsSync(path.join(files, 'PG_VERSION'))).toBe(true);
  removePostgresFolder(folder);
  expect([existsSync(folder), existsSync(files)]).toEqual([false, false]);
});

test('a stale pid file whose pid belongs to another program does not prevent the start', async () => {
  await (await start(shared)).parts.stop();
  writeFileSync(path.join(realpathSync(shared), 'postmaster.pid'), `${process.pid}\n`);
  const { url } = await start(shared);
  expect(await query(url, 'SELECT 1 AS up')).toMatchObject([{ up: 1 }]);
});

test('a data folder in use by another Postgres is refused', async () => {
  await start(shared);
  await expect(start(shared)).rejects.toThrow(/in use by another Postgres \(process \d+\)/);
});

test('an interrupted initialisation does not prevent the next start', async () => {
  const folder = path.join(temporaryFolder(), 'postgres');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'half-made'), '');
  const { url } = await start(folder);
  expect(await query(url, 'SELECT 1 AS up')).toMatchObject([{ up: 1 }]);
});

test('a password other than the one at initialisation is reported with what to do', async () => {
  await (await start(shared)).parts.stop();
  await expect(start(shared, 'another')).rejects.toThrow(/another password.*npm run reset/s);
});

test('the owner is no superuser, and the login of the service can do nothing but act as manilla_app', async () => {
  const { adminDatabaseUrl } = testStack();
  const rights = `SELECT rolsuper, rolcreaterole, rolcreatedb, rolbypassrls,
    (SELECT array_agg(roleid::regrole::text) FROM pg_auth_members WHERE member = r.oid) AS member_of
    FROM pg_roles r WHERE rolname = current_user`;
  expect(await query(ownerUrl(adminDatabaseUrl, OWNER), rights)).toMatchObject([
    { rolsuper: false, rolcreaterole: true, rolbypassrls: false },
  ]);
  expect(await query(serviceUrl(adminDatabaseUrl, OWNER), rights)).toEqual([
    { rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolbypassrls: false, member_of: ['manilla_app'] },
  ]);
});

test('the server listens on loopback only and has no trust authentication', async () => {
  const { adminDatabaseUrl } = testStack();
  expect(await query(adminDatabaseUrl, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
  const trusting = await query(adminDatabaseUrl, `SELECT FROM pg_hba_file_rules WHERE auth_method = 'trust'`);
  expect(trusting).toEqual([]);
});
