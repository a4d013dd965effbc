// The messages of a review case: money in suspense waits for an operator to say where it belongs.
import { defineUpdate } from '@temporalio/workflow';
import { type BankTransferInput, railReported } from '../bankTransfer/messages.ts';
import type { FlowMessage } from '../flows.ts';

export interface ReviewCaseInput extends BankTransferInput {
  reason: string;
}

export interface ReviewCaseResult {
  status: string;
}

/**
 * `credit`: into a wallet. `send_back`: to the account that it came from. `keep`: as unclaimed money, when nobody can say
 * whose it is.
 */
export type ReviewAction = 'credit' | 'send_back' | 'keep';

export const REVIEW_ACTIONS: readonly ReviewAction[] = ['credit', 'send_back', 'keep'];

export interface ReviewDecision {
  action: ReviewAction;
  /** For `credit`: another wallet than the one that the money came for. Public id. */
  walletId?: string;
  /** Why, for the audit trail. */
  reason: string;
  /** Who decides. */
  operator: string;
}

/** `refused`: the books or the facts do not allow it now; `message` says why, and the case stays open. */
export interface ReviewAnswer {
  outcome: 'done' | 'refused';
  message: string;
  /** Status of the case afterwards. */
  status: string;
}

export const decide = defineUpdate<ReviewAnswer, [ReviewDecision]>('decide');

/** Starts the flow of a case; with news it also wakes one whose money is being sent back. */
export function reviewCaseFlow(input: ReviewCaseInput, news?: 'news'): FlowMessage {
  return {
    workflow: 'reviewCase',
    id: input.transferId,
    summary: `Review of ${input.amount} kobo: ${input.reason}`,
    state: 'open',
    input,
    ...(news && { signal: { name: railReported.name, payload: null } }),
  };
}
