// The messages of the flow that places money which came to a wallet's deposit account, or to nobody's account.
import type { Kobo } from '../../money.ts';
import type { FlowScope } from '../flows.ts';
import type { IncompleteWork } from '../railWait/decide.ts';

export interface InboundCreditInput extends FlowScope {
  inboundCreditId: string;
  amount: Kobo;
}

/** Where the credit stands after a step. */
export interface InboundCreditProgress {
  status: string;
  /** What the rail left undone; absent when the step did all that it was to do. */
  incomplete?: IncompleteWork;
}

export interface InboundCreditResult {
  status: string;
}

export interface InboundCreditActivities {
  /** Confirms the credit with the rail and posts it where it belongs. */
  placeCredit: (input: InboundCreditInput) => Promise<InboundCreditProgress>;
  /** The same, for an operator who has it set aside: if the rail still does not confirm it, a review case is opened. */
  setAsideDeposit: (input: InboundCreditInput) => Promise<InboundCreditProgress>;
}
