// The messages of the flow that places a credit to a wallet's deposit account, or to an unknown account number.
import type { Kobo } from '../../money.ts';
import type { CarriedAttention } from '../attention/park.ts';
import type { FlowScope } from '../flows.ts';
import type { IncompleteWork } from '../railWait/decide.ts';
import type { CarriedRailWaits } from '../railWait/waits.ts';

export interface InboundCreditInput extends FlowScope {
  inboundCreditId: string;
  amount: Kobo;
  /** What the run before this one waited for, if the flow has continued as new. */
  continued?: { rail: CarriedRailWaits; attention?: CarriedAttention };
}

/** The state of the credit after a step. */
export interface InboundCreditProgress {
  status: string;
  /** What could not be done because of the rail; absent if the step is complete. */
  incomplete?: IncompleteWork;
}

export interface InboundCreditResult {
  status: string;
}

export interface InboundCreditActivities {
  /** Confirms the credit with the rail and posts it: to its wallet, or to suspense with a review case. */
  placeCredit: (input: InboundCreditInput) => Promise<InboundCreditProgress>;
  /**
   * The same, after an operator's `set_aside`: if the rail still does not confirm the credit, a review case is opened.
   */
  setAsideDeposit: (input: InboundCreditInput) => Promise<InboundCreditProgress>;
}
