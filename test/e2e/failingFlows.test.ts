// Flows that do not continue for a reason that no rule foresees are listed with it and counted, until they are mended:
// an activity or a workflow task that fails again and again, only times out, or is taken by no worker; of parked flows
// too.
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { freePort } from '../../dev/freePort.ts';
import { listFailingFlows } from '../../src/recovery/failingFlows.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { pauseRail, resumeRail } from '../../src/resources/rails/pauses.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { operate } from '../cli/run.ts';
import { scrapeWhole } from '../metrics/exposition.ts';
import { changedRail } from '../support/changedRail.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const COMPLETES = '0123456789';
const HOLDS = '9999999003';
const SCAN_EVERY_MS = 250;

let flows: TestFlows;
let metricsPort: number;
let railError: Error | null = null;

beforeAll(async () => {
  metricsPort = await freePort();
  flows = await startTestFlows({
    settings: {
      WORKER_METRICS_PORT: String(metricsPort),
      activityFailingMs: 1_000,
      workflowTaskFailingMs: 1_000,
      taskStalledMs: 2_000,
    },
    rails: changedRail((bank) => ({
      transferStatus: async (query) => {
        if (railError !== null) throw railError;
        return await bank.transferStatus(query);
      },
    })),
  });
});

afterAll(() => flows.close());

const withdraw = async (accountNumber: string) => (await flows.withdraw(accountNumber)).id;

async function list(...words: string[]): Promise<{ id: string; attention: string; error: string }[]> {
  const rows = (await operate(flows, 'ada', 'attention', 'list', ...words)) as Awaited<ReturnType<typeof list>>;
  // Other tests park flows on the same server.
  const own = await flows.sql<{ workflowId: string }[]>`SELECT workflow_id FROM failing_flows`;
  return rows.filter(({ id }) => own.some(({ workflowId }) => workflowId === id));
}

const scan = () => flows.runMaintenance('failingFlows') as Promise<{ described: number; failing: number }>;

/** Scans until the check is true, at most four times a second: a scan is a flow of its own. */
async function scanUntil<Found>(what: string, check: () => Promise<Found | null | undefined | false>): Promise<Found> {
  const scanAndCheck = async () => {
    await scan();
    return await check();
  };
  return await waitFor(what, scanAndCheck, undefined, SCAN_EVERY_MS);
}

/** Until just these flows are listed: on a busy machine a task waits for a worker first, and is listed as waiting. */
const untilListed = (...expected: `${'activity' | 'workflow_task'} ${'failing' | 'stalled'}`[]) =>
  scanUntil(`${expected.join(', ') || 'no flow'} to be listed`, async () => {
    const rows = await flows.sql<
      { what: string }[]
    >`SELECT task || ' ' || problem AS what FROM failing_flows ORDER BY 1`;
    return rows.map(({ what }) => what).join() === expected.join();
  });

test('a flow with an activity that fails again and again is listed and counted, until it succeeds', async () => {
  railError = new TypeError('the adapter cannot read the answer\n  of the bank');
  const id = await withdraw(COMPLETES);
  await untilListed('activity failing');
  expect(await list()).toEqual([
    {
      id,
      flow: 'withdrawal',
      attention: 'activity_failing',
      since: expect.stringMatching(/^20/),
      amount: null,
      error: expect.stringMatching(
        /^sendBankTransfer fails, attempt \d+: TypeError: the adapter cannot read the answer\. It is retried/,
      ),
    },
  ]);
  expect(await list('--query', "WorkflowType = 'payment'")).toEqual([]);
  const scraped = await scrapeWhole(metricsPort);
  expect(scraped.value('manilla_flows_failing', { task: 'activity' })).toBe(1);
  expect(scraped.value('manilla_flows_failing', { task: 'workflow_task' })).toBe(0);
  // A role that was never started is reported by the workers of the others.
  const pollers = (queue: string, task: string) =>
    scraped.value('manilla_task_queue_pollers', {
      task,
      task_queue: `${flows.dependencies.config.temporal.taskQueue}${queue}`,
    });
  for (const task of ['activity', 'workflow_task']) {
    expect([pollers('', task), pollers('-payouts', task)]).toEqual([1, 0]);
  }

  railError = null;
  await flows.untilStatus(`/withdrawals/${id}`, 'completed');
  await untilListed();
  expect(await flows.sql`SELECT FROM failing_flows`).toHaveLength(0);
});

/** A withdrawal whose flow waits for the bank's word. */
async function withdrawHeld(): Promise<string> {
  const id = await withdraw(HOLDS);
  await waitFor(
    'the bank to have the transfer',
    async () => (await flows.sql`SELECT FROM sandbox_bank.transfers WHERE reference = ${id}`).length > 0,
  );
  return id;
}

const complete = (id: string) => flows.test.post(`/simulations/bank-transfers/${id}/resolve`, { outcome: 'complete' });

/** Gives the flow a workflow task. */
const signal = (id: string) => flows.temporal.workflow.getHandle(id).signal('transferUpdated');

