// Wakes the flow of a bank transfer of whatever kind: after a callback, or after the statement has a return.
import type { Sql } from '../../database/pool.ts';
import { parseId, type Uuid } from '../../ids.ts';
import type { Book } from '../../money.ts';
import type { FlowOutboxMessage } from '../../workflows/flows.ts';
import { wakePayoutItem, wakeRefund, wakeReviewCase, wakeWithdrawal } from '../flows.ts';
import { enqueue, isUpdateWaiting } from '../outbox.ts';
import { findPayoutItem } from '../payouts/queries.ts';
import { findRefund } from '../refunds/queries.ts';
import { caseOfReference, findReviewCase } from '../reviewCases/queries.ts';
import { findWithdrawal } from '../withdrawals/queries.ts';

/** Wakes the flow of a bank transfer, unless it is about to be woken. An unknown reference is ignored. */
export async function wakeTransfer(sql: Sql, book: Book, reference: string): Promise<void> {
  const flow = await flowOfTransfer(sql, book, reference);
  if (flow === null || (await isUpdateWaiting(sql, book, flow))) return;
  await enqueue(sql, book, flow);
}

/** The message that wakes the flow of a transfer, by its reference, a public id. Null: it is unknown. */
async function flowOfTransfer(sql: Sql, book: Book, reference: string): Promise<FlowOutboxMessage | null> {
  const wake = async <Row>(
    id: Uuid | null,
    find: (sql: Sql, book: Book, id: Uuid) => Promise<Row | null>,
    message: (book: Book, row: Row) => FlowOutboxMessage,
  ): Promise<FlowOutboxMessage | null> => {
    const row = id === null ? null : await find(sql, book, id);
    return row && message(book, row);
  };
  return (
    (await wake(parseId('withdrawal', reference), findWithdrawal, wakeWithdrawal)) ??
    (await wake(parseId('refund', reference), findRefund, wakeRefund)) ??
    (await wake(parseId('payoutItem', reference), findPayoutItem, wakePayoutItem)) ??
    (await wake(caseOfReference(reference), findReviewCase, wakeReviewCase))
  );
}
