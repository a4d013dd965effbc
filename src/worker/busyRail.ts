// Retries an activity that found the limit of calls to the rail used up, later and with jitter: Temporal's own delays
// have none, and a thousand flows that wait for a rail would return together.
import type { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import { RailBusyError } from '../rail/errors.ts';

/** The delay doubles with each attempt up to the maximum, plus or minus a half. */
const DELAY_FIRST_MS = 1_000;
const DELAY_MAX_MS = 30_000;

/** Benign, because a bounded rail is intended: no alert. */
function busyFailure({ message, retryAfterMs }: RailBusyError, attempt: number) {
  const delay = Math.max(retryAfterMs, Math.min(DELAY_MAX_MS, DELAY_FIRST_MS * 2 ** Math.min(attempt - 1, 10)));
  return ApplicationFailure.create({
    message,
    type: 'RAIL_BUSY',
    nextRetryDelay: Math.round(delay * (0.5 + Math.random())),
    category: ApplicationFailureCategory.BENIGN,
  });
}

export const retryBusyRail = ({ info }: Context): ActivityInterceptors => ({
  inbound: {
    execute: async (input, next) => {
      try {
        return await next(input);
      } catch (error) {
        throw error instanceof RailBusyError ? busyFailure(error, info.attempt) : error;
      }
    },
  },
});
