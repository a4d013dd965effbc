// Options of activities. They are retried without limit, so that an outage never fails a flow.
import { type ActivityOptions, type LocalActivityOptions, workflowInfo } from '@temporalio/workflow';
import { STEP_MAX_MS } from '../concurrency/timeLimits.ts';
import { railQueueOf } from './flows.ts';

/**
 * For activities that move money. The timeout is as short as the limits of the rail's calls allow, because the server
 * notices a dead worker only when it expires. It must not be shorter, because the next attempt starts then and must not
 * send while a send of the previous attempt may be in flight.
 */
export const MONEY_ACTIVITY: ActivityOptions = {
  startToCloseTimeout: STEP_MAX_MS,
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '1 minute' },
};

/** For those that call a rail: on the queue whose rate is limited (docs/decisions/0017-limits-of-a-rail.md). */
export const RAIL_ACTIVITY: ActivityOptions = {
  ...MONEY_ACTIVITY,
  /** Read at each call, because it depends on the flow. */
  get taskQueue() {
    return railQueueOf(workflowInfo().taskQueue);
  },
};

/** For a local activity that an activity repeats if it fails. Shorter than a workflow task may take, ten seconds. */
export const ONE_TRY: LocalActivityOptions = { startToCloseTimeout: '5 seconds', retry: { maximumAttempts: 1 } };

/** For a run over all books, which may take hours. A heartbeat detects a worker that died. */
export const LONG: ActivityOptions = {
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '1 minute' },
};
