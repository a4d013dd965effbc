// The messages that the flows of an inbound credit and of its recall share.
import type { Kobo } from '../../money.ts';
import type { CarriedAttention } from '../attention/park.ts';
import type { FlowScope } from '../flows.ts';
import type { SentDecision } from '../operators/messages.ts';
import type { IncompleteWork, RailWait } from './decide.ts';

/** What waits, for the next run of a flow that continues as new. */
export interface CarriedRailWaits {
  waits: RailWait[];
  /** Public ids of credits to be set aside, and the decision that says so. */
  setAside: string[];
  setAsideBy: SentDecision | null;
}

export interface CreditInput extends FlowScope {
  inboundCreditId: string;
  amount: Kobo;
  /** What the run before this one waited for, if the flow has continued as new. */
  continued?: { rail: CarriedRailWaits; attention?: CarriedAttention };
}

/** The state of the credit, or of its recall, after a step. */
export interface CreditProgress {
  status: string;
  /** What could not be done because of the rail; absent if the step is complete. */
  incomplete?: IncompleteWork;
}

/** `setAside`: an operator has decided that a review case is opened for what the rail still does not confirm. */
export interface CreditOptions {
  setAside: SentDecision | null;
}

export type CreditActivity = (input: CreditInput, options: CreditOptions) => Promise<CreditProgress>;

export interface CreditActivities {
  /** Confirms the credit with the rail and posts it: to its wallet, or to suspense with a review case. */
  applyDeposit: CreditActivity;
  /** Confirms the recall with the rail and posts it. */
  applyRecall: CreditActivity;
}
