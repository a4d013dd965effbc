// A response, including a refusal, survives a crash of Postgres: a repeat with the same Idempotency-Key returns the
// same response and moves no money, even if the request would succeed by then.
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startPostgres } from '../../dev/postgres.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { migrate } from '../../src/database/migrate.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';
import { administer } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

/** Initialising a database cluster takes seconds on a slow disk. */
const LIMIT_MS = 180_000;

let parts: Supervisor;
let api: TestApi;
/** Kills Postgres with SIGKILL, as a machine failure would, and restarts it on the same port. */
let crash: () => Promise<void>;

beforeAll(async () => {
  const folder = path.join(temporaryFolder(), 'postgres');
  let pid = 0;
  parts = new Supervisor({
    logFolder: path.join(path.dirname(folder), 'logs'),
    say: () => {},
    onChange: (running) => {
      pid = running[0]?.pid ?? 0;
    },
  });
  const start = (portPreferred?: number) =>
    startPostgres(parts, { folder, password: 'secret', durability: 'durable', portPreferred });
  const server = await start();
  // Asynchronous commits stay unwritten until the next synchronous one: the WAL writer runs only every ten seconds.
  await administer(server.adminUrl, `ALTER SYSTEM SET wal_writer_delay = '10s'`);
  await administer(server.adminUrl, 'SELECT pg_reload_conf()');
  await migrate(server.ownerUrl);
  api = await startTestApi({ databaseUrl: server.url, ownerDatabaseUrl: server.ownerUrl });
  crash = async () => {
    process.kill(pid, 'SIGKILL');
    await waitFor('Postgres to exit', () => pid === 0);
    if ((await start(server.port)).port !== server.port) throw new Error('its port was taken in the meantime');
  };
}, LIMIT_MS);

afterAll(async () => {
  await api.close();
  await parts.stop();
}, LIMIT_MS);

test(
  'a 422 response is replayed after a crash of Postgres and moves no money',
  async () => {
    const [source, destinationWalletId] = [await api.createWallet(), await api.createWallet()];
    const key = randomUUID();
    const send = () => api.test.money(`/wallets/${source}/transfer`, { amount: 10, destinationWalletId }, key);
    const first = await send();
    await crash();
    expectError(first, 422, 'WALLET_INSUFFICIENT_FUNDS');
    await waitFor('the API to reach its database', async () => (await api.test.get('/wallets')).status === 200);
    await api.fund(api.organisation.organisationId, source, 1_000);
    const again = await send();
    expect([again.status, again.headers.get('idempotent-replayed'), again.error]).toEqual([422, 'true', first.error]);
    expect(await api.balanceOf(source)).toBe(1_000);
  },
  LIMIT_MS,
);
