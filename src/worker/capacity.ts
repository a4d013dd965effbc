// How much a worker process takes on at a time, for each of its two queues.
import type { WorkerOptions } from '@temporalio/worker';

type Capacity = Pick<
  WorkerOptions,
  'maxCachedWorkflows' | 'maxConcurrentWorkflowTaskExecutions' | 'maxConcurrentActivityTaskExecutions'
>;

/** Workflow tasks of this many flows are kept in memory, so that a wake-up does not replay them. */
export const FLOWS_CAPACITY: Capacity = { maxCachedWorkflows: 1_000 };

/**
 * Payouts come a thousand items at a time. On a queue of their own, and with this share of a worker, they stand in front
 * of one another and of nothing else; it is also what a rail is asked to take at once.
 */
export const PAYOUTS_CAPACITY: Capacity = {
  maxCachedWorkflows: 500,
  maxConcurrentWorkflowTaskExecutions: 10,
  maxConcurrentActivityTaskExecutions: 20,
};
