// Ledger movements of a withdrawal: held in transit when accepted, then completed by the rail, or returned to the
// wallet, and clawed back if the rail has paid it all the same.
import { newUuid, publicId } from '../../ids.ts';
import { FEE_INCOME, IN_TRANSIT_WITHDRAWALS, UNMATCHED, walletAccount } from '../../ledger/chart.ts';
import type { Movement, Transaction } from '../../ledger/movement.ts';
import { allocate } from '../../ledger/postings.ts';
import type { Book, Kobo } from '../../money.ts';
import type { TransferReport } from '../../rail/port.ts';
import { type BankTransferStep, clawable, clawBack, undoClawback } from '../clawbacks/movements.ts';
import { newEvent } from '../events.ts';
import { type DecidedBy, failureCodeOf } from '../failureCodes.ts';
import { payoutAccount } from '../rails/accounts.ts';
import { closedWalletCase, withCaseFlows } from '../reviewCases/movements.ts';
import { withdrawalView } from '../views.ts';
import type { Withdrawal } from './queries.ts';

const keyOf = (row: Withdrawal, step: BankTransferStep): string => `${publicId('withdrawal', row.id)}/${step}`;

/** Moves amount and fee from the wallet into transit. A refusal is returned to the caller. */
export function holdWithdrawal(row: Withdrawal): Transaction {
  return {
    id: newUuid(),
    key: keyOf(row, 'hold'),
    kind: 'withdrawal_hold',
    resource: publicId('withdrawal', row.id),
    effectiveAt: row.createdAt,
    rules: 'enforced',
    // Two postings, because the tier1 limit applies to the amount without the fee.
    postings: [row.amount, row.fee].map((amount) => ({
      debit: walletAccount(row.sourceWalletId),
      credit: IN_TRANSIT_WITHDRAWALS,
      amount,
    })),
  };
}

/** After the rail has paid out: the amount leaves through the clearing account, the fee becomes income. */
export function completeWithdrawal(book: Book, row: Withdrawal, report: TransferReport): Movement {
  const now = new Date();
  const next: Withdrawal = {
    ...row,
    version: row.version + 1,
    status: 'completed',
    sessionId: report.sessionId,
    completedAt: now,
  };
  return {
    book,
    transaction: {
      id: newUuid(),
      key: keyOf(row, 'completion'),
      kind: 'withdrawal_completion',
      resource: publicId('withdrawal', row.id),
      effectiveAt: now,
      rules: 'enforced',
      resolves: keyOf(row, 'hold'),
      postings: allocate(
        [{ account: IN_TRANSIT_WITHDRAWALS, amount: row.amount + row.fee }],
        [
          { account: payoutAccount(row.rail), amount: row.amount },
          { account: FEE_INCOME, amount: row.fee },
        ],
      ),
    },
    rows: { withdrawals: [next] },
    events: [withdrawalEvent('withdrawal.completed', next)],
  };
}

/** After the rail has paid a withdrawal that it reported as failed. `balance`: of the wallet. */
export function clawBackWithdrawal(book: Book, row: Withdrawal, report: TransferReport, balance: Kobo): Movement {
  const taken = clawable(row, balance);
  const next: Withdrawal = {
    ...row,
    version: row.version + 1,
    status: 'completed',
    failureCode: null,
    failureReason: null,
    sessionId: report.sessionId ?? row.sessionId,
    completedAt: new Date(),
    clawedBack: taken,
  };
  const movement = clawBack({
    ...row,
    book,
    transfer: publicId('withdrawal', row.id),
    kind: 'withdrawal_clawback',
    walletId: row.sourceWalletId,
    taken,
  });
  return {
    ...movement,
    rows: { ...movement.rows, withdrawals: [next] },
    events: [...(movement.events ?? []), withdrawalEvent('withdrawal.completed', next)],
  };
}

/**
 * Returns amount and fee to the wallet, once: from transit, or, if the withdrawal was completed before, from clearing
 * and fee income. After a clawback, what that took. If the wallet has been closed, the money goes to suspense with a
 * review case for an operator.
 */
export function returnWithdrawalFunds(
  book: Book,
  row: Withdrawal,
  change: 'fail' | 'return',
  report: TransferReport,
  { walletIsClosed, decidedBy }: { walletIsClosed: boolean; decidedBy: DecidedBy },
): Movement {
  const now = new Date();
  const { clawedBack } = row;
  const total = clawedBack ?? row.amount + row.fee;
  const next: Withdrawal = {
    ...row,
    version: row.version + 1,
    status: change === 'fail' ? 'failed' : 'returned',
    failureCode: failureCodeOf(change, decidedBy),
    failureReason:
      report.reason ?? (change === 'fail' ? 'The bank refused the transfer' : 'The bank returned the money'),
    sessionId: report.sessionId ?? row.sessionId,
    completedAt: now,
  };
  const sources =
    row.status === 'completed'
      ? [
          { account: payoutAccount(row.rail), amount: row.amount },
          { account: FEE_INCOME, amount: row.fee },
        ]
      : [{ account: IN_TRANSIT_WITHDRAWALS, amount: total }];
  const destination = walletIsClosed ? UNMATCHED : walletAccount(row.sourceWalletId);
  const opensCase = walletIsClosed && total > 0;
  return withCaseFlows({
    book,
    transaction: {
      id: newUuid(),
      key: keyOf(row, clawedBack === null ? 'return' : 'clawback_return'),
      kind: change === 'fail' ? 'withdrawal_failure' : 'withdrawal_return',
      resource: publicId('withdrawal', row.id),
      effectiveAt: now,
      rules: 'credit_exempt',
      ...(clawedBack === null
        ? {
            reverses: keyOf(row, row.status === 'completed' ? 'completion' : 'hold'),
            postings: allocate(sources, [{ account: destination, amount: total }]),
          }
        : { reverses: keyOf(row, 'clawback'), postings: undoClawback(row, clawedBack, destination) }),
    },
    rows: {
      withdrawals: [next],
      review_cases: opensCase ? [closedWalletCase(total, row.sourceWalletId)] : [],
    },
    events: [withdrawalEvent(change === 'fail' ? 'withdrawal.failed' : 'withdrawal.returned', next)],
  });
}

const withdrawalEvent = (type: 'withdrawal.completed' | 'withdrawal.failed' | 'withdrawal.returned', row: Withdrawal) =>
  newEvent(type, publicId('withdrawal', row.id), withdrawalView(row));
