// Database and rail outages under the API: a response within seconds, no partial effect, and the same request succeeds
// later.
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { startTcpProxy, type TcpProxy } from '../../dev/chaos/tcpProxy.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import { Rails } from '../../src/rail/rails.ts';
import { type Answer, startTestApi, type TestApi, type TestApiOptions } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';
import { createDatabase } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

/** Part of the business key of a transfer's movement; only the statement that moves its money contains it. */
const MOVEMENT = '_trf/transfer';

// The tests mostly wait for timeouts, so they run concurrently, each with its own API and database. A timeout is shown
// without a stopwatch: the dependency stays unavailable until the response arrives, so without the timeout there is no
// response.

interface Outage {
  api: TestApi;
  proxy: TcpProxy;
}

const closers: (() => Promise<void>)[] = [];

afterAll(() => Promise.all(closers.map((end) => end())));

/** An API that reaches its database through a proxy. On close, the proxy is healed and the API must recover. */
async function open(options: TestApiOptions = {}): Promise<Outage> {
  const database = await createDatabase();
  const proxy = await startTcpProxy(database.url);
  const api = await startTestApi({ databaseUrl: database.url, databaseUrlOfApi: proxy.url, ...options });
  closers.push(async () => {
    proxy.heal();
    await waitFor('the API to reach its database', async () => (await api.test.get('/health')).status === 200);
    await api.close();
    await proxy.close();
    await database.drop();
  });
  return { api, proxy };
}

interface PreparedTransfer {
  api: TestApi;
  source: string;
  destination: string;
  send: () => Promise<Answer>;
}

async function prepareTransfer(api: TestApi): Promise<PreparedTransfer> {
  const [source, destination] = [await api.createWallet(api.test, { balance: 500 }), await api.createWallet()];
  const key = randomUUID();
  const body = { destinationWalletId: destination, amount: 200 };
  return { api, source, destination, send: () => api.test.money(`/wallets/${source}/transfer`, body, key) };
}

async function expectOneTransfer({ api, source, destination }: PreparedTransfer): Promise<void> {
  expect([await api.balanceOf(source), await api.balanceOf(destination)]).toEqual([300, 200]);
}

/** How the database becomes unavailable: it refuses connections, or accepts data without responding. */
const OUTAGES = ['refuse', 'swallow'] as const;

const SERVICE_UNAVAILABLE = {
  type: 'internal_error',
  code: 'SERVICE_UNAVAILABLE',
  details: { retryable: true, service: 'database' },
};

const health = (api: TestApi) => api.client(null).get('/health');

/** Waits for this health status: on a busy machine a check may time out, and health then reports a partial result. */
const healthThat = (api: TestApi, expected: string): Promise<Answer> =>
  waitFor(`health to be ${expected}`, async () => {
    const answer = await health(api);
    return answer.status === 200 && answer.data.status === expected && answer;
  });

