// The rule of two persons: a decision that needs it takes effect when a second operator sends the same decision.
import type { AuditEntry } from './messages.ts';

export interface Decided {
  /** The operator's public id. */
  operator: string;
  /** What is decided, with everything that must be the same. */
  decision: string;
  /** The reason may differ. */
  reason: string;
}

/** Whether a decision takes effect, given the proposal before it. */
export function decideApproval(proposal: Decided | null, decided: Decided, needsTwo: boolean): 'accepted' | 'proposed' {
  if (!needsTwo) return 'accepted';
  return proposal !== null && proposal.decision === decided.decision && proposal.operator !== decided.operator
    ? 'accepted'
    : 'proposed';
}

/** The audit entries of a decision that takes effect. `proposal`: null for the decision of one operator. */
export function auditEntries(action: string, decided: Decided, proposal: Decided | null): AuditEntry[] {
  const entry = (name: string, { operator, reason }: Decided): AuditEntry => ({ operator, action: name, reason });
  return [...(proposal === null ? [] : [entry(`${action}:proposed`, proposal)]), entry(action, decided)];
}

/**
 * Why the message of an operator is refused before its sender is identified; null if it may be tried. `choices` and
 * `because`: as of `refuseAction`.
 */
export function refuseMessage(
  message: { action?: unknown; reason?: unknown; code?: unknown } | null,
  choices: readonly string[],
  because?: string,
): string | null {
  if (message === null || typeof message !== 'object') return 'Send one object: {"action", "reason", "code"}.';
  const { action, reason, code } = message;
  const refusal = refuseAction(action, choices, because);
  if (refusal !== null) return refusal;
  if (isBlank(reason)) return 'reason must say why, for the audit trail.';
  return isBlank(code) ? 'code must say who decides. Make one: npm run cli -- operators code WORKFLOW_ID' : null;
}

/** Why an action is refused; null if it is one of the choices. `because`: why there are no others, as a sentence. */
export function refuseAction(action: unknown, choices: readonly string[], because?: string): string | null {
  if (choices.some((choice) => choice === action)) return null;
  const allowed = `action must be ${choices.length === 1 ? '' : 'one of '}${choices.join(', ')}`;
  return because === undefined ? `${allowed}.` : `${allowed}: ${because}`;
}

const isBlank = (text: unknown): boolean => typeof text !== 'string' || text.trim() === '';
