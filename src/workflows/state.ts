// Where a flow stands, for operations to filter by in the Temporal UI.
import { upsertSearchAttributes } from '@temporalio/workflow';
import { FLOW_STATE } from './searchAttributes.ts';

/** Shows a new state. Call it where the state changes: each call is an event in the history and an action to be billed. */
export function showState(state: string): void {
  upsertSearchAttributes([{ key: FLOW_STATE, value: state }]);
}
