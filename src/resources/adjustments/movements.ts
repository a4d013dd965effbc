// Ledger movements of an adjustment: requested by one operator, then posted or rejected by another. The audit entry is
// written with each.
import { publicId, type Uuid } from '../../ids.ts';
import { type AccountCode, walletOf } from '../../ledger/chart.ts';
import type { AuditRow, EventRow, Movement } from '../../ledger/movement.ts';
import { netChanges } from '../../ledger/postings.ts';
import { type Book, CURRENCY, type Kobo } from '../../money.ts';
import { nextVersion } from '../bookTable.ts';
import { newEvent } from '../events.ts';
import { startAdjustment } from '../flows.ts';
import type { Adjustment } from './queries.ts';

/** Who decides, and why, for the audit trail. */
export interface Decided {
  operatorId: Uuid;
  reason: string;
}

/** Commits the request and starts the flow that waits for its decision. */
export function openAdjustment(book: Book, row: Adjustment): Movement {
  const by = { operatorId: row.requestedBy, reason: `${row.reason} (${row.evidence})` };
  return {
    book,
    rows: { adjustments: [row], audit_log: [auditEntry('adjustment.request', row, by)] },
    outbox: [startAdjustment(book, row)],
  };
}

/**
 * Posts what was requested. The ledger may refuse it: no wallet goes below zero, none is debited while it is frozen,
 * and a closed one takes no part. A credit is exempt from limits and freezes, like money that comes back.
 */
export function postAdjustment(book: Book, row: Adjustment, by: Decided): Movement {
  const next = decided(row, 'posted', by);
  return {
    book,
    transaction: {
      id: row.id,
      key: keyOf(row.id),
      kind: row.reverses === null ? 'adjustment' : 'adjustment_reversal',
      resource: idOf(row),
      effectiveAt: new Date(),
      rules: 'credit_exempt',
      ...(row.reverses !== null && { reverses: keyOf(row.reverses) }),
      postings: row.postings,
    },
    rows: { adjustments: [next], audit_log: [auditEntry('adjustment.approve', row, by)] },
    events: walletEvents(row),
  };
}

/** Ends it without a posting. */
export function rejectAdjustment(book: Book, row: Adjustment, by: Decided): Movement {
  const next = decided(row, 'rejected', by);
  return { book, rows: { adjustments: [next], audit_log: [auditEntry('adjustment.reject', row, by)] } };
}

const keyOf = (id: Uuid): string => `${publicId('adjustment', id)}/adjustment`;

const idOf = ({ id }: Adjustment): string => publicId('adjustment', id);

const decided = (row: Adjustment, status: 'posted' | 'rejected', { operatorId }: Decided): Adjustment =>
  nextVersion(row, { status, decidedBy: operatorId, decidedAt: new Date() });

const auditEntry = (action: string, row: Adjustment, { operatorId, reason }: Decided): AuditRow => ({
  operatorId,
  action,
  subject: idOf(row),
  reason,
});

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
      direction: change > 0 ? 'credit' : 'debit',
      amount: Math.abs(change),
      currency: CURRENCY,
    });
  });
}
