// How much of each task queue a worker process takes at once, by the settings WORKER_*.
import type { WorkerOptions } from '@temporalio/worker';

export interface QueueLimits {
  /** Workflow tasks that are handled at once. */
  tasksMax: number;
  /** Activities that run at once. */
  activitiesMax: number;
  /** The sticky workflow cache: a flow in it handles its next event without a replay of its history. */
  cachedMax: number;
}

/** A tenth of the slots, and at least ten: enough to fill them, since a poll returns as soon as there is a task. */
const pollersOf = (slots: number) =>
  ({ type: 'simple-maximum', maximum: Math.min(slots, Math.max(10, Math.ceil(slots / 10))) }) as const;

export const capacityOf = ({ tasksMax, activitiesMax, cachedMax }: QueueLimits) =>
  ({
    maxCachedWorkflows: cachedMax,
    workflowTaskPollerBehavior: pollersOf(tasksMax),
    activityTaskPollerBehavior: pollersOf(activitiesMax),
    maxConcurrentWorkflowTaskExecutions: tasksMax,
    maxConcurrentActivityTaskExecutions: activitiesMax,
    maxConcurrentLocalActivityExecutions: tasksMax,
  }) satisfies Partial<WorkerOptions>;
