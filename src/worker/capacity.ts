// Concurrency and cache limits of a worker process, for each of its two task queues.
import type { WorkerOptions } from '@temporalio/worker';

type Capacity = Pick<
  WorkerOptions,
  'maxCachedWorkflows' | 'maxConcurrentWorkflowTaskExecutions' | 'maxConcurrentActivityTaskExecutions'
>;

/** The sticky workflow cache: a flow in it handles its next event without a replay of its history. */
export const FLOWS_CAPACITY: Capacity = { maxCachedWorkflows: 1_000 };

/**
 * A payout has up to a thousand items. They have a task queue of their own and this share of a worker, so that they
 * delay only other payout items. It also limits the concurrent calls to a rail.
 */
export const PAYOUTS_CAPACITY: Capacity = {
  maxCachedWorkflows: 500,
  maxConcurrentWorkflowTaskExecutions: 10,
  maxConcurrentActivityTaskExecutions: 20,
};
