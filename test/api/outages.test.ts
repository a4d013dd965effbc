// The database going away under the API: an answer within seconds, nothing half done, and the same request again works.
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { measuredRail } from '../../src/rail/measuredRail.ts';
import { Rails } from '../../src/rail/rails.ts';
import { type Answer, startTestApi, type TestApi, type TestApiOptions } from '../support/api.ts';
import { createDatabase } from '../support/stack.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcpProxy.ts';
import { until } from '../support/until.ts';

/** What the statement that moves a transfer's money contains, and no other: its business key. */
const MOVEMENT = '_trf/transfer';

// Health gives its checks 1.5 s and a request has 8 s; the rest is for a machine that is busy with something else.
const HEALTH_SECONDS_MAX = 4;
const ANSWER_SECONDS_MAX = 15;

// The tests wait for limits to pass and do little, so they run at the same time, each with an API and a database of its own.

interface Outage {
  api: TestApi;
  proxy: TcpProxy;
}

const opened: (() => Promise<void>)[] = [];

afterAll(async () => {
  await Promise.all(opened.map((end) => end()));
});

/** An API that reaches its database through a proxy. Whatever happened to it, it reaches its database in the end. */
async function open(options: TestApiOptions = {}): Promise<Outage> {
  const database = await createDatabase();
  const proxy = await startTcpProxy(database.url);
  const api = await startTestApi({ databaseUrl: database.url, databaseUrlOfApi: proxy.url, ...options });
  opened.push(async () => {
    proxy.heal();
    await until('the API to reach its database', async () => (await api.test.get('/health')).status === 200);
    await api.close();
    await proxy.close();
    await database.drop();
  });
  return { api, proxy };
}

interface Attempt {
  api: TestApi;
  source: string;
  destination: string;
  send: () => Promise<Answer>;
}

async function attemptTransfer(api: TestApi): Promise<Attempt> {
  const [source, destination] = [await api.createWallet(api.test, { balance: 500 }), await api.createWallet()];
  const key = randomUUID();
  const body = { destinationWalletId: destination, amount: 200 };
  return { api, source, destination, send: () => api.test.money(`/wallets/${source}/transfer`, body, key) };
}

async function expectOneTransfer({ api, source, destination }: Attempt): Promise<void> {
  expect([await api.balanceOf(source), await api.balanceOf(destination)]).toEqual([300, 200]);
}

async function timed<Result>(work: Promise<Result>): Promise<{ result: Result; seconds: number }> {
  const started = performance.now();
  const result = await work;
  return { result, seconds: (performance.now() - started) / 1000 };
}

/** How a database goes: it refuses connections, or swallows what it is sent. */
const GONE = ['refuse', 'swallow'] as const;

const SERVICE_UNAVAILABLE = {
  type: 'internal_error',
  code: 'SERVICE_UNAVAILABLE',
  details: { retryable: true, service: 'database' },
};

const health = (api: TestApi) => timed(api.client(null).get('/health'));

test.concurrent('health: 200 ok, with the state of each part', async () => {
  const { api } = await open();
  const { result } = await health(api);
  expect(result.data).toEqual({
    status: 'ok',
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    environment: 'test',
    checks: { database: 'ok', temporal: 'ok', flows: 'ok', rail: 'sandbox' },
  });
  const live = await api.client(null, 'live').get('/health');
  expect(live.data).toMatchObject({ environment: 'live', checks: { rail: 'none' } });
});

test.concurrent.each<[string, () => Promise<boolean>]>([
  ['refuses', () => Promise.reject(new Error('no connection'))],
  ['hangs', () => new Promise(() => {})],
])('health: 200 degraded when Temporal %s', async (_how, isUp) => {
  const { api } = await open({ temporalIsUp: isUp });
  const { result, seconds } = await health(api);
  expect([result.status, result.data.status]).toEqual([200, 'degraded']);
  expect(result.data.checks).toMatchObject({ database: 'ok', temporal: 'unreachable' });
  expect(seconds).toBeLessThan(HEALTH_SECONDS_MAX);
});

