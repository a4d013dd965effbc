// Makes an activity's attempt available to the code that it calls (src/concurrency/attempt.ts): its deadline, the SDK's
// cancellation, and the shutdown of the process.
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { untilAborted, withinAttempt } from '../concurrency/attempt.ts';
import { ATTEMPT_RESERVE_MS } from '../concurrency/timeLimits.ts';

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
        const endsAt = performance.now() + info.startToCloseTimeoutMs - ATTEMPT_RESERVE_MS;
        const attempt = { endsAt, signal: cancellationSignal, closing };
        // Activities with a heartbeat are maintenance: they may run for hours or wait for a lock, and can be repeated.
        const isLong = (info.heartbeatTimeoutMs ?? 0) > 0;
        return isLong ? untilAborted(attempt, () => next(input)) : withinAttempt(attempt, () => next(input));
      },
    },
  });
