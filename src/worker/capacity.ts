// How much of each task queue a worker process takes at once, by the settings WORKER_*.
import { ResourceBasedController, type WorkerOptions } from '@temporalio/worker';
import type { Config } from '../config.ts';

export interface QueueLimits {
  /** Workflow tasks that are handled at once. */
  tasksMax: number;
  /** Activities that run at once. */
  activitiesMax: number;
  /** The sticky workflow cache: a flow in it handles its next event without a replay of its history. */
  cachedMax: number;
}

type Capacity = Pick<
  WorkerOptions,
  | 'maxCachedWorkflows'
  | 'maxConcurrentWorkflowTaskExecutions'
  | 'maxConcurrentActivityTaskExecutions'
  | 'maxConcurrentLocalActivityExecutions'
  | 'tuner'
  | 'workflowTaskPollerBehavior'
  | 'activityTaskPollerBehavior'
>;

/** Nexus tasks: no flow has any. */
const UNUSED = { minimumSlots: 1, maximumSlots: 1 };

/**
 * Returns the capacity of one queue from its limits. With targets the limits are upper bounds, and the SDK gives out
 * slots while processor and memory are below the targets, which the queues of the process share.
 */
export function capacityIn({ targets, pollers }: Pick<Config['worker'], 'targets' | 'pollers'>) {
  const controller =
    targets === null
      ? null
      : ResourceBasedController.create({ targetCpuUsage: targets.cpu, targetMemoryUsage: targets.memory });
  const pollersOf = (slots: number): NonNullable<Capacity['workflowTaskPollerBehavior']> =>
    pollers === 'auto'
      ? { type: 'autoscaling', maximum: slots }
      : { type: 'simple-maximum', maximum: Math.min(pollers, slots) };
  return ({ tasksMax, activitiesMax, cachedMax }: QueueLimits): Capacity => ({
    maxCachedWorkflows: cachedMax,
    workflowTaskPollerBehavior: pollersOf(tasksMax),
    activityTaskPollerBehavior: pollersOf(activitiesMax),
    ...(controller === null
      ? {
          maxConcurrentWorkflowTaskExecutions: tasksMax,
          maxConcurrentActivityTaskExecutions: activitiesMax,
          maxConcurrentLocalActivityExecutions: tasksMax,
        }
      : {
          tuner: {
            controller,
            workflowTaskSlotOptions: { maximumSlots: tasksMax },
            activityTaskSlotOptions: { maximumSlots: activitiesMax },
            // Each runs inside of a workflow task.
            localActivityTaskSlotOptions: { maximumSlots: tasksMax },
            nexusTaskSlotOptions: UNUSED,
          },
        }),
  });
}
