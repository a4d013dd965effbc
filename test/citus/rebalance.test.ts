// While organisations are paid in and out of, their shard moves to another node and back, one is isolated, and a worker
// is lost: no answered transfer is lost, none is made twice, and the books are whole.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import type postgres from 'postgres';
import { requireUuid } from '../../src/ids.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { createClient, type TestOrganisation } from '../support/api.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';
import { asClusterAdmin, placeOf } from './cluster.ts';

const run = promisify(execFile);

const CALLERS = 8;
const BALANCE = 1_000_000;
/** Transfers that must be answered before and after what a test does. */
const ENOUGH = 50;

const flows = await startTestFlows();

afterAll(() => flows.close());

const admin = <Result>(work: (sql: postgres.Sql) => Promise<Result>): Promise<Result> =>
  asClusterAdmin(flows.databaseUrl, work);

interface Party {
  organisation: TestOrganisation;
  wallet: string;
}

async function createParty(organisation: TestOrganisation): Promise<Party> {
  const wallet = await flows.createWallet(organisation.test, { balance: BALANCE });
  return { organisation, wallet };
}

interface Load {
  /** Statuses of the answers, and how many there were of each. */
  statuses: Map<number, number>;
  worstMs: number;
  /** Resolves when so many more transfers have been answered with 201, of each party. */
  untilMore: (transfers: number) => Promise<void>;
  stop: () => Promise<void>;
}

/**
 * Callers who transfer one naira after the other from the wallet of a party to its hot settlement wallet. `repeats`: a
 * request that is answered with 503 is sent again with its Idempotency-Key, as callers must.
 */
function startLoad(parties: readonly Party[], { repeats = false } = {}): Load {
  const statuses = new Map<number, number>();
  const made = parties.map(() => 0);
  let isOver = false;
  const load = { statuses, worstMs: 0 };
  const caller = async (index: number): Promise<void> => {
    const { organisation, wallet } = parties[index] as Party;
    const client = createClient(flows.urls.test, organisation.test.key, 'test', repeats);
    while (!isOver) {
      const started = performance.now();
      const { status } = await client.money(
        `/wallets/${wallet}/transfer`,
        { destinationWalletId: organisation.settlementWalletId, amount: 1 },
        randomUUID(),
      );
      load.worstMs = Math.max(load.worstMs, performance.now() - started);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 201) made[index] = (made[index] ?? 0) + 1;
    }
  };
  const callers = Array.from({ length: CALLERS }, (_, number) => caller(number % parties.length));
  // A caller that throws is reported by `stop`; until then it is not an unhandled rejection.
  const over = Promise.all(callers);
  over.catch(() => {});
  return Object.assign(load, {
    untilMore: async (transfers: number) => {
      const goals = made.map((count) => count + transfers);
      await waitFor(`${transfers} more transfers`, () => goals.every((goal, index) => (made[index] ?? 0) >= goal));
    },
    stop: async () => {
      isOver = true;
      await over;
    },
  });
}

/** Transfers of a party: rows, what left its wallet, and what reached its settlement wallet, each in kobo. */
async function movedBy({ organisation, wallet }: Party): Promise<{ rows: number; paid: number; received: number }> {
  const source = requireUuid('wallet', wallet);
  const [row] = await flows.sql<{ rows: number }[]>`
    SELECT count(*)::int AS rows FROM transfers
    WHERE organisation_id = ${organisation.organisationId} AND source_wallet_id = ${source} AND status = 'completed'`;
  return {
    rows: row?.rows ?? 0,
    paid: BALANCE - (await flows.balanceOf(wallet)),
    received: await flows.balanceOf(organisation.settlementWalletId),
  };
}

async function expectWhole(): Promise<void> {
  expect((await verifyBooks(flows.sql)).findings).toEqual([]);
}

/** The statement of a wallet, newest first: each balance follows from the one below it. */
async function expectOrdered({ organisation, wallet }: Party): Promise<void> {
  const { items } = await organisation.test.get(`/wallets/${wallet}/transactions?limit=100`);
  const balances = items.map((line) => Number(line.balanceAfter));
  expect(balances.length).toBeGreaterThan(ENOUGH);
  expect(balances).toEqual(balances.toSorted((one, other) => one - other));
}

