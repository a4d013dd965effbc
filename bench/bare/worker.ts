// A worker for the bare workflows, with the settings of the service's own, and a client that starts them.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { DEFAULT_NAMESPACE } from '../../dev/temporal.ts';
import { FLOWS_CAPACITY, PAYOUTS_CAPACITY } from '../../src/worker/capacity.ts';
import { type BareActivities, bareParent, bareSignalled, go } from './workflows.ts';

const QUEUE = 'bare';
const PAYOUTS_QUEUE = 'bare-payouts';

export interface BareWorker {
  client: Client;
  /** Starts a workflow, signals it, and resolves when its activity was run. */
  runSignalled: () => Promise<void>;
  /** Starts a parent and resolves when it has ended. */
  runParent: (children: number, activities: number) => Promise<void>;
  close: () => Promise<void>;
}

export async function startBareWorker(address: string): Promise<BareWorker> {
  Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('ERROR') });
  const waiting = new Map<string, () => void>();
  const activities: BareActivities = {
    // Told in this process, so that nobody has to ask the server for results.
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
      const flow = await client.workflow.start(bareSignalled, { workflowId: id, taskQueue: QUEUE, args: [id] });
      await flow.signal(go);
      await done;
      waiting.delete(id);
    },
    runParent: async (children, count) => {
      const workflowId = randomUUID();
      await client.workflow.execute(bareParent, {
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
