// The messages of an adjustment: a correction of the books that waits for the decision of a second operator.
import { defineUpdate } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import type { FlowScope } from '../flows.ts';
import type { AppliedDecision, DecisionAnswer, OperatorMessage } from '../operators/messages.ts';

export interface AdjustmentInput extends FlowScope {
  adjustmentId: string;
  /** The sum of its postings. */
  amount: Kobo;
}

/** The state of an adjustment in the database. Its reason and evidence may name persons, so they stay there. */
export interface AdjustmentSnapshot {
  status: string;
  postings: readonly { debit: string; credit: string; amount: Kobo }[];
  /** Public id of the adjustment that it undoes. */
  reverses: string | null;
  /** Public id of the operator who requested it. */
  requestedBy: string;
}

export type AdjustmentAction = 'approve' | 'reject';

export type AdjustmentDecision = Omit<OperatorMessage<AdjustmentAction>, 'evidence'>;

export const decide = defineUpdate<DecisionAnswer, [AdjustmentDecision]>('decide');

export interface AdjustmentActivities {
  readAdjustment: (input: AdjustmentInput) => Promise<AdjustmentSnapshot>;
  /** Posts or rejects it with its audit entry; or returns why that is refused. */
  applyAdjustmentDecision: (input: AdjustmentInput, decision: AdjustmentDecision) => Promise<AppliedDecision>;
}
