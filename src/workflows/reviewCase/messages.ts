// The messages of a review case. It waits for an operator to decide where money in suspense belongs, to confirm that a
// reconciliation break is corrected, or to decide about a credit that the rail did not confirm.
import { defineUpdate } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import type { BankTransferInput } from '../bankTransfer/messages.ts';
import type { Proposal } from '../operators/details.ts';
import type { AppliedDecision, DecisionAnswer, OperatorMessage } from '../operators/messages.ts';

export interface ReviewCaseInput extends BankTransferInput {
  reason: string;
  /** What the run before this one waited with for a decision, if the flow has continued as new. */
  waited?: {
    /** A decision that waits for a second operator. */
    proposal: Proposal | null;
    /** A signal is still to be acted on. */
    updated: boolean;
  };
}

/**
 * `credit`: post the money to a wallet. `return_to_sender`: send it back to the account that it came from.
 * `move_to_unclaimed`: book it as unclaimed, because its owner cannot be found. For cases that hold no money: `close`
 * closes the case and posts nothing; `retry` queries the rail again about a credit that it did not confirm, and
 * processes the credit if the rail confirms it now.
 */
export type ReviewAction = 'credit' | 'return_to_sender' | 'move_to_unclaimed' | 'close' | 'retry';

/** The state of a case in the database. */
export interface ReviewCaseSnapshot {
  status: string;
  /** The reference at the rail of the last attempt to return the money. */
  reference: string;
  attempts: number;
  /** How that attempt failed. A code: a bank's message, in the database only, may contain personal data. */
  failure: 'refused' | 'returned' | 'never_received' | 'decided' | null;
  /** What a credit to the wallet of its payment is charged. */
  fee: Kobo;
  /** Of a late credit: how long after the end of its payment's window the bank received it. */
  lateBySeconds?: number;
  /** The transfer that the bank paid after reporting it as failed; null for other cases. */
  transfer: string | null;
  /** The reconciliation break behind the case; null for other cases. */
  break: BreakFacts | null;
  /** The money is to be returned without a decision: the payment that it was for says so. */
  returnsUnasked: boolean;
}

/** A break: the line and its amount on each side. Times are ISO 8601. */
export interface BreakFacts {
  kind: string;
  line: string;
  rail: string;
  reference: string;
  ledgerAmount: Kobo | null;
  statementAmount: Kobo | null;
  at: string;
  /** Since when later runs no longer find it; null while they do. */
  clearedAt: string | null;
}

/** `close` requires evidence. */
export interface ReviewDecision extends OperatorMessage<ReviewAction> {
  /** For `credit`: public id of a wallet other than the one that the money was sent to. */
  walletId?: string;
  /** For `credit`: without the fee of its payment. */
  waiveFee?: boolean;
}

export const resolveCase = defineUpdate<DecisionAnswer, [ReviewDecision]>('resolveCase');

export interface ReviewCaseActivities {
  /** Returns the state of the case, with its break if it has one. */
  readReviewCase: (input: ReviewCaseInput) => Promise<ReviewCaseSnapshot>;
  /** Posts a decision with its audit entries, or returns why it is refused. Null: the payment's `onMismatch`. */
  applyCaseDecision: (input: ReviewCaseInput, decision: ReviewDecision | null) => Promise<AppliedDecision>;
}
