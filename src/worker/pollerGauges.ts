// Which task queues have workers, as the Temporal server sees it. Every worker reports all queues, whatever its roles:
// a worker that has ended, or was never started, cannot report that itself.
import type { Client } from '@temporalio/client';
import { taskQueuePollers } from '../telemetry/metrics.ts';
import type { Collector } from '../telemetry/metricsServer.ts';
import { railQueueOf, taskQueuesOf } from '../workflows/flows.ts';

/** temporal.api.enums.v1.TaskQueueType */
const TYPES = { workflow_task: 1, activity: 2 } as const;
/** A poll lasts up to a minute, so a worker that runs has begun one since. The server lists those of five minutes. */
const POLLED_WITHIN_MS = 120_000;
/** Two calls for each queue, by every worker. */
const READ_EVERY_MS = 30_000;

export function pollerGauges(client: Client, taskQueue: string): Collector {
  return {
    name: 'task_queues',
    cacheMs: READ_EVERY_MS,
    collect: async () => {
      const queues = await readPolls(client, taskQueue);
      // Compared with the latest of all: the clocks of this process and of the server may differ by minutes.
      const since = Math.max(...queues.flatMap(({ at }) => at)) - POLLED_WITHIN_MS;
      return () => {
        for (const { taskQueue: name, task, at } of queues) {
          taskQueuePollers.set({ task_queue: name, task }, at.filter((time) => time >= since).length);
        }
      };
    },
    reset: () => taskQueuePollers.reset(),
  };
}

async function readPolls(client: Client, common: string) {
  const { namespace } = client.options;
  const queues = taskQueuesOf(common).flatMap((taskQueue) => {
    const activity = { taskQueue, task: 'activity' } as const;
    return taskQueue === railQueueOf(common) ? [activity] : [activity, { taskQueue, task: 'workflow_task' } as const];
  });
  return await Promise.all(
    queues.map(async ({ taskQueue, task }) => {
      const { pollers } = await client.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: taskQueue },
        taskQueueType: TYPES[task],
      });
      // When each of its workers has begun its last poll, by the clock of the server.
      const at = (pollers ?? []).map(({ lastAccessTime: time }) => Number(time?.seconds ?? 0) * 1000);
      return { taskQueue, task, at };
    }),
  );
}
