// Records the decision that an operator sent to this workflow: the database says whether it takes effect.
import { CancellationScope, proxyActivities } from '@temporalio/workflow';
import type { FlowScope } from '../flows.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import type { DecisionOutcome, OperatorActivities, SentDecision } from './messages.ts';

const { recordDecision } = proxyActivities<OperatorActivities>(MONEY_ACTIVITY);

/** Not cancelled with the flow: it then ends without this answer. */
export const record = (scope: FlowScope, sent: SentDecision): Promise<DecisionOutcome> =>
  CancellationScope.nonCancellable(() => recordDecision(scope, sent));
