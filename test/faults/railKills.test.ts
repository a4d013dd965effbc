// A worker is killed between a provider's acceptance of a transfer and our record of it, on live, with the contract of
// an organisation: another worker continues, and the transfer is paid once. Worker and provider are processes and
// servers of their own; the API and the worker share nothing but the database.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MonnifyFake } from '../../dev/monnify/fake.ts';
import { publicId } from '../../src/ids.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { runCli } from '../cli/run.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { waitFor } from '../support/waitFor.ts';

const WORKER = fileURLToPath(new URL('../../src/worker/main.ts', import.meta.url));
const KEYS = `test:${Buffer.alloc(32, 7).toString('base64url')}`;
const SEND = 'POST /api/v2/disbursements/single';
const AMOUNT = 100_000;
const HELD = 103_000;
const LIMIT_MS = 300_000;

let api: TestApi;
let fake: MonnifyFake;
let workers: ChildProcess[] = [];

beforeAll(async () => {
  api = await startTestApi();
  fake = await new MonnifyFake().start();
  const { organisationId } = api.organisation;
  const owner = ['--organisation', publicId('organisation', organisationId)];
  const words = ['rail', 'connect', 'monnify', '--environment', 'live', '--reason', 'test', '--json', ...owner];
  const more = { MANILLA_KEYS: KEYS, RAIL_CREDENTIALS: JSON.stringify(fake.credentials) };
  const { output, errors } = await runCli(words, { databaseUrl: api.databaseUrl, home: tmpdir(), more });
  if (errors !== '') throw new Error(errors);
  const { callbackPath } = JSON.parse(output) as { callbackPath: string };
  fake.callbackUrl = `${new URL(api.urls.live).origin}${callbackPath}`;
}, LIMIT_MS);

afterAll(async () => {
  await Promise.all(workers.map(kill));
  const { findings } = await verifyBooks(api.sql);
  await api.close();
  await fake.close();
  expect([findings, fake.complaints]).toEqual([[], []]);
});

function startWorker(): ChildProcess {
  const { config } = api.dependencies;
  const worker = spawn(process.execPath, [WORKER], {
    stdio: 'ignore',
    env: {
      ...process.env,
      DATABASE_URL: config.databaseUrl,
      DATABASE_CONNECTIONS_MAX: '4',
      TEMPORAL_ADDRESS: config.temporal.address,
      TEMPORAL_TASK_QUEUE: config.temporal.taskQueue,
      MANILLA_KEYS: KEYS,
      WORKER_ROLES: 'flows,relay',
      SCHEDULES: 'off',
    },
  });
  workers.push(worker);
  return worker;
}

async function kill(worker: ChildProcess): Promise<void> {
  workers = workers.filter((other) => other !== worker);
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const exited = once(worker, 'exit');
  worker.kill('SIGKILL');
  await exited;
}

test(
  'a worker that is killed after the provider accepted a transfer, and before it knows, pays it once',
  async () => {
    const { live } = api;
    const walletId = await api.createWallet(live, { balance: HELD });
    fake.break(SEND, 'hang', { acts: true });
    const body = { amount: AMOUNT, accountNumber: '1700000001', bankCode: '058' };
    const { data, status } = await live.money(`/wallets/${walletId}/withdraw`, body);
    expect(status).toBe(201);
    const first = startWorker();
    await waitFor('the provider to have accepted the transfer', () => fake.book.transfers.has(data.id), LIMIT_MS);
    await kill(first);
    await fake.end(data.id, 'SUCCESS');
    startWorker();
    await waitFor(
      'the withdrawal to be completed',
      async () => (await live.get(`/withdrawals/${data.id}`)).data.status === 'completed',
      LIMIT_MS,
    );
    const sends = fake.requests.filter((route) => route === SEND).length;
    expect([fake.transfer(data.id).timesPaid, sends, await api.balanceOf(walletId)]).toEqual([1, 1, 0]);
    expect(fake.book.transfers.size).toBe(1);
  },
  LIMIT_MS,
);
