// Identifies the operator who sent a message to this workflow.
import { ApplicationFailure } from '@temporalio/common';
import { CancellationScope, proxyActivities, workflowInfo } from '@temporalio/workflow';
import { MONEY_ACTIVITY } from '../options.ts';
import type { OperatorActivities, OperatorCode } from './messages.ts';

const { identifyOperator } = proxyActivities<OperatorActivities>(MONEY_ACTIVITY);

/** Returns the operator's public id. Throws the refusal, which fails the update that calls it and not the workflow. */
export async function identify(code: Omit<OperatorCode, 'workflowId'>): Promise<string> {
  // Not cancelled with the flow: it then ends without this answer.
  const { workflowId } = workflowInfo();
  const identified = await CancellationScope.nonCancellable(() => identifyOperator({ ...code, workflowId }));
  if ('refusal' in identified) throw ApplicationFailure.nonRetryable(identified.refusal);
  return identified.operator;
}
