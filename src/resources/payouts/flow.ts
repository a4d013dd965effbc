// Outbox messages that start or wake the flows of a payout and its items. They run on a task queue of their own.
import { publicId } from '../../ids.ts';
import { type Book, nairaText } from '../../money.ts';
import { withTransferUpdate } from '../../workflows/bankTransfer/messages.ts';
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
    summary: `Payout of ${nairaText(input.amount)} in ${input.itemCount} items from ${input.walletId}`,
    state: 'processing',
    queue: 'payouts',
    input,
  });
}

/**
 * After an update from the rail: signals the item's flow, and starts one if none is running, because a completed item
 * may still be returned. The first flow of an item is a child workflow of its payout's flow.
 */
export function wakePayoutItem(book: Book, { item, sourceWalletId }: ItemWithWallet): FlowOutboxMessage {
  const input: PayoutItemInput = {
    ...book,
    payoutId: publicId('payout', item.payoutId),
    walletId: publicId('wallet', sourceWalletId),
    transferId: publicId('payoutItem', item.id),
    amount: item.amount,
  };
  return toOutbox(
    withTransferUpdate({
      workflow: 'payoutItem',
      id: input.transferId,
      summary: payoutItemSummary(input),
      state: 'processing',
      queue: 'payouts',
      input,
    }),
  );
}
