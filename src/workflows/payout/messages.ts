// The messages of the payout flow.
import { type Kobo, nairaText } from '../../money.ts';
import type { FlowScope } from '../flows.ts';

export interface PayoutInput extends FlowScope {
  payoutId: string;
  /** The source wallet. */
  walletId: string;
  /** Sum of all items' amounts, without fees. */
  amount: Kobo;
  itemCount: number;
  /** Set by a run that continues as new: the items that it started and whose end it has not seen. */
  running?: string[];
}

/** An item that has not ended. */
export interface OpenItem {
  itemId: string;
  amount: Kobo;
}

export const itemSummary = (amount: Kobo, walletId: string): string =>
  `Payout item of ${nairaText(amount)} from ${walletId}`;

/** The items of a payout: those that have not ended in batch order, the others counted. */
export interface PayoutProgress {
  openItems: OpenItem[];
  completed: number;
  failed: number;
}

export interface PayoutActivities {
  /** Lists the items that have not ended. If there are none, reports their end: status and event. */
  rollUpPayout: (input: Pick<PayoutInput, 'payoutId' | 'organisationId' | 'environment'>) => Promise<PayoutProgress>;
}
