// How a workflow learns which operator decides: the message carries a code that the operator's key made, and an
// activity returns whose code it is. A workflow keeps the operator's public id; names are only in the database.
export const OPERATOR_SCOPES = ['view', 'support', 'finance', 'admin'] as const;

/** What an operator may do. Every operator may `view`. */
export type OperatorScope = (typeof OPERATOR_SCOPES)[number];

/** What an operator sends to decide. */
export interface OperatorMessage<Action> {
  action: Action;
  /** Why, for the audit trail. */
  reason: string;
  /** The operator's code for this workflow. */
  code: string;
  /** Supporting evidence, for example the bank's ticket. */
  evidence?: string;
}

export interface OperatorCode {
  /** As `npm run cli -- operators code WORKFLOW_ID` printed it. */
  code: string;
  /** The workflow that received it: a code is valid for one. */
  workflowId: string;
  /** The batch operation that the message is part of: the code is then valid for this batch. */
  batch?: string;
  /** The scope that the decision needs. */
  scope: OperatorScope;
  /**
   * What is decided. A code is valid for the first decision that it is used for, also when that is sent again, and for
   * no other: it is in the history, where others read it.
   */
  decision: string;
}

/** The operator's public id; or why the code is refused, as a message that says what to do. */
export type Identified = { operator: string } | { refusal: string };

/**
 * The result of a decision about a resource. `proposed`: it is done when a second operator sends the same. `refused`:
 * by a rule, the ledger or the facts; `message` says why, and the resource stays open.
 */
export interface DecisionAnswer {
  outcome: 'done' | 'proposed' | 'refused';
  message: string;
  /** Status of the resource afterwards. */
  status: string;
}

/** What an operator did, for the audit log. */
export interface AuditEntry {
  /** The operator's public id. */
  operator: string;
  action: string;
  reason: string;
}

export interface OperatorActivities {
  identifyOperator: (code: OperatorCode) => Promise<Identified>;
}
