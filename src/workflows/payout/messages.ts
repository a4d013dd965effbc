// The messages of the payout flow and of the page flows below it.
import type { Kobo } from '../../money.ts';
import type { FlowScope } from '../flows.ts';
import type { Page, PayoutState } from './decide.ts';

export interface PayoutInput extends FlowScope {
  payoutId: string;
  /** The source wallet. */
  walletId: string;
  /** Sum of all items' amounts, without fees. */
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

/** The state of a payout after its roll-up. */
export interface PayoutProgress {
  status: PayoutState;
  completed: number;
  failed: number;
}

export interface PayoutResult {
  status: PayoutState;
}

export interface PayoutActivities {
  /** Lists the items of a page that have not ended. */
  listPayoutItems: (input: PayoutPageInput) => Promise<OpenItem[]>;
  /** If the items have an unreported change, updates the payout's status and writes an event. */
  rollUpPayout: (input: Pick<PayoutInput, 'payoutId' | 'organisationId' | 'environment'>) => Promise<PayoutProgress>;
}
