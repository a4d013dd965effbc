// The state of a flow as search attributes, by which operators filter in the Temporal UI.
import { upsertSearchAttributes } from '@temporalio/workflow';
import { ATTENTION, ATTENTION_SINCE, FLOW_STATE } from './searchAttributes.ts';

/**
 * Sets FlowState. Each call adds an event to the history, writes to the visibility store and is billed as an action, so
 * a flow with the usual outcome does not call it: its result says how it ended. Set only what operators search for: a
 * partly paid payment, and every other outcome.
 */
export function showState(state: string): void {
  upsertSearchAttributes([{ key: FLOW_STATE, value: state }]);
}

/** Sets why the flow waits for an operator, since now; null clears it. */
export function showAttention(cause: string | null): void {
  upsertSearchAttributes([
    { key: ATTENTION, value: cause },
    { key: ATTENTION_SINCE, value: cause === null ? null : new Date() },
  ]);
}
