// The messages of the flow of a recall: the bank takes an inbound credit back.
import type { Kobo } from '../../money.ts';
import type { CarriedAttention } from '../attention/park.ts';
import type { FlowScope } from '../flows.ts';
import type { IncompleteWork } from '../railWait/decide.ts';
import type { CarriedRailWaits } from '../railWait/waits.ts';

export interface RecallInput extends FlowScope {
  inboundCreditId: string;
  amount: Kobo;
  /** What the run before this one waited for, if the flow has continued as new. */
  continued?: { rail: CarriedRailWaits; attention?: CarriedAttention };
}

/** The state of the recall after a step. */
export interface RecallProgress {
  status: string;
  /** What could not be done because of the rail; absent if the step is complete. */
  incomplete?: IncompleteWork;
}

export interface RecallResult {
  status: string;
}

export interface RecallActivities {
  /** Confirms the recall with the rail and posts it. */
  applyRecall: (input: RecallInput) => Promise<RecallProgress>;
  /** The same, after an operator's `set_aside`: if the rail still does not confirm it, a review case is opened. */
  setAsideRecall: (input: RecallInput) => Promise<RecallProgress>;
}
