// How the flows of a payout and of its items are started and woken. They run on the payouts' own queue.
import { publicId } from '../../ids.ts';
import type { Book } from '../../money.ts';
import { transferUpdated } from '../../workflows/bankTransfer/messages.ts';
import { type FlowOutboxMessage, toOutbox } from '../../workflows/flows.ts';
import type { PayoutInput } from '../../workflows/payout/messages.ts';
import { type PayoutItemInput, payoutItemSummary } from '../../workflows/payoutItem/messages.ts';
import type { ItemWithWallet, Payout } from './queries.ts';

export function startPayout(book: Book, payout: Payout): FlowOutboxMessage {
  const input: PayoutInput = {
    ...book,
    payoutId: publicId('payout', payout.id),
    walletId: publicId('wallet', payout.sourceWalletId),
    amount: payout.totalAmount,
    itemCount: payout.itemCount,
  };
  return toOutbox({
    workflow: 'payout',
    id: input.payoutId,
    summary: `Payout of ${input.amount} kobo in ${input.itemCount} items from ${input.walletId}`,
    state: 'processing',
    queue: 'payouts',
    input,
  });
}

/**
 * The rail reported something about an item: wakes its flow, or starts one that follows up on an item that ended. The first flow of
 * an item is a child of its payout's.
 */
export function wakePayoutItem(book: Book, { item, sourceWalletId }: ItemWithWallet): FlowOutboxMessage {
  const input: PayoutItemInput = {
    ...book,
    payoutId: publicId('payout', item.payoutId),
    walletId: publicId('wallet', sourceWalletId),
    transferId: publicId('payoutItem', item.id),
    amount: item.amount,
  };
  return toOutbox({
    workflow: 'payoutItem',
    id: input.transferId,
    summary: payoutItemSummary(input),
    state: 'processing',
    queue: 'payouts',
    input,
    signal: { name: transferUpdated.name, payload: null },
  });
}
