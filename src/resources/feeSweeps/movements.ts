// The movement of a fee sweep: one transaction, with the audit entry of the operator.
import { publicId } from '../../ids.ts';
import { DRAWINGS, walletAccount } from '../../ledger/chart.ts';
import type { Movement } from '../../ledger/movement.ts';
import type { Book } from '../../money.ts';
import { walletCredited } from '../events.ts';
import { newTransaction } from '../movement.ts';
import type { Proof } from '../proofs.ts';
import type { FeeSweep } from './queries.ts';

/**
 * Moves net income to the settlement wallet: a drawing, which leaves income as it was earned. A sweep of more is a
 * conflict (write_rows.sql).
 */
export function feeSweepMovement(book: Book, sweep: FeeSweep, proof: Proof): Movement {
  const id = publicId('feeSweep', sweep.id);
  const postings = [{ debit: DRAWINGS, credit: walletAccount(sweep.walletId), amount: sweep.amount }];
  return {
    book,
    transaction: newTransaction(id, 'sweep', 'fee_sweep', postings, { effectiveAt: sweep.createdAt }),
    rows: { fee_sweeps: [sweep] },
    decision: { proof, action: 'fees.sweep', subject: id, reason: null },
    events: [walletCredited(sweep.walletId, sweep.amount, { feeSweepId: id })],
  };
}
