// A worker for the baseline workflows, with the capacity settings of the service's worker, and a client that starts
// them.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { DEFAULT_NAMESPACE } from '../../dev/temporal.ts';
import { FLOWS_CAPACITY, PAYOUTS_CAPACITY } from '../../src/worker/capacity.ts';
import { type BaselineActivities, baselineParent, baselineSignalled, go } from './workflows.ts';

const QUEUE = 'baseline';
const PAYOUTS_QUEUE = 'baseline-payouts';

export interface BaselineWorker {
  client: Client;
  /** Starts a workflow, signals it, and resolves when its activity has run. */
  runSignalled: () => Promise<void>;
  /** Starts a parent workflow and resolves when it has completed. */
  runParent: (children: number, activities: number) => Promise<void>;
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
  const native = await NativeConnection.connect({ address });
  const common = { connection: native, namespace: DEFAULT_NAMESPACE, workflowBundle, activities };
  const workers = [
    await Worker.create({ ...common, taskQueue: QUEUE, ...FLOWS_CAPACITY }),
    await Worker.create({ ...common, taskQueue: PAYOUTS_QUEUE, ...PAYOUTS_CAPACITY }),
  ];
  const runs = workers.map((worker) => worker.run());
  const connection = await Connection.connect({ address });
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
    close: async () => {
      for (const worker of workers) worker.shutdown();
      await Promise.all(runs);
      await Promise.all([native.close(), connection.close()]);
    },
  };
}
