// The rules of a review case as pure functions: which decisions are refused before anything is read, with which
// message, and what an earlier attempt to return the money means for the next decision.
import type { RailStatus } from '../bankTransfer/decide.ts';
import { refuseMessage } from '../operators/decide.ts';
import type { ReviewAction, ReviewDecision } from './messages.ts';

/** Cases that hold no money: there is nothing to credit, return or move to unclaimed. */
const WITHOUT_MONEY: Readonly<Record<string, { choices: readonly ReviewAction[]; because: string }>> = {
  reconciliation_break: {
    choices: ['close'],
    because:
      "this case is a break between the rail's statement and the ledger. It holds no money to credit, return or move " +
      'to unclaimed; correct the cause on the side that is wrong, then close the case.',
  },
  credit_unconfirmed: {
    choices: ['retry', 'close'],
    because:
      'the rail did not confirm this credit, so nothing was posted. The case holds no money to credit, return or ' +
      'move to unclaimed; query the rail again with retry, or close the case with evidence.',
  },
  credit_recalled: {
    choices: ['close'],
    because:
      'the bank took back a credit that was more than was left of it. The case holds no money; claim the rest from the ' +
      'owner of the wallet or from the bank and book it by an adjustment. It ends by itself once the wallet has repaid it; ' +
      'close one without a wallet.',
  },
  paid_after_failure: {
    choices: ['close'],
    because:
      'the bank paid a transfer that it had reported as failed, and what the wallet had was taken back. The case holds ' +
      'no money; claim the rest from the bank or book it by an adjustment, then close the case.',
  },
};

const WITH_MONEY: readonly ReviewAction[] = ['credit', 'return_to_sender', 'move_to_unclaimed'];

/** Of a settled payment, whose payer gets money back by a refund. */
const OF_SPLIT: readonly ReviewAction[] = ['credit', 'move_to_unclaimed'];

/** The actions that a case of this reason accepts. */
export const choicesOf = (reason: string): readonly ReviewAction[] =>
  WITHOUT_MONEY[reason]?.choices ?? (reason === 'split_refused' ? OF_SPLIT : WITH_MONEY);

/** The value of the search attribute `Attention` while a case of this reason is open. */
export const attentionOf = (reason: string): string => (reason === 'reconciliation_break' ? reason : 'review');

/** Why a case of this reason accepts no other actions, if it holds no money. */
export const limitOf = (reason: string): string | undefined => WITHOUT_MONEY[reason]?.because;

/** Why a decision is refused; null if it may be tried. */
export function refuseDecision(
  reviewed: { isOpen: boolean; reason: string },
  decision: Partial<ReviewDecision> | null,
): string | null {
  if (!reviewed.isOpen) return 'This case is not open: it is resolved, or a decision is being carried out.';
  const refusal = refuseMessage(decision, choicesOf(reviewed.reason), limitOf(reviewed.reason));
  if (refusal !== null) return refusal;
  const { action, walletId, waiveFee, evidence } = decision ?? {};
  if (waiveFee !== undefined && (waiveFee !== true || action !== 'credit'))
    return 'waiveFee is only allowed with the action credit, as true.';
  if (walletId !== undefined && action !== 'credit') return 'walletId is only allowed with the action credit.';
  if (evidence !== undefined && typeof evidence !== 'string') return 'evidence must be a string.';
  if (action === 'close' && (evidence ?? '').trim() === '')
    return "evidence must say how the case was settled: the bank's ticket, a transaction, a statement.";
  return null;
}

/** The rail's answer about an attempt. `differs`: it has another transfer under this reference. Null: no attempt. */
export type AttemptStatus = RailStatus | 'unreachable' | 'not_ready' | 'differs' | null;

/**
 * What the rail's current status of the last return attempt means for the next decision. `over`: the rail reports that
 * it failed or was returned, so a new reference is safe. `paid`: it is paid, or may be at any moment. `open`: its
 * outcome is uncertain, so only the same reference may be sent again. Null: there was no attempt, which counts as over.
 */
export function decideAfterAttempt(status: AttemptStatus): 'over' | 'paid' | 'open' {
  switch (status) {
    case null:
    case 'failed':
    case 'returned':
      return 'over';
    case 'completed':
    case 'processing':
      return 'paid';
    case 'unknown':
    case 'unreachable':
    case 'not_ready':
    case 'differs':
      return 'open';
  }
}
