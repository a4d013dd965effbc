// What runs around each attempt of an activity: it tells the code that the activity calls the deadline, the
// cancellation and the shutdown of the process (src/concurrency/attempt.ts), and log lines their ids. And it notes the
// flows of which a task fails, as it fails (src/recovery/failingFlows.ts).
import type { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { ActivityInterceptors, Worker } from '@temporalio/worker';
import { untilAborted, withinAttempt } from '../concurrency/attempt.ts';
import { ATTEMPT_RESERVE_MS } from '../concurrency/timeLimits.ts';
import { noteSuspect } from '../recovery/failingFlows.ts';
import { ATTEMPTS_MIN } from '../recovery/failingTask.ts';
import { withLogIds } from '../telemetry/log.ts';
import type { WorkerRuntime } from './queues.ts';

/**
 * The SDK cancels an attempt only some seconds after its start-to-close timeout, when the server has already started
 * the next attempt. Each attempt therefore has its own deadline, ATTEMPT_RESERVE_MS before the timeout. `closing`: see
 * `Attempt`.
 */
export const attemptOfActivity =
  (closing: AbortSignal) =>
  ({ info, cancellationSignal }: Context): ActivityInterceptors => ({
    inbound: {
      execute: (input, next) => {
        const { workflowExecution, activityType: activity, attempt: count } = info;
        // A search for one workflow id finds all lines of a flow.
        const ids = { ...workflowExecution, activity, attempt: count };
        const endsAt = performance.now() + info.startToCloseTimeoutMs - ATTEMPT_RESERVE_MS;
        const attempt = { endsAt, signal: cancellationSignal, closing };
        // Activities with a heartbeat are maintenance: they may run for hours or wait for a lock, and can be repeated.
        const within = (info.heartbeatTimeoutMs ?? 0) > 0 ? untilAborted : withinAttempt;
        return withLogIds(ids, () => within(attempt, () => next(input)));
      },
    },
  });

type Dependencies = Pick<WorkerRuntime, 'sql' | 'log'>;

/** Notes the flow of an activity that has failed before, or whose worker has not responded. */
export const suspectOfActivity =
  (dependencies: Dependencies) =>
  ({ info: { attempt, workflowExecution, workflowType } }: Context): ActivityInterceptors => ({
    inbound: {
      execute: (input, next) => {
        if (attempt >= ATTEMPTS_MIN && workflowExecution !== undefined) {
          const { workflowId } = workflowExecution;
          inBackground(dependencies, () => noteSuspect(dependencies.sql, { workflowId, type: workflowType ?? '' }));
        }
        return next(input);
      },
    },
  });

/** coresdk.workflow_activation.RemoveFromCache.EvictionReason: a nondeterminism error, an exception, a fatal error. */
const FAILED: ReadonlySet<number> = new Set([3, 4, 8]);

/** Notes the flows of failed workflow tasks: after one, the SDK removes the run from the worker's cache. */
export function watchWorkflowTasks(worker: Worker, client: Client, dependencies: Dependencies): void {
  // The SDK has no public hook. Of the run it says only the id.
  const { evictionsEmitter } = worker as unknown as { evictionsEmitter: NodeJS.EventEmitter };
  evictionsEmitter.on('eviction', ({ runId, evictJob }: { runId: string; evictJob: { reason?: number | null } }) => {
    if (!FAILED.has(evictJob.reason ?? 0)) return;
    inBackground(dependencies, async () => {
      for await (const flow of client.workflow.list({ query: `RunId = '${runId}'` })) {
        await noteSuspect(dependencies.sql, flow);
      }
    });
  });
}

/** What fails is noted at the next attempt. */
function inBackground({ log }: Dependencies, note: () => Promise<void>): void {
  note().catch((error: unknown) => log.debug({ err: error }, 'a failing flow could not be noted'));
}
