// The outbox message that starts the flow of an adjustment.
import { publicId } from '../../ids.ts';
import { walletOf } from '../../ledger/chart.ts';
import { type Book, nairaText } from '../../money.ts';
import type { AdjustmentInput } from '../../workflows/adjustment/messages.ts';
import { type FlowOutboxMessage, toOutbox } from '../../workflows/flows.ts';
import { accountsOf } from './postings.ts';
import type { Adjustment } from './queries.ts';

export function startAdjustment(book: Book, { id, postings, reverses }: Adjustment): FlowOutboxMessage {
  const [walletId] = accountsOf(postings).flatMap((account) => walletOf(account) ?? []);
  const amount = postings.reduce((sum, posting) => sum + posting.amount, 0);
  const input: AdjustmentInput = {
    ...book,
    adjustmentId: publicId('adjustment', id),
    amount,
    ...(walletId !== undefined && { walletId }),
  };
  return toOutbox({
    workflow: 'adjustment',
    id: input.adjustmentId,
    summary: `${reverses === null ? 'Adjustment' : 'Reversal of an adjustment'} of ${nairaText(amount)}`,
    state: 'requested',
    input,
  });
}
