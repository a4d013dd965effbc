// Outbox messages that start or wake the flow of a withdrawal.
import { publicId } from '../../ids.ts';
import { type Book, nairaText } from '../../money.ts';
import { withTransferUpdate } from '../../workflows/bankTransfer/messages.ts';
import { type FlowMessage, type FlowOutboxMessage, toOutbox } from '../../workflows/flows.ts';
import type { WithdrawalInput } from '../../workflows/withdrawal/messages.ts';
import type { Withdrawal } from './queries.ts';

function withdrawalFlow(book: Book, withdrawal: Withdrawal): FlowMessage {
  const input: WithdrawalInput = {
    ...book,
    transferId: publicId('withdrawal', withdrawal.id),
    walletId: publicId('wallet', withdrawal.sourceWalletId),
    amount: withdrawal.amount,
  };
  return {
    workflow: 'withdrawal',
    id: input.transferId,
    summary: `Withdrawal of ${nairaText(input.amount)} from ${input.walletId}`,
    state: 'processing',
    input,
  };
}

export const startWithdrawal = (book: Book, withdrawal: Withdrawal): FlowOutboxMessage =>
  toOutbox(withdrawalFlow(book, withdrawal));

/**
 * After an update from the rail: signals the withdrawal's flow, and starts one if none is running, because a completed
 * withdrawal may still be returned.
 */
export const wakeWithdrawal = (book: Book, withdrawal: Withdrawal): FlowOutboxMessage =>
  toOutbox(withTransferUpdate(withdrawalFlow(book, withdrawal)));
