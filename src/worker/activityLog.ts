// The ids in the log lines of activities: a line that an activity writes, or anything that it calls, says which flow it was
// written for, so that one workflow id finds the whole story.
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { withLogIds } from '../telemetry/log.ts';

export function logIdsOfActivity({ info }: Context): ActivityInterceptors {
  const { workflowExecution, activityType: activity, attempt } = info;
  const { workflowId, runId } = workflowExecution ?? {};
  const carried = { workflowId, runId, activity, attempt };
  return { inbound: { execute: (input, next) => withLogIds(carried, () => next(input)) } };
}