test('the shard of an organisation moves to another node and back while it is paid, without an error', async () => {
  const party = await createParty(await flows.createOrganisation());
  const { organisationId } = party.organisation;
  const load = startLoad([party]);
  await load.untilMore(ENOUGH);
  const from = await admin((sql) => placeOf(sql, organisationId));
  for (let moves = 0; moves < 2; moves += 1) {
    await admin(async (sql) => {
      const { shard, node, others } = await placeOf(sql, organisationId);
      await sql`SELECT citus_move_shard_placement(${shard}::bigint, ${node}::int, ${others[0] ?? 0}::int, 'auto')`;
    });
    await load.untilMore(ENOUGH);
  }
  await load.stop();
  expect(await admin((sql) => placeOf(sql, organisationId))).toEqual(from);
  expect([...load.statuses.keys()]).toEqual([201]);
  const moved = await movedBy(party);
  expect(moved).toEqual({ rows: load.statuses.get(201), paid: moved.rows, received: moved.rows });
  await expectOrdered(party);
  await expectWhole();
});

test('an organisation is isolated on a shard of its own while it is paid, without an error', async () => {
  const party = await createParty(await flows.createOrganisation());
  const { organisationId } = party.organisation;
  // A statement of each connection may be refused, because its plan names the shard that was split.
  const load = startLoad([party], { repeats: true });
  await load.untilMore(ENOUGH);
  const shared = await admin((sql) => placeOf(sql, organisationId));
  await admin(async (sql) => {
    await sql`SELECT isolate_tenant_to_new_shard('organisations', ${organisationId}::text, 'CASCADE', 'block_writes')`;
  });
  await load.untilMore(ENOUGH);
  await load.stop();
  const own = await admin((sql) => placeOf(sql, organisationId));
  expect(own.shard).not.toBe(shared.shard);
  expect([...load.statuses.keys()]).toEqual([201]);
  const moved = await movedBy(party);
  expect(moved).toEqual({ rows: load.statuses.get(201), paid: moved.rows, received: moved.rows });
  await expectWhole();
});

const { CITUS_WORKER_STOP: stopWorker, CITUS_WORKER_START: startWorker } = process.env;

// The commands are the operator's: only they know where the processes of a node are.
if (stopWorker !== undefined && startWorker !== undefined) {
  test('while a worker is lost its organisations get 503, the others are served; nothing answered is lost', async () => {
    const parties: Party[] = [];
    const nodes = new Set<number>();
    await waitFor('an organisation on each node', async () => {
      const party = await createParty(await flows.createOrganisation());
      const { node, others } = await admin((sql) => placeOf(sql, party.organisation.organisationId));
      if (!nodes.has(node)) parties.push(party);
      nodes.add(node);
      return nodes.size === others.length + 1;
    });
    const load = startLoad(parties);
    await load.untilMore(ENOUGH);
    await run('sh', ['-c', stopWorker]);
    await waitFor('an error', () => load.statuses.has(503));
    await run('sh', ['-c', startWorker]);
    await load.untilMore(ENOUGH);
    await load.stop();
    expect(new Set(load.statuses.keys())).toEqual(new Set([201, 503]));
    const moved = await Promise.all(parties.map(movedBy));
    for (const { rows, paid, received } of moved) expect([paid, received]).toEqual([rows, rows]);
    const rows = moved.reduce((sum, one) => sum + one.rows, 0);
    const [answered, failed] = [load.statuses.get(201) ?? 0, load.statuses.get(503) ?? 0];
    // A request that was answered with 503 may have been committed: its caller asks again with the same key.
    expect(rows).toBeGreaterThanOrEqual(answered);
    expect(rows).toBeLessThanOrEqual(answered + failed);
    await admin((sql) =>
      waitFor('no prepared transaction to be left', async () => {
        const left = await sql<{ result: string }[]>`
          SELECT result FROM run_command_on_all_nodes('SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()')`;
        return left.every(({ result }) => result === '0');
      }),
    );
    await expectWhole();
  });
}