test.concurrent('health is 200 ok and reports the state of each dependency', async () => {
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

test.concurrent.each<[string, () => Promise<'ok'>]>([
  ['refuses', () => Promise.reject(new Error('no connection'))],
  ['hangs', () => new Promise(() => {})],
])('health is 200 degraded when Temporal %s', async (_how, isUp) => {
  const { api } = await open({ temporalStatus: isUp });
  const { data } = await healthThat(api, 'degraded');
  expect(data.checks).toMatchObject({ database: 'ok', temporal: 'unreachable' });
});

test.concurrent.each(OUTAGES)('health is 503 when the database is unavailable (%s)', async (how) => {
  const { api, proxy } = await open();
  proxy[how]();
  const answer = await health(api);
  expect([answer.status, answer.error]).toEqual([503, expect.objectContaining(SERVICE_UNAVAILABLE)]);
});

test.concurrent('health reports a hanging database before other requests time out', async () => {
  const { api, proxy } = await open();
  proxy.swallow();
  const completed: string[] = [];
  const read = api.test.get('/wallets').then(() => completed.push('read'));
  await Promise.all([read, health(api).then(() => completed.push('health'))]);
  expect(completed).toEqual(['health', 'read']);
});

test.concurrent.each(OUTAGES)(
  'when the database is unavailable (%s), a movement is 503 without effect, and the same request later moves the money once',
  async (how) => {
    const { api, proxy } = await open();
    const attempt = await prepareTransfer(api);
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

test.concurrent.each(OUTAGES)('when the database is unavailable (%s), a read is 503', async (how) => {
  const { api, proxy } = await open();
  proxy[how]();
  const result = await api.test.get('/wallets');
  expect([result.status, result.error]).toEqual([503, expect.objectContaining(SERVICE_UNAVAILABLE)]);
});

test.concurrent('when a hanging database accepts new connections again, the hung connections time out and every request gets a response', async () => {
  const { api, proxy } = await open();
  const attempt = await prepareTransfer(api);
  const [read, post] = [() => api.test.get('/wallets'), () => attempt.send()];
  proxy.swallow();
  const failed = await Promise.all([post(), ...Array.from({ length: 20 }, read)]);
  expect(new Set(failed.map(({ status }) => status))).toEqual(new Set([503]));
  proxy.healForNew();
  expect((await waitFor('the money to move', async () => (await post()).status === 201 && post())).status).toBe(201);
  await expectOneTransfer(attempt);
  // Every connection of the pool responds: each hung connection is closed after its stall timeout.
  await waitFor('every connection to answer', async () =>
    (await Promise.all(Array.from({ length: 40 }, read))).every(({ status }) => status === 200),
  );
});

test.concurrent('when the database closes every connection, the API limits its rate of reconnecting', async () => {
  const { api, proxy } = await open();
  proxy.refuse();
  const before = proxy.connections();
  for (let count = 0; count < 10; count += 1) expect((await api.test.get('/wallets')).status).toBe(503);
  expect(proxy.connections() - before).toBeLessThan(100);
});

const timeouts: [string, TestApiOptions, number, string, string][] = [
  ['a rail that hangs', { rails: hangingRails }, 504, 'BANK_RAIL_TIMEOUT', 'bank_rail'],
  ['a database that hangs', {}, 503, 'SERVICE_UNAVAILABLE', 'database'],
];

test.concurrent.each(timeouts)(
  'a request that times out reports the dependency it waited for: %s',
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
        expectError(result, status, code, { retryable: true, service });
      }
    } finally {
      proxy.heal();
      await other.close();
    }
  },
);

/** A test rail whose calls never return. */
function hangingRails(rails: Rails): Rails {
  const never = () => new Promise<never>(() => {});
  const rail = rails.shared('test');
  if (rail === null) throw new Error('no rail');
  const hanging = Object.assign(Object.create(rail), {
    openVirtualAccount: never,
    banks: never,
    resolveAccount: never,
  });
  return new Rails({ test: guardedRail(hanging) });
}

test.concurrent('when the connection is lost after the commit and before the reply, the response is 201 and the money moves once', async () => {
  const { api, proxy } = await open();
  const attempt = await prepareTransfer(api);
  const lost = proxy.loseReplyTo(MOVEMENT);
  const answer = await attempt.send();
  await lost;
  expect(answer.status).toBe(201);
  await expectOneTransfer(attempt);
  expect((await attempt.send()).data).toEqual(answer.data);
});

test.concurrent('when the database becomes unavailable right after the commit, the response is 503 and the same key later replays 201', async () => {
  const { api, proxy } = await open();
  const attempt = await prepareTransfer(api);
  const lost = proxy.loseReplyTo(MOVEMENT);
  const sending = attempt.send();
  await lost;
  proxy.refuse();
  const answer = await sending;
  expectError(answer, 503, 'SERVICE_UNAVAILABLE');
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
  'a refusal that may not be stored (%s) is 503, and the same key later has the durable outcome',
  async (lose) => {
    const { api, proxy } = await open();
    const attempt = await prepareTransfer(api);
    await api.setWalletStatus(attempt.source, 'frozen');
    // The statement that stores the refusal contains its code.
    const lost = proxy[lose]('WALLET_FROZEN');
    const answer = await attempt.send();
    await lost;
    expect([answer.status, answer.error]).toEqual([503, expect.objectContaining(SERVICE_UNAVAILABLE)]);
    await api.setWalletStatus(attempt.source, 'active');
    const again = await attempt.send();
    const wasStored = lose === 'loseReplyTo';
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual(wasStored ? [422, 'true'] : [201, null]);
    expect(await api.balanceOf(attempt.source)).toBe(wasStored ? 500 : 300);
  },
);

test.concurrent('a serialization failure is 503: nothing was written, and the request may be sent again', async () => {
  const { api } = await open();
  await api.sql`
    CREATE FUNCTION public.contend() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = 'serialization_failure'; END $$`;
  await api.sql`CREATE TRIGGER contend BEFORE INSERT ON wallets FOR EACH ROW EXECUTE FUNCTION public.contend()`;
  const create = () => api.test.post('/wallets', { email: 'obi@test.example', fullName: 'Obi' });
  expect(await create()).toMatchObject({ status: 503, error: SERVICE_UNAVAILABLE });
  await api.sql`DROP TRIGGER contend ON wallets`;
  expect((await create()).status).toBe(201);
});
