// The messages of the payout flow and of the page flows below it.
import type { Kobo } from '../../money.ts';
import type { FlowScope } from '../flows.ts';
import type { Page, PayoutState } from './decide.ts';

export interface PayoutInput extends FlowScope {
  payoutId: string;
  /** The wallet that the money came from. */
  walletId: string;
  /** All items' amounts, without fees. */
  amount: Kobo;
  itemCount: number;
}

export interface PayoutPageInput extends FlowScope {
  payoutId: string;
  walletId: string;
  page: Page;
}

/** An item that has not ended. */
export interface OpenItem {
  itemId: string;
  amount: Kobo;
}

/** Where a payout stands after its roll-up. */
export interface PayoutProgress {
  status: PayoutState;
  completed: number;
  failed: number;
}

export interface PayoutResult {
  status: PayoutState;
}

export interface PayoutActivities {
  /** The items of a page that have not ended. */
  listPayoutItems: (input: PayoutPageInput) => Promise<OpenItem[]>;
  /** Tells what the items have become, when that is news: the status changes and an event is written. */
  rollUpPayout: (input: Pick<PayoutInput, 'payoutId' | 'organisationId' | 'environment'>) => Promise<PayoutProgress>;
}
