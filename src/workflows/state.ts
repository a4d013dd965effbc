// Where a flow stands, for operations to filter by in the Temporal UI.
import { upsertSearchAttributes } from '@temporalio/workflow';
import { ATTENTION, ATTENTION_SINCE, FLOW_STATE } from './searchAttributes.ts';

/**
 * Shows a new state. Each call is an event in the history, a write to the visibility store and an action to be billed, so a
 * flow that ends as most do shows nothing: its result says how it ended. Shown is what somebody looks for: a payment that
 * is partly paid, and every end but the good one.
 */
export function showState(state: string): void {
  upsertSearchAttributes([{ key: FLOW_STATE, value: state }]);
}

/** Shows why the flow waits for a person, from now on; null: it does not any more. */
export function showAttention(cause: string | null): void {
  upsertSearchAttributes([
    { key: ATTENTION, value: cause },
    { key: ATTENTION_SINCE, value: cause === null ? null : new Date() },
  ]);
}
