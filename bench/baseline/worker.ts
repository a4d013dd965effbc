// A worker for the baseline workflows, with the capacity settings of the service's worker, and a client that starts
// them.
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { unsecured } from '../../dev/temporal.ts';
import { WORKER_DEFAULTS } from '../../src/config.ts';
import { connect } from '../../src/temporal/connect.ts';
import { DEFAULT_NAMESPACE } from '../../src/temporal/profile.ts';
import { capacityOf } from '../../src/worker/capacity.ts';
import { type BaselineActivities, baselineParent, baselineSignalled, baselineTimer, go } from './workflows.ts';

const QUEUE = 'baseline';
const PAYOUTS_QUEUE = 'baseline-payouts';

const MINUTE_MS = 60_000;
/** More than one start takes. */
const START_MS = 10;
const STARTERS = 50;
const POLL_MS = 250;

export interface BaselineWorker {
  client: Client;
  /** Starts a workflow, signals it, and resolves when its activity has run. */
  runSignalled: () => Promise<void>;
  /** Starts a parent workflow and resolves when it has completed. */
  runParent: (children: number, activities: number) => Promise<void>;
  /** Starts this number of workflows whose timers fire at once. Returns how many ended a second, from that time on. */
  timersPerSecond: (count: number) => Promise<number>;
  close: () => Promise<void>;
}

export async function startBaselineWorker(address: string): Promise<BaselineWorker> {
  Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('ERROR') });
  const waiting = new Map<string, () => void>();
  const activities: BaselineActivities = {
    // Completion is signalled within this process, which saves a call for the result.
    nothing: async (id) => waiting.get(id)?.(),
  };
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('workflows.ts', import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  });
  const native = await connect(NativeConnection, unsecured(address, DEFAULT_NAMESPACE));
  const common = { connection: native, namespace: DEFAULT_NAMESPACE, workflowBundle, activities };
  const { flows, payouts } = WORKER_DEFAULTS;
  const workers = [
    await Worker.create({ ...common, taskQueue: QUEUE, ...capacityOf(flows) }),
    await Worker.create({ ...common, taskQueue: PAYOUTS_QUEUE, ...capacityOf(payouts) }),
  ];
  const runs = workers.map((worker) => worker.run());
  const connection = await connect(Connection, unsecured(address, DEFAULT_NAMESPACE));
  const client = new Client({ connection, namespace: DEFAULT_NAMESPACE });
  return {
    client,
    runSignalled: async () => {
      const id = randomUUID();
      const done = new Promise<void>((resolve) => waiting.set(id, resolve));
      const flow = await client.workflow.start(baselineSignalled, { workflowId: id, taskQueue: QUEUE, args: [id] });
      await flow.signal(go);
      await done;
      waiting.delete(id);
    },
    runParent: async (children, count) => {
      const workflowId = randomUUID();
      await client.workflow.execute(baselineParent, {
        workflowId,
        taskQueue: PAYOUTS_QUEUE,
        args: [workflowId, children, count],
      });
    },
    timersPerSecond: async (count) => {
      const workflowType = 'baselineTimer';
      const until = Date.now() + Math.max(MINUTE_MS, count * START_MS);
      let started = 0;
      const start = async (): Promise<void> => {
        while (started < count) {
          started += 1;
          await client.workflow.start(baselineTimer, { workflowId: randomUUID(), taskQueue: QUEUE, args: [until] });
        }
      };
      await Promise.all(Array.from({ length: STARTERS }, start));
      if (Date.now() > until) throw new Error('the timers fired before all were started');
      await setTimeout(until - Date.now());
      // The list of workflows lags by a fraction of a second.
      const query = `WorkflowType = '${workflowType}' AND ExecutionStatus = 'Running'`;
      while ((await client.workflow.count(query)).count > 0) await setTimeout(POLL_MS);
      return (count * 1_000) / (Date.now() - until);
    },
    close: async () => {
      for (const worker of workers) worker.shutdown();
      await Promise.all(runs);
      await Promise.all([native.close(), connection.close()]);
    },
  };
}
