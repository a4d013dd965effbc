// The outbox message that starts or signals the flow of an inbound credit: its payment's flow, or a flow of its own.
import { publicId } from '../../ids.ts';
import { type Book, nairaText } from '../../money.ts';
import { type FlowOutboxMessage, toOutbox } from '../../workflows/flows.ts';
import type { CreditInput } from '../../workflows/railWait/messages.ts';
import { creditPayment, type PaymentOfFlow } from '../payments/flow.ts';
import type { InboundCredit } from './queries.ts';

/** `payment`: the payment whose account number was credited; null for a deposit account or an unknown account. */
export function startInboundCredit(
  book: Book,
  credit: InboundCredit,
  payment: PaymentOfFlow | null,
): FlowOutboxMessage {
  if (payment !== null) return creditPayment(book, payment, credit.id);
  const input: CreditInput = {
    ...book,
    inboundCreditId: publicId('inboundCredit', credit.id),
    amount: credit.amount,
    ...(credit.ownerId !== null && { walletId: publicId('wallet', credit.ownerId) }),
  };
  return toOutbox({
    workflow: 'inboundCredit',
    id: input.inboundCreditId,
    summary: `Credit of ${nairaText(input.amount)} ${input.walletId === undefined ? 'to an unknown account' : `to ${input.walletId}`}`,
    state: 'received',
    input,
  });
}
