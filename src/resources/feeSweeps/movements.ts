// The movement of a fee sweep: one transaction, with the audit entry of the operator.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import { FEE_INCOME, walletAccount } from '../../ledger/chart.ts';
import type { AuditRow, Movement } from '../../ledger/movement.ts';
import { type Book, CURRENCY } from '../../money.ts';
import { newEvent } from '../events.ts';
import type { FeeSweep } from './queries.ts';

/** Moves fee income to the settlement wallet. A sweep of more than the income is a conflict (write_rows.sql). */
export function feeSweepMovement(book: Book, sweep: FeeSweep, operatorId: Uuid): Movement {
  const id = publicId('feeSweep', sweep.id);
  const { amount, createdAt } = sweep;
  const audit: AuditRow = { operatorId, action: 'fees.sweep', subject: id, reason: null };
  return {
    book,
    transaction: {
      id: newUuid(),
      key: `${id}/sweep`,
      kind: 'fee_sweep',
      resource: id,
      effectiveAt: createdAt,
      rules: 'enforced',
      postings: [{ debit: FEE_INCOME, credit: walletAccount(sweep.walletId), amount }],
    },
    rows: { fee_sweeps: [sweep], audit_log: [audit] },
    events: [
      newEvent('wallet.credited', publicId('wallet', sweep.walletId), {
        walletId: publicId('wallet', sweep.walletId),
        inboundCreditId: null,
        feeSweepId: id,
        amount,
        currency: CURRENCY,
        sessionId: null,
      }),
    ],
  };
}
