// How the flow of a review case is started and woken.
import { publicId } from '../../ids.ts';
import type { Book } from '../../money.ts';
import { transferUpdated } from '../../workflows/bankTransfer/messages.ts';
import { type FlowMessage, type FlowOutboxMessage, toOutbox } from '../../workflows/flows.ts';
import type { ReviewCaseInput } from '../../workflows/reviewCase/messages.ts';
import type { ReviewCase } from './queries.ts';

/** What the flow's input is made of. */
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
    summary: `Review of ${amount} kobo: ${reason}`,
    state: 'open',
    input,
  };
}

export const startReviewCase = (book: Book, reviewCase: CaseOfFlow): FlowOutboxMessage =>
  toOutbox(reviewCaseFlow(book, reviewCase));

/** Its transfer or its break has changed: wakes a flow that waits, or starts one. */
export const wakeReviewCase = (book: Book, reviewCase: CaseOfFlow): FlowOutboxMessage =>
  toOutbox({ ...reviewCaseFlow(book, reviewCase), signal: { name: transferUpdated.name, payload: null } });
