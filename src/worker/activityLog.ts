// Adds the flow's ids to every log line written during an activity, so that a search for one workflow id finds all
// lines of a flow.
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { withLogIds } from '../telemetry/log.ts';

export function logIdsOfActivity({ info }: Context): ActivityInterceptors {
  const { workflowExecution, activityType: activity, attempt } = info;
  const { workflowId, runId } = workflowExecution ?? {};
  const ids = { workflowId, runId, activity, attempt };
  return { inbound: { execute: (input, next) => withLogIds(ids, () => next(input)) } };
}
