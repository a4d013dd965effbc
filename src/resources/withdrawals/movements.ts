// Ledger movements of a withdrawal: held in transit when accepted, then completed by the rail, or returned to the
// wallet, and clawed back if the rail has paid it all the same.
import { publicId } from '../../ids.ts';
import { IN_TRANSIT_WITHDRAWALS, walletAccount } from '../../ledger/chart.ts';
import type { Movement, Transaction } from '../../ledger/movement.ts';
import type { Book, Kobo } from '../../money.ts';
import type { TransferReport } from '../../rail/port.ts';
import {
  type BankTransfer,
  clawable,
  clawBack,
  completeTransfer,
  returnFunds,
  stepTransaction,
} from '../bankTransfers/movements.ts';
import { paidRow, unpaidRow } from '../bankTransfers/rows.ts';
import { newEvent } from '../events.ts';
import type { TransferFailure } from '../failureCodes.ts';
import type { ReturnRefusal } from '../reviewCases/movements.ts';
import { withdrawalView } from '../views.ts';
import type { Withdrawal } from './queries.ts';

const transferOf = (row: Withdrawal): BankTransfer => ({
  ...row,
  kind: 'withdrawal',
  id: publicId('withdrawal', row.id),
  heldIn: IN_TRANSIT_WITHDRAWALS,
  walletId: row.sourceWalletId,
});

/** Moves amount and fee from the wallet into transit. A refusal is returned to the caller. */
export function holdWithdrawal(row: Withdrawal): Transaction {
  // Two postings, because the tier1 limit applies to the amount without the fee.
  const accounts = { debit: walletAccount(row.sourceWalletId), credit: IN_TRANSIT_WITHDRAWALS };
  const postings = [row.amount, row.fee].filter((amount) => amount > 0).map((amount) => ({ ...accounts, amount }));
  return stepTransaction(transferOf(row), 'hold', postings, { effectiveAt: row.createdAt });
}

/** After the rail has paid out. */
export function completeWithdrawal(book: Book, row: Withdrawal, report: TransferReport): Movement {
  const next: Withdrawal = { ...paidRow(row, report), completedAt: new Date() };
  return {
    book,
    transaction: completeTransfer(transferOf(row)),
    rows: { withdrawals: [next] },
    events: [withdrawalEvent('withdrawal.completed', next)],
  };
}

/** After the rail has paid a withdrawal that it reported as failed. `balance`: of the wallet. */
export function clawBackWithdrawal(book: Book, row: Withdrawal, report: TransferReport, balance: Kobo): Movement {
  const transfer = transferOf(row);
  const taken = clawable(transfer, balance);
  const now = new Date();
  const next: Withdrawal = { ...paidRow(row, report, taken), completedAt: now };
  const events = [withdrawalEvent('withdrawal.completed', next)];
  return clawBack(book, transfer, taken, { rows: { withdrawals: [next] }, events, at: now });
}

/** Returns amount and fee to the wallet. */
export function returnWithdrawalFunds(
  book: Book,
  row: Withdrawal,
  change: 'fail' | 'return',
  failure: TransferFailure,
  refusal: ReturnRefusal,
): Movement {
  const now = new Date();
  const outcome = change === 'fail' ? 'failed' : 'returned';
  const next: Withdrawal = {
    ...unpaidRow(row, failure),
    status: outcome,
    completedAt: now,
  };
  const kind = change === 'fail' ? 'withdrawal_failure' : 'withdrawal_return';
  const events = [withdrawalEvent(`withdrawal.${outcome}`, next)];
  return returnFunds(book, transferOf(row), kind, () => refusal, { rows: { withdrawals: [next] }, events, at: now });
}

const withdrawalEvent = (type: 'withdrawal.completed' | 'withdrawal.failed' | 'withdrawal.returned', row: Withdrawal) =>
  newEvent(type, publicId('withdrawal', row.id), withdrawalView(row));
