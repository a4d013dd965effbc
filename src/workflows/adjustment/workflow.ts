// The flow of one adjustment. Nothing was posted when it was requested.
//
//   1. Wait for the decision of an operator (update `decide`).   An approval by the operator who requested it is
//      refused, and so is what the ledger does not allow: the adjustment stays open.
//   2. approve: post it, and the flow ends.   Compensation: another adjustment, its reversal, decided in the same way.
//   3. reject: the flow ends, and nothing is posted.
import { condition, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import type { FlowResult } from '../flows.ts';
import { type DecisionState, handleDecisions } from '../operators/handle.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { showAttention, showState } from '../state.ts';
import { ADJUSTMENT_ATTENTION, refuseDecision } from './decide.ts';
import { describeAdjustment } from './details.ts';
import { type AdjustmentActivities, type AdjustmentInput, type AdjustmentSnapshot, decide } from './messages.ts';

const { readAdjustment, applyAdjustmentDecision } = proxyActivities<AdjustmentActivities>(MONEY_ACTIVITY);

export async function adjustment(input: AdjustmentInput): Promise<FlowResult> {
  const state: DecisionState<AdjustmentSnapshot> = { snapshot: null, deciding: false };
  handleDecisions(decide, state, {
    refuse: (decision) => refuseDecision((state.snapshot?.status ?? 'requested') === 'requested', decision),
    decide: async (decision, snapshot) => {
      const answer = await applyAdjustmentDecision(input, decision);
      state.snapshot = { ...snapshot, status: answer.status };
      if (answer.outcome === 'refused') setCurrentDetails(describeAdjustment(input, snapshot, answer.message));
      return answer;
    },
  });
  state.snapshot = await readAdjustment(input); // a restarted flow continues from the state in the database
  if (state.snapshot.status === 'requested') {
    showAttention(ADJUSTMENT_ATTENTION);
    setCurrentDetails(describeAdjustment(input, state.snapshot, null));
    await condition(() => state.snapshot?.status !== 'requested' && !state.deciding);
    showAttention(null);
  }
  const { status } = state.snapshot;
  if (status === 'rejected') showState(status);
  setCurrentDetails(`**${status}**: ${nairaText(input.amount)}.`);
  return { status };
}
