// The rule of two persons: a decision that needs it takes effect when a second operator sends the same decision.

/** What is compared: who decides, and what. The reason may differ. */
export interface Decided {
  /** The operator's public id. */
  operator: string;
  /** What is decided, with everything that must be the same. */
  decision: string;
}

/** Whether a decision takes effect, given the proposal before it. */
export function decideApproval(proposal: Decided | null, decided: Decided, needsTwo: boolean): 'accepted' | 'proposed' {
  if (!needsTwo) return 'accepted';
  return proposal !== null && proposal.decision === decided.decision && proposal.operator !== decided.operator
    ? 'accepted'
    : 'proposed';
}