test.concurrent.each(GONE)('health: 503 within two seconds when the database is gone (%s)', async (how) => {
  const { api, proxy } = await open();
  proxy[how]();
  const { result, seconds } = await health(api);
  expect([result.status, result.error]).toEqual([503, expect.objectContaining(SERVICE_UNAVAILABLE)]);
  expect(seconds).toBeLessThan(HEALTH_SECONDS_MAX);
});

test.concurrent.each(GONE)(
  'a database that is gone (%s): a movement answers 503 within seconds and leaves nothing; the same request later moves the money once',
  async (how) => {
    const { api, proxy } = await open();
    const attempt = await attemptTransfer(api);
    proxy[how]();
    const { result, seconds } = await timed(attempt.send());
    expect([result.status, result.error]).toEqual([503, expect.objectContaining(SERVICE_UNAVAILABLE)]);
    expect(seconds).toBeLessThan(ANSWER_SECONDS_MAX);
    expect(await api.balanceOf(attempt.source)).toBe(500);
    proxy.heal();
    const again = await until('the money to move', async () => {
      const answer = await attempt.send();
      return answer.status === 201 && answer;
    });
    expect(again.status).toBe(201);
    await expectOneTransfer(attempt);
  },
);

test.concurrent.each(GONE)('a database that is gone (%s): a read answers 503 within seconds', async (how) => {
  const { api, proxy } = await open();
  proxy[how]();
  const { result, seconds } = await timed(api.test.get('/wallets'));
  expect([result.status, result.error]).toEqual([503, expect.objectContaining(SERVICE_UNAVAILABLE)]);
  expect(seconds).toBeLessThan(ANSWER_SECONDS_MAX);
});

