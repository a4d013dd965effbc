// The rules of a review case as pure functions: which decision is refused before anything is read and in what words, and
// what an earlier attempt to send the money back means for the next.
import type { RailStatus } from '../bankTransfer/decide.ts';
import type { ReviewAction, ReviewDecision } from './messages.ts';

/** Cases that hold no money: nothing of them can be credited, sent back or kept. */
const WITHOUT_MONEY: Readonly<Record<string, { choices: readonly ReviewAction[]; because: string }>> = {
  reconciliation_break: {
    choices: ['close'],
    because:
      'this case is a break between the rail’s statement and the books. It holds no money that could be credited, sent back or kept; put right what is behind it, each side in its own way, and then say so.',
  },
  credit_unconfirmed: {
    choices: ['retry', 'close'],
    because:
      'the rail did not confirm this credit, so nothing was posted. The case holds no money that could be credited, sent back or kept; ask the rail again, or say with what it was settled.',
  },
};

const WITH_MONEY: readonly ReviewAction[] = ['credit', 'return_to_sender', 'move_to_unclaimed'];

/** What can be asked about a case of this reason. */
export function choicesOf(reason: string): readonly ReviewAction[] {
  return WITHOUT_MONEY[reason]?.choices ?? WITH_MONEY;
}

/** What the search attribute `Attention` says while a case of this reason is open. */
export function attentionOf(reason: string): string {
  return reason === 'reconciliation_break' ? reason : 'review';
}

/** Why this action makes no sense for a case of this reason; null when it does. */
export function refuseAction(reason: string, action: unknown): string | null {
  const choices = choicesOf(reason);
  if (choices.some((choice) => choice === action)) return null;
  const asked = `action must be ${choices.length === 1 ? '' : 'one of '}${choices.join(', ')}`;
  const because = WITHOUT_MONEY[reason]?.because;
  return because === undefined ? `${asked}.` : `${asked}: ${because}`;
}

/** Why a decision is refused; null when it may be tried. */
export function refuseDecision(
  reviewed: { isOpen: boolean; reason: string },
  decision: Partial<ReviewDecision> | null,
): string | null {
  if (!reviewed.isOpen) return 'This case is not open: it is decided, or its money is being sent back.';
  if (decision === null || typeof decision !== 'object') return 'Send one object: {"action", "reason", "operator"}.';
  const { action, walletId, reason, operator, evidence } = decision;
  const refusal = refuseAction(reviewed.reason, action);
  if (refusal !== null) return refusal;
  if (walletId !== undefined && action !== 'credit') return 'walletId goes with the action credit.';
  if (typeof reason !== 'string' || reason.trim() === '') return 'reason must say why, for the audit trail.';
  if (typeof operator !== 'string' || operator.trim() === '') return 'operator must say who decides.';
  if (evidence !== undefined && typeof evidence !== 'string') return 'evidence must be a text.';
  if (action === 'close' && (evidence ?? '').trim() === '')
    return 'evidence must say what it was settled with: the bank’s ticket, a transaction, a statement.';
  return null;
}

/**
 * What the rail’s word on the last attempt to send the money back means for the next decision. `over`: the rail itself
 * says that it failed or came back, so a fresh reference is safe. `paid`: it is paid, or may be at any moment. `open`:
 * nobody knows for sure, so only the same reference may be given again. Null: there was none, which is over too.
 */
export function decideAfterAttempt(word: RailStatus | 'unreachable' | null): 'over' | 'paid' | 'open' {
  switch (word) {
    case null:
    case 'failed':
    case 'returned':
      return 'over';
    case 'completed':
    case 'processing':
      return 'paid';
    case 'unknown':
    case 'unreachable':
      return 'open';
  }
}
