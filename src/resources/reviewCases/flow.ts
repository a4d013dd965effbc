// Outbox messages that start or wake the flow of a review case.
import { publicId } from '../../ids.ts';
import { type Book, nairaText } from '../../money.ts';
import { withTransferUpdate } from '../../workflows/bankTransfer/messages.ts';
import { type FlowMessage, type FlowOutboxMessage, toOutbox } from '../../workflows/flows.ts';
import type { ReviewCaseInput } from '../../workflows/reviewCase/messages.ts';
import type { ReviewCase } from './queries.ts';

/** The fields that the flow's input is built from. */
type CaseOfFlow = Pick<ReviewCase, 'id' | 'reason' | 'amount' | 'walletId'>;

function reviewCaseFlow(book: Book, { id, reason, amount, walletId }: CaseOfFlow): FlowMessage {
  const input: ReviewCaseInput = {
    ...book,
    transferId: publicId('reviewCase', id),
    reason,
    amount,
    ...(walletId !== null && { walletId: publicId('wallet', walletId) }),
  };
  return {
    workflow: 'reviewCase',
    id: input.transferId,
    summary: `Review of ${nairaText(amount)}: ${reason}`,
    state: 'open',
    input,
  };
}

export const startReviewCase = (book: Book, reviewCase: CaseOfFlow): FlowOutboxMessage =>
  toOutbox(reviewCaseFlow(book, reviewCase));

/**
 * After a change of the case's return transfer or reconciliation break: signals the flow, and starts one if none is
 * running.
 */
export const wakeReviewCase = (book: Book, reviewCase: CaseOfFlow): FlowOutboxMessage =>
  toOutbox(withTransferUpdate(reviewCaseFlow(book, reviewCase)));
