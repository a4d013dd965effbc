// The attempt of an activity, as the rest of the service knows it (src/concurrency/attempt.ts): when the server gives it up, and whether the
// SDK cancelled it or the process is about to end.
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { untilAborted, withinAttempt } from '../concurrency/attempt.ts';
import { ATTEMPT_RESERVE_MS } from '../concurrency/timeLimits.ts';

/**
 * The SDK cancels an attempt some seconds after its start-to-close timeout, and only then: by that time the server has begun the
 * next one. So each attempt counts its own time, and is over shortly before the server says so. `closing`: see `Attempt`.
 */
export const attemptOfActivity =
  (closing: AbortSignal) =>
  ({ info, cancellationSignal }: Context): ActivityInterceptors => ({
    inbound: {
      execute: (input, next) => {
        const endsAt = performance.now() + info.startToCloseTimeoutMs - ATTEMPT_RESERVE_MS;
        const attempt = { endsAt, signal: cancellationSignal, closing };
        // Those that heartbeat are maintenance: they may run for hours, and wait for a lock.
        const isLong = (info.heartbeatTimeoutMs ?? 0) > 0;
        return isLong ? untilAborted(attempt, () => next(input)) : withinAttempt(attempt, () => next(input));
      },
    },
  });
