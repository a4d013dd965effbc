// The rules of a review case as a pure function: which decision is refused before anything is read, and in what words.
import { REVIEW_ACTIONS, type ReviewDecision } from './messages.ts';

/** Why a decision is refused; null when it may be tried. */
export function refuseDecision(isOpen: boolean, decision: Partial<ReviewDecision> | null): string | null {
  if (!isOpen) return 'This case is not open: it is decided, or its money is being sent back.';
  if (decision === null || typeof decision !== 'object') return 'Send one object: {"action", "reason", "operator"}.';
  const { action, walletId, reason, operator } = decision;
  if (action === undefined || !REVIEW_ACTIONS.includes(action))
    return `action must be one of ${REVIEW_ACTIONS.join(', ')}.`;
  if (walletId !== undefined && action !== 'credit') return 'walletId goes with the action credit.';
  if (typeof reason !== 'string' || reason.trim() === '') return 'reason must say why, for the audit trail.';
  if (typeof operator !== 'string' || operator.trim() === '') return 'operator must say who decides.';
  return null;
}
