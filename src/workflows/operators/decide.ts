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

/** What the Temporal UI shows of a proposal. */
export function proposalText({ operator, decision, reason }: Decided): string {
  return `**Proposed by ${operator}: ${decision}** (${reason}). It takes effect when a second operator sends the same.`;
}

/** What the Temporal UI shows about the code of a message. */
export const CODE_TEXT =
  'For the code, which says who you are, run `npm run cli -- operators code` with the id of this workflow.';

/** Why a message without a code is refused; null if it has one. */
export function refuseWithoutCode(code: unknown): string | null {
  return typeof code === 'string' && code.trim() !== ''
    ? null
    : 'code must say who decides. Make one: npm run cli -- operators code WORKFLOW_ID';
}
