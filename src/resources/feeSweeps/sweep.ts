// Sweeps net income to the settlement wallet, once per key.
import type { Sql } from '../../database/pool.ts';
import { newUuid } from '../../ids.ts';
import type { Journal } from '../../ledger/journal.ts';
import type { RefusalCode } from '../../ledger/movement.ts';
import type { Book, Kobo } from '../../money.ts';
import type { Proof } from '../proofs.ts';
import { feeSweepMovement } from './movements.ts';
import { type FeeSweep, findFeeSweep, findNetIncome } from './queries.ts';

/** `unchanged`: the key was swept before. `too_much`: the net income is less than the amount, or nothing. */
export type SweepOutcome =
  | { outcome: 'swept' | 'unchanged'; sweep: FeeSweep }
  | { outcome: 'too_much'; net: Kobo }
  | { outcome: 'refused'; code: RefusalCode };

/** `amount` undefined: all of the net income. */
export async function sweepFees(
  sql: Sql,
  journal: Journal,
  book: Book,
  { key, amount, proof }: { key: string; amount: Kobo | undefined; proof: Proof },
): Promise<SweepOutcome> {
  const swept = await findFeeSweep(sql, book, key);
  if (swept !== null) return { outcome: 'unchanged', sweep: swept };
  const found = await findNetIncome(sql, book);
  if (found === null) throw new Error('the book has no settlement wallet');
  const sweep: FeeSweep = {
    id: newUuid(),
    key,
    walletId: found.walletId,
    amount: amount ?? found.net,
    createdAt: new Date(),
  };
  if (sweep.amount <= 0) return { outcome: 'too_much', net: found.net };
  const result = await journal.post(feeSweepMovement(book, sweep, proof));
  switch (result.outcome) {
    case 'posted':
    case 'duplicate':
      return { outcome: 'swept', sweep };
    case 'refused':
      return { outcome: 'refused', code: result.code };
    case 'conflict': {
      // Another command swept this key, or the net income is less than the amount by now.
      const other = await findFeeSweep(sql, book, key);
      if (other !== null) return { outcome: 'unchanged', sweep: other };
      return { outcome: 'too_much', net: (await findNetIncome(sql, book))?.net ?? 0 };
    }
    case 'duplicate_differs':
      throw new Error(`the transaction of the fee sweep ${sweep.id} exists with other postings`);
  }
}
