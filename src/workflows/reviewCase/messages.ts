// The messages of a review case: money in suspense waits for an operator to say where it belongs, a reconciliation break waits
// for one to say that it is put right, or a credit that the rail did not confirm waits for one to say what became of it.
import { defineUpdate } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import type { BankTransferInput, TransferActivity, TransferDecisionActivity } from '../bankTransfer/messages.ts';

export interface ReviewCaseInput extends BankTransferInput {
  reason: string;
}

export interface ReviewCaseResult {
  status: string;
}

/**
 * `credit`: into a wallet. `return_to_sender`: to the account that it came from. `move_to_unclaimed`: as unclaimed money, when nobody can say
 * whose it is. Of cases that hold no money, `close`: nothing is open any more; posts nothing. `retry`: the rail is asked again
 * for a credit that it did not confirm, and the credit is taken in if it does now.
 */
export type ReviewAction = 'credit' | 'return_to_sender' | 'move_to_unclaimed' | 'close' | 'retry';

/** Where a case stands in the books. */
export interface ReviewCaseSnapshot {
  status: string;
  /** What the rail knows the last attempt to send the money back by. */
  reference: string;
  attempts: number;
  /** How that attempt failed: a code, because a bank’s own words may name a person. They are in the database. */
  failure: 'refused' | 'returned' | 'never_received' | 'decided' | null;
  /** What a reconciliation break is about; null for money. */
  break: BreakFacts | null;
}

/** What the two sides say; times are ISO 8601. */
export interface BreakFacts {
  kind: string;
  line: string;
  rail: string;
  reference: string;
  ledgerAmount: Kobo | null;
  statementAmount: Kobo | null;
  at: string;
  /** Since when later runs do not find it any more; null while they do. */
  clearedAt: string | null;
}

export interface ReviewDecision {
  action: ReviewAction;
  /** For `credit`: another wallet than the one that the money came for. Public id. */
  walletId?: string;
  /** Why, for the audit trail. */
  reason: string;
  /** Who decides. */
  operator: string;
  /** What it rests on, for example the bank’s ticket. A case is not settled without. */
  evidence?: string;
}

/** `refused`: the books or the facts do not allow it now; `message` says why, and the case stays open. */
export interface ReviewAnswer {
  outcome: 'done' | 'refused';
  message: string;
  /** Status of the case afterwards. */
  status: string;
}

export const resolveCase = defineUpdate<ReviewAnswer, [ReviewDecision]>('resolveCase');

export interface ReviewCaseActivities {
  /** Where the case stands in the books, and the break behind it if it is one. */
  readReviewCase: (input: ReviewCaseInput) => Promise<ReviewCaseSnapshot>;
  /** Posts an operator's decision and audits it; or says why it cannot be, and the case stays open. */
  applyCaseDecision: (input: ReviewCaseInput, decision: ReviewDecision) => Promise<ReviewAnswer>;
  sendReturn: TransferActivity<ReviewCaseInput>;
  checkReturn: TransferActivity<ReviewCaseInput>;
  markReturnUnsent: TransferActivity<ReviewCaseInput>;
  applyReturnDecision: TransferDecisionActivity<ReviewCaseInput>;
}
