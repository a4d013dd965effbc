// Wakes the flow of a bank transfer of whatever kind: after a callback, or after the statement has a return.
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book } from '../../money.ts';
import type { FlowOutboxMessage } from '../../workflows/flows.ts';
import { wakePayoutItem, wakeRefund, wakeReviewCase, wakeWithdrawal } from '../flows.ts';
import { enqueue, isUpdateWaiting } from '../outbox.ts';
import { findPayoutItem } from '../payouts/queries.ts';
import { findRefund } from '../refunds/queries.ts';
import { findReviewCase } from '../reviewCases/queries.ts';
import { type TransferKind, transferOf } from '../tables.ts';
import { findWithdrawal } from '../withdrawals/queries.ts';

type Wake = (sql: Sql, book: Book, id: Uuid) => Promise<FlowOutboxMessage | null>;

const waking =
  <Row>(
    find: (sql: Sql, book: Book, id: Uuid) => Promise<Row | null>,
    message: (book: Book, row: Row) => FlowOutboxMessage,
  ): Wake =>
  async (sql, book, id) => {
    const row = await find(sql, book, id);
    return row && message(book, row);
  };

/** The message that wakes the flow of a transfer; null: there is none. */
const WAKES: Record<TransferKind, Wake> = {
  withdrawal: waking(findWithdrawal, wakeWithdrawal),
  refund: waking(findRefund, wakeRefund),
  payoutItem: waking(findPayoutItem, wakePayoutItem),
  reviewCase: waking(findReviewCase, wakeReviewCase),
};

/** Wakes the flow of a bank transfer, unless it is about to be woken. An unknown reference is ignored. */
export async function wakeTransfer(sql: Sql, book: Book, reference: string): Promise<void> {
  const transfer = transferOf(reference);
  const flow = transfer && (await WAKES[transfer.kind](sql, book, transfer.id));
  if (flow === null || (await isUpdateWaiting(sql, book, flow))) return;
  await enqueue(sql, book, flow);
}
