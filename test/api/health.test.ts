// Health says whether flows can start, not only whether Temporal's front end answers, and costs nothing when many ask.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { freePort } from '../../dev/freePort.ts';
import { checkFlowsCanStart } from '../../src/temporal/health.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const MAIN = fileURLToPath(new URL('../../src/api/main.ts', import.meta.url));

interface Health {
  status: string;
  checks: Record<string, string>;
}

let api: TestApi;
let connection: Connection;
let temporalAsked = 0;

beforeAll(async () => {
  connection = await Connection.connect({ address: testStack().temporalAddress });
  api = await startTestApi({
    temporalIsUp: async () => {
      temporalAsked += 1;
      await checkFlowsCanStart(connection, 'default', 10_000);
      return true;
    },
  });
});

afterAll(async () => {
  await api.close();
  await connection.close();
});

const healthOf = async (environment: 'test' | 'live' = 'test') =>
  (await api.client(null, environment).get('/health')).data as unknown as Health;

/** What the API process says about its health, with these settings. */
async function healthOfProcess(settings: Record<string, string>): Promise<Record<string, unknown>> {
  const port = await freePort();
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ...process.env,
      DATABASE_URL: api.databaseUrl,
      TEMPORAL_ADDRESS: testStack().temporalAddress,
      MANILLA_KEYS: `test:${Buffer.alloc(32, 7).toString('base64url')}`,
      SANDBOX_PORT: String(port),
      LIVE_PORT: '0',
      ...settings,
    },
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    const answer = await waitFor('the API to answer', () =>
      fetch(`http://127.0.0.1:${port}/v1/health`).then(
        async (response) => (await response.json()) as { data: Record<string, unknown> },
        () => null,
      ),
    );
    return answer.data;
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

test('a Temporal that answers but cannot start flows here is not ok: its namespace is another one', async () => {
  expect(await healthOfProcess({ TEMPORAL_NAMESPACE: 'no-such-namespace' })).toMatchObject({
    status: 'degraded',
    checks: { database: 'ok', temporal: 'unreachable' },
  });
  await expect(checkFlowsCanStart(connection, 'no-such-namespace', 10_000)).rejects.toThrow(/not found/i);
});

test('a Temporal that has the namespace, and whose shards answer, is ok', async () => {
  await checkFlowsCanStart(connection, 'default', 10_000);
  expect(await healthOf('live')).toMatchObject({ status: 'ok', checks: { temporal: 'ok', flows: 'ok' } });
});

// No worker runs here, so nothing takes the messages up.
test.each([
  { what: 'a minute old and not taken up', topic: 'flow', age: '60 s', dueIn: '-60 s', status: 'degraded' },
  {
    what: 'a minute old and put back, because Temporal refused it',
    topic: 'flow',
    age: '60 s',
    dueIn: '15 s',
    status: 'degraded',
  },
  { what: 'a moment old', topic: 'flow', age: '1 s', dueIn: '-1 s', status: 'ok' },
  { what: 'a moment old and leased', topic: 'flow', age: '1 s', dueIn: '60 s', status: 'ok' },
  { what: 'an event for a webhook', topic: 'event', age: '60 s', dueIn: '-60 s', status: 'ok' },
])('an outbox message that is $what makes health $status', async ({ topic, age, dueIn, status }) => {
  await api.sql`
    INSERT INTO outbox (organisation_id, environment, topic, message, available_at, created_at)
    VALUES (${api.organisation.organisationId}, 'test', ${topic}, '{}', now() + ${dueIn}::interval, now() - ${age}::interval)`;
  try {
    // An answer that was found before the message was there may be a second old.
    await waitFor(`health to be ${status}`, async () => {
      const health = await healthOf();
      return health.status === status && health.checks.flows === (status === 'ok' ? 'ok' : 'delayed');
    });
  } finally {
    await api.sql`DELETE FROM outbox`;
    await waitFor('health to be ok again', async () => (await healthOf()).status === 'ok');
  }
});

test('all who ask at the same time share one look, in both environments, and it is not kept for long', async () => {
  await waitFor('a look that is not fresh any more', async () => {
    const before = temporalAsked;
    await healthOf();
    return temporalAsked > before;
  });
  const before = temporalAsked;
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => healthOf(index % 2 === 0 ? 'test' : 'live')),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['ok']));
  // A hundred looks without it; more than one only where the answers take longer than a look is fresh.
  expect(temporalAsked - before).toBeLessThan(50);
  await waitFor('another look', async () => {
    await healthOf();
    return temporalAsked > before;
  });
});