test.concurrent('a database that hung: and takes new connections again: the old ones are given up, and every request is answered within seconds', async () => {
  const { api, proxy } = await open();
  const attempt = await attemptTransfer(api);
  const [read, post] = [() => api.test.get('/wallets'), () => attempt.send()];
  proxy.swallow();
  const hung = await timed(Promise.all([post(), ...Array.from({ length: 20 }, read)]));
  expect(new Set(hung.result.map(({ status }) => status))).toEqual(new Set([503]));
  expect(hung.seconds).toBeLessThan(ANSWER_SECONDS_MAX);
  proxy.healForNew();
  const { seconds } = await timed(until('a read', async () => (await read()).status === 200));
  expect(seconds).toBeLessThan(ANSWER_SECONDS_MAX);
  expect((await until('the money to move', async () => (await post()).status === 201 && post())).status).toBe(201);
  await expectOneTransfer(attempt);
  const answers = await Promise.all(Array.from({ length: 40 }, read)); // on every connection of the pool
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

test.concurrent('a database that hung: and hangs up on every connection is asked again now and then, and not as fast as it can', async () => {
  const { api, proxy } = await open();
  proxy.refuse();
  const before = proxy.connections();
  for (let count = 0; count < 10; count += 1) expect((await api.test.get('/wallets')).status).toBe(503);
  expect(proxy.connections() - before).toBeLessThan(100);
});

const inVain: [string, TestApiOptions, number, string, string][] = [
  ['a rail that hangs', { rails: hangingRails }, 504, 'BANK_RAIL_TIMEOUT', 'bank_rail'],
  ['a database that hangs', {}, 503, 'SERVICE_UNAVAILABLE', 'database'],
];

test.concurrent.each(inVain)(
  'what a request waited for in vain is what its caller is told: %s',
  async (_what, options, status, code, service) => {
    const { api, proxy } = await open();
    const other = await startTestApi({ databaseUrl: api.databaseUrl, databaseUrlOfApi: proxy.url, ...options });
    try {
      const client = other.client(api.test.key);
      const wallet = await api.createWallet();
      expect((await client.get(`/wallets/${wallet}`)).status).toBe(200);
      if (service === 'database') proxy.swallow();
      const payment = { method: 'bank_transfer', baseAmount: 10_000, targetWalletId: wallet };
      for (const { result, seconds } of await Promise.all([
        timed(client.money('/payments', payment)),
        timed(client.get('/bank-accounts/resolve?accountNumber=0123456789&bankCode=058')),
      ])) {
        expect([result.status, result.error.type, result.error.code, result.error.details]).toEqual([
          status,
          'internal_error',
          code,
          { retryable: true, service },
        ]);
        expect(seconds).toBeLessThan(ANSWER_SECONDS_MAX);
      }
    } finally {
      proxy.heal();
      await other.close();
    }
  },
);

/** A test rail that takes every question and answers none. */
function hangingRails(rails: Rails): Rails {
  const never = () => new Promise<never>(() => {});
  const rail = rails.of('test');
  if (rail === null) throw new Error('no rail');
  const hanging = Object.assign(Object.create(rail), {
    openVirtualAccount: never,
    banks: never,
    resolveAccount: never,
  });
  return new Rails({ test: measuredRail(hanging) });
}

test.concurrent('a connection lost around the statement that moves the money, after the commit, before the answer: 201, and once', async () => {
  const { api, proxy } = await open();
  const attempt = await attemptTransfer(api);
  const lost = proxy.loseReplyTo(MOVEMENT);
  const answer = await attempt.send();
  await lost;
  expect(answer.status).toBe(201);
  await expectOneTransfer(attempt);
  expect((await attempt.send()).data).toEqual(answer.data);
});

test.concurrent('a connection lost around the statement that moves the money, before the statement: 201, and once', async () => {
  const { api, proxy } = await open();
  const attempt = await attemptTransfer(api);
  const lost = proxy.loseRequest(MOVEMENT);
  const answer = await attempt.send();
  await lost;
  expect(answer.status).toBe(201);
  await expectOneTransfer(attempt);
});

test.concurrent('a connection lost around the statement that moves the money, the database goes for good right after the commit: 503, and the same key tells the truth later', async () => {
  const { api, proxy } = await open();
  const attempt = await attemptTransfer(api);
  const lost = proxy.loseReplyTo(MOVEMENT);
  const sending = attempt.send();
  await lost;
  proxy.refuse();
  const answer = await sending;
  expect([answer.status, answer.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
  await expectOneTransfer(attempt);
  proxy.heal();
  const again = await until('the outcome', async () => {
    const replay = await attempt.send();
    return replay.status !== 503 && replay;
  });
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
  await expectOneTransfer(attempt);
});

test.concurrent.each(['loseRequest', 'loseReplyTo'] as const)(
  'a refusal that may not be on disk is not told (%s): 503, and the same key tells the truth later',
  async (lose) => {
    const { api, proxy } = await open();
    const attempt = await attemptTransfer(api);
    await api.sql`UPDATE ledger.accounts SET status = 'frozen' WHERE code = ${`wallet:${attempt.source}`}`;
    const lost = proxy[lose]('WALLET_FROZEN'); // the statement that stores the refusal
    const answer = await attempt.send();
    await lost;
    expect([answer.status, answer.error]).toEqual([503, expect.objectContaining(SERVICE_UNAVAILABLE)]);
    await api.sql`UPDATE ledger.accounts SET status = 'active' WHERE code = ${`wallet:${attempt.source}`}`;
    const again = await attempt.send();
    const wasStored = lose === 'loseReplyTo';
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual(wasStored ? [422, 'true'] : [201, null]);
    expect(await api.balanceOf(attempt.source)).toBe(wasStored ? 500 : 300);
  },
);

test.concurrent('a connection lost around the statement that moves the money, the backend is ended in the middle of the statement: 201, and once', async () => {
  const { api } = await open();
  const attempt = await attemptTransfer(api);
  // Hold the source's row, so that the statement waits inside ledger.post; then end its backend.
  const held = api.sql.reserve();
  const holder = await held;
  try {
    await holder`BEGIN`;
    await holder`SELECT FROM ledger.accounts WHERE code = ${`wallet:${attempt.source}`} FOR UPDATE`;
    const sending = attempt.send();
    const ended = await until('the statement to wait', async () => {
      const [row] = await api.sql<{ ended: boolean }[]>`
        SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%ledger.post%'`;
      return row?.ended;
    });
    expect(ended).toBe(true);
    await holder`ROLLBACK`;
    expect((await sending).status).toBe(201);
  } finally {
    holder.release();
  }
  await expectOneTransfer(attempt);
});
