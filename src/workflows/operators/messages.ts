// Decisions of operators: a message carries a code that the operator's key made, and the statement that carries the
// decision out proves with it who decided. Nothing that a workflow says of operators is believed.
import type { FlowScope } from '../flows.ts';

export const OPERATOR_SCOPES = ['view', 'support', 'finance', 'admin'] as const;

/** What an operator may do. Every operator may `view`. */
export type OperatorScope = (typeof OPERATOR_SCOPES)[number];

/** What an operator sends to decide. */
export interface OperatorMessage<Action> {
  action: Action;
  /** Why, for the audit trail. */
  reason: string;
  /** The operator's code for this action in this workflow. */
  code: string;
  /** Supporting evidence, for example the bank's ticket. */
  evidence?: string;
}

/** A decision as a workflow passes it on, with the code that proves to the database who made it. */
export interface SentDecision {
  /** As `npm run cli -- operators code WORKFLOW_ID ACTION` printed it. */
  code: string;
  /** The workflow that received it: a code is valid for one, and for one action. */
  subject: string;
  /** As in the audit log: the rules are by this name (src/ledger/sql/decisions.sql). */
  action: string;
  /** Public id of the wallet that it names. */
  wallet?: string | undefined;
  /** What must be the same when a second operator sends it, for example why and since when the flow is parked. */
  about: string;
  /** Why, for the audit trail. */
  reason: string;
}

/** `operator`: the public id of who proposes it. `message`: why the decision is refused, and what to do. */
export type DecisionOutcome =
  | { outcome: 'accepted' }
  | { outcome: 'proposed'; operator: string }
  | { outcome: 'refused'; message: string };

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

/** The answer of the activity. `denied`: the code does not prove who decides, so the message fails. */
export type AppliedDecision = Omit<DecisionAnswer, 'outcome'> & {
  outcome: DecisionAnswer['outcome'] | 'denied';
  /** With `proposed`: the public id of the operator. */
  operator?: string;
};

export interface OperatorActivities {
  /** Writes the audit entry of a decision that moves no money; of any other, says whether it takes effect. */
  recordDecision: (scope: FlowScope, sent: SentDecision) => Promise<DecisionOutcome>;
}
