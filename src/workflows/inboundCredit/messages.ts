// The activities of the flow of a credit to a wallet's deposit account, or to an unknown account number.
import type { CreditActivity } from '../railWait/messages.ts';

export interface InboundCreditActivities {
  /** Confirms the credit with the rail and posts it: to its wallet, or to suspense with a review case. */
  applyDeposit: CreditActivity;
  /**
   * The same, after an operator's `set_aside`: if the rail still does not confirm the credit, a review case is opened.
   */
  setAsideDeposit: CreditActivity;
}
