// The movement of a decision about money in suspense, for operators and for callers with a key.
import type { Uuid } from '../../ids.ts';
import type { Movement } from '../../ledger/movement.ts';
import type { Book } from '../../money.ts';
import { decideReviewedCredit } from '../../workflows/payment/decide.ts';
import type { PaymentWithAccount } from '../payments/queries.ts';
import type { KeyAction } from './actions.ts';
import { creditCase, creditCaseToPayment, holdReturn, moveCaseToUnclaimed } from './movements.ts';
import type { findSenders, ReviewCase } from './queries.ts';

/** Why a decision cannot be carried out. */
export type DecisionProblem = 'sender_unknown' | 'wallet_unknown' | 'payment_incomplete';

type Sender = Awaited<ReturnType<typeof findSenders>>[number];

interface CaseDecision {
  action: KeyAction;
  walletId: Uuid | null;
  senders: readonly Sender[];
  /** The references used to return the money, with that of this decision. */
  attempts: number;
  /** What the money was received for. */
  payment: PaymentWithAccount | null;
  waivesFee: boolean;
}

/** The movement of a decision about money. */
export function decisionMovement(
  book: Book,
  row: ReviewCase,
  { action, walletId, senders, attempts, payment, waivesFee }: CaseDecision,
): Movement | DecisionProblem {
  if (action === 'move_to_unclaimed') return moveCaseToUnclaimed(book, row, payment);
  if (action === 'return_to_sender') {
    const [sender] = senders;
    if (sender === undefined || senders.length > 1) return 'sender_unknown';
    return holdReturn(book, row, { rail: sender.rail, attempts }, payment);
  }
  if (walletId === null) return 'wallet_unknown';
  const ofSplit =
    row.reason === 'split_refused' && payment?.splits.some((split) => split.walletId === walletId) === true;
  if (payment === null || (walletId !== payment.targetWalletId && !ofSplit))
    return creditCase(book, row, walletId, payment);
  const isCounted = ['partial_expired', 'surplus_over_limit', 'split_refused'].includes(row.reason);
  const credit = decideReviewedCredit(payment, { amount: row.amount, isCounted, waivesFee });
  return credit === 'incomplete' ? 'payment_incomplete' : creditCaseToPayment(book, row, payment, credit, walletId);
}
