// Health reports whether flows can start, not only whether Temporal's frontend responds, and shares its checks between
// callers.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { freePort } from '../../dev/freePort.ts';
import { requireFlowsCanStart } from '../../src/temporal/namespace.ts';
import { readResponse, startTestApi } from '../support/api.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const MAIN = fileURLToPath(new URL('../../src/api/main.ts', import.meta.url));

interface Health {
  status: string;
  checks: Record<string, string>;
}

let temporalChecks = 0;

const connection = await Connection.connect({ address: testStack().temporalAddress });
const api = await startTestApi({
  temporalStatus: async () => {
    temporalChecks += 1;
    await requireFlowsCanStart(connection, 'default', 10_000);
    return 'ok';
  },
});

afterAll(async () => {
  await api.close();
  await connection.close();
});

const healthOf = async (environment: 'test' | 'live' = 'test') =>
  (await api.client(null, environment).get('/health')).data as unknown as Health;

/** The health response of an API process with these settings. */
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
  const exited = new Promise((resolve) => child.once('exit', resolve));
  try {
    const answer = await waitFor('the API to answer', () =>
      fetch(`http://127.0.0.1:${port}/v1/health`).then(
        (response) => readResponse(response, { method: 'GET', path: '/health', environment: 'test' }),
        () => null,
      ),
    );
    return answer.data;
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
}

test('health is degraded when Temporal responds but does not have the configured namespace', async () => {
  expect(await healthOfProcess({ TEMPORAL_NAMESPACE: 'no-such-namespace' })).toMatchObject({
    status: 'degraded',
    checks: { database: 'ok', temporal: 'misconfigured' },
  });
  await expect(requireFlowsCanStart(connection, 'no-such-namespace', 10_000)).rejects.toThrow(/not found/i);
});

test('health is ok when Temporal has the namespace and its history shards respond', async () => {
  await requireFlowsCanStart(connection, 'default', 10_000);
  expect(await healthOf('live')).toMatchObject({ status: 'ok', checks: { temporal: 'ok', flows: 'ok' } });
});

// No worker runs here, so the outbox messages stay in place.
test.each([
  { what: 'a minute old and due', topic: 'flow', age: '60 s', dueIn: '-60 s', status: 'degraded' },
  {
    what: 'a minute old and rescheduled after an error',
    topic: 'flow',
    age: '60 s',
    dueIn: '15 s',
    status: 'degraded',
  },
  { what: 'a second old', topic: 'flow', age: '1 s', dueIn: '-1 s', status: 'ok' },
  { what: 'a second old and leased', topic: 'flow', age: '1 s', dueIn: '60 s', status: 'ok' },
  { what: 'a minute old and an event for a webhook', topic: 'event', age: '60 s', dueIn: '-60 s', status: 'ok' },
])('an outbox message that is $what makes health $status', async ({ topic, age, dueIn, status }) => {
  await api.sql`
    INSERT INTO outbox (organisation_id, environment, topic, message, available_at, created_at)
    VALUES (${api.organisation.organisationId}, 'test', ${topic}, '{}', now() + ${dueIn}::interval, now() - ${age}::interval)`;
  try {
    // A cached result may be up to a second older than the message.
    await waitFor(`health to be ${status}`, async () => {
      const health = await healthOf();
      return health.status === status && health.checks.flows === (status === 'ok' ? 'ok' : 'delayed');
    });
  } finally {
    await api.sql`DELETE FROM outbox`;
    await waitFor('health to be ok again', async () => (await healthOf()).status === 'ok');
  }
});

test('concurrent health requests share one check across both environments, and the result is cached only briefly', async () => {
  await waitFor('the cached result to expire', async () => {
    const before = temporalChecks;
    await healthOf();
    return temporalChecks > before;
  });
  const before = temporalChecks;
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => healthOf(index % 2 === 0 ? 'test' : 'live')),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['ok']));
  // Without sharing there would be a hundred checks; more than one only where the requests outlast the cache.
  expect(temporalChecks - before).toBeLessThan(50);
  await waitFor('another check', async () => {
    await healthOf();
    return temporalChecks > before;
  });
});
