// Ledger movements of an adjustment: requested by one operator, then posted or rejected by another. The database writes
// who that was, by the proof of the decision.
import { publicId } from '../../ids.ts';
import { type AccountCode, walletOf } from '../../ledger/chart.ts';
import type { Decision, EventRow, Movement } from '../../ledger/movement.ts';
import { netChanges } from '../../ledger/postings.ts';
import { type Book, CURRENCY, type Kobo } from '../../money.ts';
import { nextVersion } from '../bookTable.ts';
import { newEvent } from '../events.ts';
import { startAdjustment } from '../flows.ts';
import { newTransaction } from '../movement.ts';
import type { Proof } from '../proofs.ts';
import type { Adjustment } from './queries.ts';

/** `requestedBy` is written by the database. */
export type NewAdjustment = Omit<Adjustment, 'requestedBy'>;

/** Commits the request and starts the flow that waits for its decision. */
export function openAdjustment(book: Book, row: NewAdjustment, proof: Proof): Movement {
  const reason = `${row.reason} (${row.evidence})`;
  return {
    book,
    rows: { adjustments: [row] },
    decision: { proof, action: 'adjustment.request', subject: idOf(row), reason },
    outbox: [startAdjustment(book, row)],
  };
}

/**
 * Posts what was requested. The ledger may refuse it: no wallet goes below zero, none is debited while it is frozen,
 * and a closed one takes no part. A credit is exempt from limits and freezes, like money that comes back.
 */
export function postAdjustment(book: Book, row: Adjustment, decision: Decision): Movement {
  const kind = row.reverses === null ? 'adjustment' : 'adjustment_reversal';
  return {
    book,
    transaction: newTransaction(idOf(row), 'adjustment', kind, row.postings, {
      id: row.id,
      effectiveAt: row.effectiveAt ?? new Date(),
      rules: 'credit_exempt',
      ...(row.reverses !== null && { reverses: `${publicId('adjustment', row.reverses)}/adjustment` }),
    }),
    rows: { adjustments: [decided(row, 'posted')] },
    decision,
    events: walletEvents(row),
  };
}

/** Ends it without a posting. */
export const rejectAdjustment = (book: Book, row: Adjustment, decision: Decision): Movement => ({
  book,
  rows: { adjustments: [decided(row, 'rejected')] },
  decision,
});

const idOf = ({ id }: Pick<Adjustment, 'id'>): string => publicId('adjustment', id);

/** `decidedBy` is written by the database, which knows whose code it is. */
const decided = (row: Adjustment, status: 'posted' | 'rejected'): Adjustment =>
  nextVersion(row, { status, decidedBy: null, decidedAt: new Date() });

/** An event for each wallet whose balance changes, with the net change. */
function walletEvents(row: Adjustment): EventRow[] {
  const changes = row.postings.flatMap(({ debit, credit, amount }): [AccountCode, Kobo][] => [
    [debit, -amount],
    [credit, amount],
  ]);
  return [...netChanges(changes)].flatMap(([account, change]) => {
    const walletId = walletOf(account);
    if (walletId === null) return [];
    return newEvent('wallet.adjusted', walletId, {
      walletId,
      adjustmentId: idOf(row),
      reversesAdjustmentId: row.reverses === null ? null : publicId('adjustment', row.reverses),
      correctsResourceId: row.corrects,
      description: row.description,
      direction: change > 0 ? 'credit' : 'debit',
      amount: Math.abs(change),
      currency: CURRENCY,
    });
  });
}