test('a scan describes no flow that waits by design', async () => {
  const ids = await Promise.all(Array.from({ length: 5 }, withdrawHeld));
  const isOld = () => {
    const before = new Date(Date.now() - 2_000).toISOString();
    return flows.temporal.workflow.count(`WorkflowId IN ('${ids.join("', '")}') AND StartTime < '${before}'`);
  };
  await waitFor('the flows to be older than the limits', async () => (await isOld()).count === ids.length);
  expect(await scan()).toEqual({ described: 0, failing: 0 });
  for (const id of ids) await complete(id);
  await Promise.all(ids.map((id) => flows.untilStatus(`/withdrawals/${id}`, 'completed')));
});

test('flows with a workflow task that fails after a deployment are listed, a parked one too, until the version before is back', async () => {
  const id = await withdrawHeld();
  const note = { proof: OWNER_PROOF, reason: 'a test' };
  await pauseRail(flows.sql, 'test', note);
  const parked = await withdraw(COMPLETES);
  const isParked = `WorkflowId = '${parked}' AND Attention = 'rail_paused'`;
  await waitFor('a flow to be parked', async () => (await flows.temporal.workflow.count(isParked)).count === 1);
  await flows.stopWorker();
  const broken = await startWorker(
    flows.dependencies,
    await bundleWorkflowCode({ workflowsPath: fileURLToPath(new URL('../worker/brokenVersion.ts', import.meta.url)) }),
  );
  await complete(id);
  await signal(parked);
  await untilListed('workflow_task failing', 'workflow_task failing');
  const rows = await list();
  const failing = {
    attention: 'workflow_task_failing',
    error: expect.stringMatching(/^the workflow task fails, attempt \d+: .*Nondeterminism.*Deploy the version before/i),
  };
  expect(rows).toHaveLength(3);
  expect(rows).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ id, ...failing }),
      expect.objectContaining({ id: parked, ...failing }),
      expect.objectContaining({ id: parked, attention: 'rail_paused' }),
    ]),
  );
  await broken.stop();

  await resumeRail(flows.sql, 'test', note);
  await flows.startWorkerAgain();
  await signal(parked);
  await Promise.all([id, parked].map((one) => flows.untilStatus(`/withdrawals/${one}`, 'completed')));
  await untilListed();
});

/**
 * A withdrawal whose workflow task no worker has taken, after the workers have stopped. The last poll of a worker that
 * stops may take the task, which then times out and counts as failing: the next withdrawal has one that it does not.
 */
async function withdrawWithTaskThatNoWorkerTakes(): Promise<string> {
  for (;;) {
    const id = await withdrawHeld();
    await flows.stopWorker();
    await signal(id);
    const { error } = await scanUntil(
      'the workflow task to be listed',
      async () => (await listFailingFlows(flows.sql))[0],
    );
    if (error.includes('no worker has taken it')) return id;
    await complete(id);
    await flows.startWorkerAgain();
    await flows.untilStatus(`/withdrawals/${id}`, 'completed');
    await untilListed();
  }
}

test('a flow whose workflow task no worker takes, or one takes and never ends, is listed until it is done', async () => {
  const id = await withdrawWithTaskThatNoWorkerTakes();
  expect(await list()).toMatchObject([
    {
      id,
      error: expect.stringMatching(
        /^the workflow task: no worker has taken it for \d+ minutes?\. Check that workers poll/,
      ),
    },
  ]);
  const { namespace, taskQueue } = flows.dependencies.config.temporal;
  const poll = { namespace, taskQueue: { name: taskQueue }, identity: 'a worker that hangs' };
  const taken = await flows.temporal.withDeadline(Date.now() + 60_000, () =>
    flows.temporal.workflowService.pollWorkflowTaskQueue(poll),
  );
  expect(taken.workflowExecution?.workflowId).toBe(id);
  await scanUntil(
    'the workflow task to time out',
    async () => (await listFailingFlows(flows.sql))[0]?.problem === 'failing',
  );
  expect(await list()).toMatchObject([
    { id, error: expect.stringMatching(/^the workflow task fails, attempt \d+: no response of a worker in time/) },
  ]);
  await complete(id);
  await flows.startWorkerAgain();
  await flows.untilStatus(`/withdrawals/${id}`, 'completed');
  await untilListed();
});

test('a flow whose activity no worker takes is listed until one does', async () => {
  const id = await withdrawHeld();
  await flows.stopWorker();
  const connection = await NativeConnection.connect({ address: testStack().temporalAddress });
  const withoutActivities = await Worker.create({
    connection,
    taskQueue: flows.dependencies.config.temporal.taskQueue,
    workflowBundle: { codePath: testStack().workflowBundlePath },
  });
  await withoutActivities.runUntil(async () => {
    await complete(id);
    // Before that, on a slow machine, its workflow task may have stalled.
    await scanUntil('the activity to stall', async () => {
      return (await listFailingFlows(flows.sql)).some(
        ({ task, problem }) => `${task}_${problem}` === 'activity_stalled',
      );
    });
  });
  await connection.close();
  expect(await list()).toMatchObject([
    {
      id,
      attention: 'activity_stalled',
      error: expect.stringMatching(/^checkBankTransfer: no worker has taken it for \d+ minutes?\./),
    },
  ]);
  await flows.startWorkerAgain();
  await flows.untilStatus(`/withdrawals/${id}`, 'completed');
  await untilListed();
});
