// The database going away under the API: an answer within seconds, nothing half done, and the same request again works.
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { instrumentedRail } from '../../src/rail/instrumented.ts';
import { Rails } from '../../src/rail/rails.ts';
import { type Answer, startTestApi, type TestApi, type TestApiOptions } from '../support/api.ts';
import { createDatabase } from '../support/stack.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';

/** What the statement that moves a transfer's money contains, and no other: its business key. */
const MOVEMENT = '_trf/transfer';

// The tests wait for limits to pass and do little, so they run at the same time, each with an API and a database of its own. No
// stopwatch is needed to show a limit: what is waited for stays away until the answer is there, so without a limit there is none.

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
    await waitFor('the API to reach its database', async () => (await api.test.get('/health')).status === 200);
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

/** How a database goes: it refuses connections, or swallows what it is sent. */
const GONE = ['refuse', 'swallow'] as const;

const SERVICE_UNAVAILABLE = {
  type: 'internal_error',
  code: 'SERVICE_UNAVAILABLE',
  details: { retryable: true, service: 'database' },
};

const health = (api: TestApi) => api.client(null).get('/health');

/** Health with this status: on a busy machine a check may be late, and health says then what it could find out. */
const healthThat = (api: TestApi, wanted: string): Promise<Answer> =>
  waitFor(`health to be ${wanted}`, async () => {
    const answer = await health(api);
    return answer.status === 200 && answer.data.status === wanted && answer;
  });

test.concurrent('health: 200 ok, with the state of each part', async () => {
  const { api } = await open();
  expect((await healthThat(api, 'ok')).data).toEqual({
    status: 'ok',
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    environment: 'test',
    checks: { database: 'ok', temporal: 'ok', flows: 'ok', rail: 'sandbox' },
  });
  const live = await waitFor('health of the live host', async () => {
    const answer = await api.client(null, 'live').get('/health');
    return answer.status === 200 && answer;
  });
  expect(live.data).toMatchObject({ environment: 'live', checks: { rail: 'none' } });
});

test.concurrent.each<[string, () => Promise<boolean>]>([
  ['refuses', () => Promise.reject(new Error('no connection'))],
  ['hangs', () => new Promise(() => {})],
])('health: 200 degraded when Temporal %s', async (_how, isUp) => {
  const { api } = await open({ temporalIsUp: isUp });
  const { data } = await healthThat(api, 'degraded');
  expect(data.checks).toMatchObject({ database: 'ok', temporal: 'unreachable' });
});

test.concurrent.each(GONE)('health: 503 when the database is gone (%s)', async (how) => {
  const { api, proxy } = await open();
  proxy[how]();
  const answer = await health(api);
  expect([answer.status, answer.error]).toEqual([503, expect.objectContaining(SERVICE_UNAVAILABLE)]);
});

test.concurrent('health: says that the database hangs before a request that waits for it is given up', async () => {
  const { api, proxy } = await open();
  proxy.swallow();
  const answered: string[] = [];
  const read = api.test.get('/wallets').then(() => answered.push('read'));
  await Promise.all([read, health(api).then(() => answered.push('health'))]);
  expect(answered).toEqual(['health', 'read']);
});

test.concurrent.each(GONE)(
  'a database that is gone (%s): a movement answers 503 and leaves nothing; the same request later moves the money once',
  async (how) => {
    const { api, proxy } = await open();
    const attempt = await attemptTransfer(api);
    proxy[how]();
    const result = await attempt.send();
    expect([result.status, result.error]).toEqual([503, expect.objectContaining(SERVICE_UNAVAILABLE)]);
    expect(await api.balanceOf(attempt.source)).toBe(500);
    proxy.heal();
    const again = await waitFor('the money to move', async () => {
      const answer = await attempt.send();
      return answer.status === 201 && answer;
    });
    expect(again.status).toBe(201);
    await expectOneTransfer(attempt);
  },
);

test.concurrent.each(GONE)('a database that is gone (%s): a read answers 503', async (how) => {
  const { api, proxy } = await open();
  proxy[how]();
  const result = await api.test.get('/wallets');
  expect([result.status, result.error]).toEqual([503, expect.objectContaining(SERVICE_UNAVAILABLE)]);
});

test.concurrent('a database that hung: and takes new connections again: the old ones are given up, and every request is answered', async () => {
  const { api, proxy } = await open();
  const attempt = await attemptTransfer(api);
  const [read, post] = [() => api.test.get('/wallets'), () => attempt.send()];
  proxy.swallow();
  const hung = await Promise.all([post(), ...Array.from({ length: 20 }, read)]);
  expect(new Set(hung.map(({ status }) => status))).toEqual(new Set([503]));
  proxy.healForNew();
  expect((await waitFor('the money to move', async () => (await post()).status === 201 && post())).status).toBe(201);
  await expectOneTransfer(attempt);
  // On every connection of the pool: each of the old ones is given up when it has been silent for its time.
  await waitFor('every connection to answer', async () =>
    (await Promise.all(Array.from({ length: 40 }, read))).every(({ status }) => status === 200),
  );
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
      for (const result of await Promise.all([
        client.money('/payments', payment),
        client.get('/bank-accounts/resolve?accountNumber=0123456789&bankCode=058'),
      ])) {
        expect([result.status, result.error.type, result.error.code, result.error.details]).toEqual([
          status,
          'internal_error',
          code,
          { retryable: true, service },
        ]);
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
  return new Rails({ test: instrumentedRail(hanging) });
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
  const again = await waitFor('the outcome', async () => {
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
    const ended = await waitFor('the statement to wait', async () => {
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
