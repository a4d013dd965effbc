// The flow of one adjustment. Nothing was posted when it was requested.
//
//   1. Wait for the decision of an operator (update `decide`).   An approval by the operator who requested it is
//      refused, and so is what the ledger does not allow: the adjustment stays open.
//   2. approve: post it, and the flow ends.   Compensation: another adjustment, its reversal, decided in the same way.
//   3. reject: the flow ends, and nothing is posted.
import { ApplicationFailure, HandlerUnfinishedPolicy } from '@temporalio/common';
import { condition, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import { identify } from '../operators/identify.ts';
import type { OperatorActivities } from '../operators/messages.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { showAttention, showState } from '../state.ts';
import { ADJUSTMENT_ATTENTION, refuseDecision, refuseOperator } from './decide.ts';
import { describeAdjustment } from './details.ts';
import {
  type AdjustmentActivities,
  type AdjustmentAnswer,
  type AdjustmentDecision,
  type AdjustmentInput,
  type AdjustmentResult,
  type AdjustmentSnapshot,
  decide,
} from './messages.ts';

const { readAdjustment, identifyOperator, applyAdjustmentDecision } = proxyActivities<
  AdjustmentActivities & OperatorActivities
>(MONEY_ACTIVITY);

/** What the handler changes while the flow waits. */
interface AdjustmentState {
  /** Null: not read yet. */
  snapshot: AdjustmentSnapshot | null;
  deciding: boolean;
}

export async function adjustment(input: AdjustmentInput): Promise<AdjustmentResult> {
  const state: AdjustmentState = { snapshot: null, deciding: false };
  handleDecisions(input, state);
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

function handleDecisions(input: AdjustmentInput, state: AdjustmentState): void {
  const refuse = (decision: Partial<AdjustmentDecision> | null): string | null =>
    refuseDecision((state.snapshot?.status ?? 'requested') === 'requested', decision);
  setHandler(
    decide,
    async (decision) => {
      // One at a time: after a reset, several may arrive together. A condition may become true for several.
      while (state.snapshot === null || state.deciding) {
        await condition(() => state.snapshot !== null && !state.deciding);
      }
      const refusal = refuse(decision); // again: it may have been decided since the validator ran
      if (refusal !== null) throw ApplicationFailure.nonRetryable(refusal);
      state.deciding = true;
      try {
        const answer = await carryOut(input, state.snapshot, decision);
        state.snapshot = { ...state.snapshot, status: answer.status };
        if (answer.outcome === 'refused') setCurrentDetails(describeAdjustment(input, state.snapshot, answer.message));
        return answer;
      } finally {
        state.deciding = false;
      }
    },
    {
      validator: (decision) => {
        const refusal = refuse(decision);
        if (refusal !== null) throw new Error(refusal);
      },
      // A restarted flow whose adjustment is decided needs no decision.
      unfinishedPolicy: HandlerUnfinishedPolicy.ABANDON,
    },
  );
}

async function carryOut(
  input: AdjustmentInput,
  { requestedBy, status }: AdjustmentSnapshot,
  { action, reason, code }: AdjustmentDecision,
): Promise<AdjustmentAnswer> {
  const operator = await identify({ identifyOperator }, { code, scope: 'finance', decision: action });
  const refusal = refuseOperator(requestedBy, action, operator);
  if (refusal !== null) return { outcome: 'refused', message: refusal, status };
  return await applyAdjustmentDecision(input, { action, reason, operator });
}
