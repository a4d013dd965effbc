// The messages of the payout flow and of the page flows below it.
import type { Kobo } from '../../money.ts';
import type { FlowMessage, FlowScope } from '../flows.ts';
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

/** Starts the flow of a payout, on the payouts' own queue. */
export function payoutFlow(input: PayoutInput): FlowMessage {
  return {
    workflow: 'payout',
    id: input.payoutId,
    summary: `Payout of ${input.amount} kobo in ${input.itemCount} items from ${input.walletId}`,
    state: 'processing',
    queue: 'payouts',
    input,
  };
}
