// The embedded Postgres under the circumstances that are not in its manual: root, closed folders, kill -9.
import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import postgres from 'postgres';
import { removePostgresFolder, startPostgres } from '../../dev/postgres.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { databaseUrl, OWNER, testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { temporaryFolder } from './temporaryFolder.ts';

const isRoot = process.getuid?.() === 0;
const started: Supervisor[] = [];

/** Making the files takes seconds on a slow disk, so most tests share these. */
const shared = path.join(temporaryFolder(), 'postgres');

afterEach(async () => {
  await Promise.all(started.splice(0).map((parts) => parts.stop()));
});

/** A server with its files in that folder. `kill` ends it as a crash would. */
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
    await waitFor('the server is gone', async () => pid === 0);
  };
  return { ...server, parts, kill };
}

async function ask(url: string, statement: string) {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}

/** A folder whose parent lets only its owner in, as /root does. */
function closedFolder(): string {
  const parent = temporaryFolder();
  chmodSync(parent, 0o700);
  return path.join(parent, 'postgres');
}

test('data survives a restart, and a crash', async () => {
  const first = await start(shared);
  await ask(first.url, 'CREATE TABLE kept AS SELECT 1 AS number');
  await first.parts.stop();
  const second = await start(shared);
  await ask(second.url, 'INSERT INTO kept VALUES (2)');
  await second.kill();
  const third = await start(shared);
  expect(await ask(third.url, 'SELECT number FROM kept ORDER BY number')).toMatchObject([{ number: 1 }, { number: 2 }]);
});

test('it starts in a folder that its account may not enter: as root, by keeping the files elsewhere', async () => {
  const folder = closedFolder();
  const { url, parts } = await start(folder);
  expect(await ask(url, 'SELECT current_user AS name')).toMatchObject([{ name: 'manilla' }]);
  await parts.stop();
  expect(lstatSync(folder).isSymbolicLink()).toBe(isRoot);

  const files = realpathSync(folder);
  expect(existsSync(path.join(files, 'PG_VERSION'))).toBe(true);
  removePostgresFolder(folder);
  expect([existsSync(folder), existsSync(files)]).toEqual([false, false]);
});

test('a pid file whose number belongs to another program by now does not keep it from starting', async () => {
  await (await start(shared)).parts.stop();
  writeFileSync(path.join(realpathSync(shared), 'postmaster.pid'), `${process.pid}\n`);
  const { url } = await start(shared);
  expect(await ask(url, 'SELECT 1 AS up')).toMatchObject([{ up: 1 }]);
});

test('files that another Postgres is using are left alone', async () => {
  await start(shared);
  await expect(start(shared)).rejects.toThrow(/in use by another Postgres \(process \d+\)/);
});

test('a start that was cut off while making the files leaves nothing that the next one trips over', async () => {
  const folder = path.join(temporaryFolder(), 'postgres');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'half-made'), '');
  const { url } = await start(folder);
  expect(await ask(url, 'SELECT 1 AS up')).toMatchObject([{ up: 1 }]);
});

test('another password than the files were made with is explained', async () => {
  await (await start(shared)).parts.stop();
  await expect(start(shared, 'another')).rejects.toThrow(/another password.*npm run reset/s);
});

test('the service’s role owns its database and is no superuser', async () => {
  const { adminDatabaseUrl } = testStack();
  const [role] = await ask(
    databaseUrl(adminDatabaseUrl, OWNER, OWNER),
    'SELECT rolsuper, rolcreaterole FROM pg_roles WHERE rolname = current_user',
  );
  expect(role).toEqual({ rolsuper: false, rolcreaterole: true });
});

test('the server listens on loopback only and trusts nobody without a password', async () => {
  const { adminDatabaseUrl } = testStack();
  expect(await ask(adminDatabaseUrl, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
  const trusting = await ask(adminDatabaseUrl, `SELECT FROM pg_hba_file_rules WHERE auth_method = 'trust'`);
  expect(trusting).toEqual([]);
});
