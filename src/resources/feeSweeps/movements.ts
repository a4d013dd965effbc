// The movement of a fee sweep: one transaction, with the audit entry of the operator.
import { newUuid, publicId } from '../../ids.ts';
import { DRAWINGS, walletAccount } from '../../ledger/chart.ts';
import type { Movement } from '../../ledger/movement.ts';
import { type Book, CURRENCY } from '../../money.ts';
import { newEvent } from '../events.ts';
import type { Proof } from '../proofs.ts';
import type { FeeSweep } from './queries.ts';

/**
 * Moves net income to the settlement wallet: a drawing, which leaves income as it was earned. A sweep of more is a
 * conflict (write_rows.sql).
 */
export function feeSweepMovement(book: Book, sweep: FeeSweep, proof: Proof): Movement {
  const id = publicId('feeSweep', sweep.id);
  const { amount, createdAt } = sweep;
  return {
    book,
    transaction: {
      id: newUuid(),
      key: `${id}/sweep`,
      kind: 'fee_sweep',
      resource: id,
      effectiveAt: createdAt,
      rules: 'enforced',
      postings: [{ debit: DRAWINGS, credit: walletAccount(sweep.walletId), amount }],
    },
    rows: { fee_sweeps: [sweep] },
    decision: { proof, action: 'fees.sweep', subject: id, reason: null },
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
