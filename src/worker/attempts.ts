// What the code that an activity calls knows about its attempt: its deadline, the SDK's cancellation, the shutdown of
// the process (src/concurrency/attempt.ts), and the ids for its log lines.
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { untilAborted, withinAttempt } from '../concurrency/attempt.ts';
import { ATTEMPT_RESERVE_MS } from '../concurrency/timeLimits.ts';
import { withLogIds } from '../telemetry/log.ts';

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
