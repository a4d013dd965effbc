// Continuing as new: a flow whose length others decide starts again with an empty history before it grows too long.
import { allHandlersFinished, condition, workflowInfo } from '@temporalio/workflow';
import type { Attention } from './attention/park.ts';

/**
 * Whether the flow must continue as new now. Waits for operators' messages that are being identified; a decision is
 * applied first. A signal that arrives later fails the command, and the workflow task is repeated with it.
 */
export async function mustContinueAsNew(attention: Pick<Attention, 'isDecided'>): Promise<boolean> {
  if (!workflowInfo().continueAsNewSuggested) return false;
  await condition(allHandlersFinished);
  return !attention.isDecided();
}
