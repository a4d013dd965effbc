// The messages of the flow that places money which came to a wallet's deposit account, or to nobody's account.
import type { Kobo } from '../../money.ts';
import type { FlowMessage, FlowScope } from '../flows.ts';
import type { Undone } from '../railWait/decide.ts';

export interface InboundCreditInput extends FlowScope {
  inboundCreditId: string;
  amount: Kobo;
}

/** Where the credit stands after a step. */
export interface InboundCreditProgress {
  status: string;
  /** What the rail left undone; absent when the step did all that it was to do. */
  undone?: Undone;
}

export interface InboundCreditResult {
  status: string;
}

export function inboundCreditFlow(input: InboundCreditInput): FlowMessage {
  return {
    workflow: 'inboundCredit',
    id: input.inboundCreditId,
    summary: `Credit of ${input.amount} kobo ${input.walletId === undefined ? 'to an unknown account' : `to ${input.walletId}`}`,
    state: 'received',
    input,
  };
}
