// Worker processes with different roles: each runs only what it is told, and together they do everything; with slots by
// resources and polls that scale as well as with the defaults.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readConfig, type WorkerRole } from '../../src/config.ts';
import { capacityOf } from '../../src/worker/capacity.ts';
import { type RunningWorker, startWorker } from '../../src/worker/worker.ts';
import { taskQueuesOf } from '../../src/workflows/flows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

/** temporal.api.enums.v1.TaskQueueType */
const QUEUE_TYPES = { workflows: 1, activities: 2 } as const;

let flows: TestFlows;
let workers: RunningWorker[];

beforeEach(async () => {
  workers = [];
  flows = await startTestFlows({ worker: false });
});

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await flows.close();
});

async function start(...roles: WorkerRole[]): Promise<RunningWorker> {
  const { config } = flows.dependencies;
  const runtime = { ...flows.dependencies, config: { ...config, worker: { ...config.worker, roles } } };
  const worker = await startWorker(runtime, { codePath: testStack().workflowBundlePath });
  workers.push(worker);
  return worker;
}

/** The suffixes of the task queues that are polled, for both kinds of task. */
async function polled(): Promise<string[]> {
  const { namespace, taskQueue } = flows.dependencies.config.temporal;
  const isPolled = async (name: string, taskQueueType: 1 | 2): Promise<boolean> => {
    const { workflowService } = flows.temporal.connection;
    const { pollers } = await workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType });
    return (pollers ?? []).length > 0;
  };
  const queues = taskQueuesOf(taskQueue);
  const results = await Promise.all(
    queues.map(async (name) => {
      const both = await Promise.all(Object.values(QUEUE_TYPES).map((type) => isPolled(name, type)));
      return both.every(Boolean) ? [name.slice(taskQueue.length)] : [];
    }),
  );
  return results.flat();
}

test('a process polls the queues of its roles only, and flows need the relay and the role flows', async () => {
  await start('flows');
  await waitFor('the queue of flows to be polled', async () => (await polled()).length > 0);
  const payment = await flows.createPayment(await flows.createWallet(), 200_000);
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
  await start('maintenance');
  expect(await flows.runMaintenance('retention')).toMatchObject({ idempotencyKeys: 0 });
  expect(await polled()).toEqual(['', '-maintenance']);
  const waiting = flows.sql`SELECT DISTINCT attempts FROM outbox WHERE topic <> 'event'`;
  expect([...(await waiting)]).toEqual([{ attempts: 0 }]);
  expect((await flows.test.get(`/payments/${payment.id}`)).data.status).toBe('pending');

  await start('relay');
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  expect(await polled()).toEqual(['', '-maintenance']);
});

test('a process that runs the relay only stops', async () => {
  const worker = await start('relay');
  await worker.stop();
  expect(await worker.stopped).toBeUndefined();
});

const REQUIRED = { DATABASE_URL: 'postgres://db/manilla', MANILLA_KEYS: `k:${Buffer.alloc(32).toString('base64url')}` };
const workerSettings = (settings: Record<string, string>) => readConfig({ ...REQUIRED, ...settings }).worker;

test.each(['', 'flow', 'flows,flows', 'flows, relay'])('the roles %p are rejected', (roles) => {
  expect(() => workerSettings({ WORKER_ROLES: roles })).toThrow(/^ {2}WORKER_ROLES/m);
});

test('roles are read from a list, and the default is all of them', () => {
  expect(workerSettings({}).roles).toEqual(['flows', 'payouts', 'maintenance', 'relay']);
  expect(workerSettings({ WORKER_ROLES: 'payouts,relay' }).roles).toEqual(['payouts', 'relay']);
});

test('the maxima are the slots, and a tenth of them, at least ten, poll', () => {
  const { payouts, flows: ofFlows } = workerSettings({
    WORKER_PAYOUTS_ACTIVITIES_MAX: '7',
    WORKER_FLOWS_ACTIVITIES_MAX: '300',
  });
  expect(capacityOf(payouts)).toEqual({
    maxCachedWorkflows: 500,
    maxConcurrentWorkflowTaskExecutions: 10,
    maxConcurrentActivityTaskExecutions: 7,
    maxConcurrentLocalActivityExecutions: 10,
    workflowTaskPollerBehavior: { type: 'simple-maximum', maximum: 10 },
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 7 },
  });
  expect(capacityOf(ofFlows)).toMatchObject({ activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 30 } });
});
