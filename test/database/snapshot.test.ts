// Reading several statements on one snapshot, also when the connection is lost in between.
import { afterAll, expect, test } from '@jest/globals';
import { startTcpProxy } from '../../dev/chaos/tcpProxy.ts';
import { connect } from '../../src/database/pool.ts';
import { Snapshots } from '../../src/database/snapshot.ts';
import { createDatabase } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const database = await createDatabase();
const proxy = await startTcpProxy(database.url);
const sql = connect(proxy.url, { connectionsMax: 2 });
const snapshots = new Snapshots(sql);

afterAll(async () => {
  await snapshots.end();
  await sql.end();
  await proxy.close();
  await database.drop();
});

test('every statement sees the same snapshot, which cannot write', async () => {
  const times = await snapshots.read(async (snapshot) => [
    await snapshot`SELECT now(), txid_current_if_assigned()`,
    await snapshot`SELECT now(), txid_current_if_assigned()`,
  ]);
  expect(times[0]).toEqual(times[1]);
  await expect(snapshots.read((snapshot) => snapshot`CREATE TEMPORARY TABLE t ()`)).rejects.toThrow(/read-only/);
});

test('the next read is on another snapshot, on the same connection', async () => {
  const read = () =>
    snapshots.read(async (snapshot) => {
      const [row] = await snapshot<
        { pid: number; begun: string }[]
      >`SELECT pg_backend_pid() AS pid, now()::text AS begun`;
      return row;
    });
  const [first, second] = [await read(), await read()];
  expect(second?.pid).toBe(first?.pid);
  expect(second?.begun).not.toBe(first?.begun);
});

test('a statement that fails leaves a pool that works', async () => {
  await expect(snapshots.read((snapshot) => snapshot`SELECT 1 / 0`)).rejects.toThrow(/division by zero/);
  expect(await snapshots.read((snapshot) => snapshot`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
});

test('only the first connection of a pool asks for the array types, on which a lost connection ends the process', async () => {
  const pool = connect(proxy.url, { connectionsMax: 1, closeWhenStalled: true });
  expect(await pool`SELECT ARRAY[1, 2] AS numbers`).toEqual([{ numbers: [1, 2] }]);
  const connections = proxy.connections();
  let asked = false;
  void proxy.loseReplyTo('typarray').then(() => {
    asked = true;
  });
  proxy.refuse();
  proxy.heal();
  const again = await waitFor('another connection', () => pool`SELECT ARRAY[3] AS numbers`.catch(() => null));
  expect(again).toEqual([{ numbers: [3] }]);
  const alone = new Snapshots(pool);
  expect(await alone.read((snapshot) => snapshot`SELECT ARRAY[4] AS numbers`)).toEqual([{ numbers: [4] }]);
  expect(proxy.connections()).toBeGreaterThan(connections + 1);
  expect(asked).toBe(false);
  await alone.end();
  await pool.end();
});

test.each(['before', 'after'])(
  'a connection that is lost %s a statement fails the read, and the process goes on',
  async (when) => {
    const read = snapshots.read(async (snapshot) => {
      await snapshot`SELECT 1`;
      const lost = when === 'before' ? proxy.loseRequest('lost here') : proxy.loseReplyTo('lost here');
      const first = snapshot`SELECT 'lost here'`.catch((error: unknown) => error);
      await Promise.all([lost, first]);
      // As a check does that reads on after a failure.
      return await snapshot`SELECT 2`;
    });
    await expect(read).rejects.toThrow(/connection to the database was lost/);
    expect(await snapshots.read((snapshot) => snapshot`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
  },
);
