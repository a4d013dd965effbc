// The health endpoints of a worker: alive from the start, ready while it polls and database and Temporal respond.
import { afterAll, expect, test } from '@jest/globals';
import { startTcpProxy } from '../../dev/chaos/tcpProxy.ts';
import { freePort } from '../../dev/freePort.ts';
import { WORKER_ROLES } from '../../src/config.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { startTestFlows } from '../support/flows.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const temporal = await startTcpProxy(`tcp://${testStack().temporalAddress}`);
const port: number = await freePort();
const settings = {
  WORKER_ROLES: WORKER_ROLES.join(','),
  TEMPORAL_ADDRESS: new URL(temporal.url).host,
  WORKER_METRICS_PORT: String(port),
};
const flows = await startTestFlows({ worker: false, settings });

afterAll(async () => {
  await flows.close();
  await temporal.close();
});

const get = async (path: string) => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return [response.status, (await response.json()) as { status: string }] as const;
};
const READY = { roles: WORKER_ROLES };

const untilReady = (status: string) =>
  waitFor(`the worker to be ${status}`, async () => {
    const [code, body] = await get('/ready').catch(() => [0, { status: 'down' }] as const);
    return body.status === status && [code, body];
  });

test('a worker is not ready while it waits for Temporal, nor when Temporal does not respond, but alive', async () => {
  temporal.refuse();
  const starting = startWorker(flows.dependencies, { codePath: testStack().workflowBundlePath });
  expect(await untilReady('starting')).toEqual([
    503,
    { ...READY, status: 'starting', checks: { database: 'ok', temporal: 'unreachable' } },
  ]);
  expect(await get('/health')).toEqual([200, { status: 'ok' }]);

  temporal.heal();
  const worker = await starting;
  const ready = [200, { ...READY, status: 'ready', checks: { database: 'ok', temporal: 'ok' } }];
  expect(await untilReady('ready')).toEqual(ready);

  temporal.swallow();
  expect(await untilReady('degraded')).toEqual([
    503,
    { ...READY, status: 'degraded', checks: { database: 'ok', temporal: 'unreachable' } },
  ]);
  expect(await get('/health')).toEqual([200, { status: 'ok' }]);
  temporal.heal();
  expect(await untilReady('ready')).toEqual(ready);
  await worker.stop();
});
