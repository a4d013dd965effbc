// The outbox message that starts the flow of a recall.
import { publicId, type Uuid } from '../../ids.ts';
import { type Book, nairaText } from '../../money.ts';
import { type FlowOutboxMessage, toOutbox } from '../../workflows/flows.ts';
import type { CreditInput } from '../../workflows/railWait/messages.ts';
import type { InboundCredit } from '../inboundCredits/queries.ts';

/** The workflow id of a credit's recall. */
export const recallFlowId = (creditId: Uuid): string => `${publicId('inboundCredit', creditId)}/recall`;

export function startRecall(book: Book, credit: InboundCredit): FlowOutboxMessage {
  const input: CreditInput = {
    ...book,
    inboundCreditId: publicId('inboundCredit', credit.id),
    amount: credit.amount,
    ...(credit.ownerKind === 'wallet' && credit.ownerId !== null && { walletId: publicId('wallet', credit.ownerId) }),
  };
  return toOutbox({
    workflow: 'recall',
    id: recallFlowId(credit.id),
    summary: `Recall of ${nairaText(input.amount)} of ${input.inboundCreditId}`,
    state: 'received',
    input,
  });
}
