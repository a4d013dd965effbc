// The activities of the flow of a recall: the bank takes an inbound credit back.
import type { CreditActivity } from '../railWait/messages.ts';

export interface RecallActivities {
  /** Confirms the recall with the rail and posts it. */
  applyRecall: CreditActivity;
  /** The same, after an operator's `set_aside`: if the rail still does not confirm it, a review case is opened. */
  setAsideRecall: CreditActivity;
}
