// The movement of a decision about money in suspense, and whether operators must decide it: for operators and for
// callers with a key.
import { publicId, type Uuid } from '../../ids.ts';
import type { Movement } from '../../ledger/movement.ts';
import type { Book, Kobo } from '../../money.ts';
import { approvalOf } from '../../workflows/reviewCase/decide.ts';
import type { KeyAction } from './actions.ts';
import { creditCase, holdReturn, moveCaseToUnclaimed } from './movements.ts';
import type { findSenders, ReviewCase } from './queries.ts';

/** Whether operators must decide: money for another wallet than the one that it was sent to, or a large amount. */
export function needsOperators(
  { walletId, amount }: Pick<ReviewCase, 'walletId' | 'amount'>,
  decision: { action: KeyAction; walletId: Uuid | undefined },
  creditByTwoFrom: Kobo,
): boolean {
  const named = (id: Uuid | null | undefined) => (id ? publicId('wallet', id) : undefined);
  const target = named(decision.walletId);
  return approvalOf(
    { walletId: named(walletId), amount },
    { action: decision.action, ...(target !== undefined && { walletId: target }) },
    { creditByTwoFrom },
  ).needsTwo;
}

/** Why a decision cannot be carried out. */
export type DecisionProblem = 'sender_unknown' | 'wallet_unknown';

type Sender = Awaited<ReturnType<typeof findSenders>>[number];

/** The movement of a decision about money. `attempts`: the references used to return it, with that of this decision. */
export function decisionMovement(
  book: Book,
  row: ReviewCase,
  decision: { action: KeyAction; walletId: Uuid | null; senders: readonly Sender[]; attempts: number },
): Movement | DecisionProblem {
  const { action, senders, attempts } = decision;
  if (action === 'move_to_unclaimed') return moveCaseToUnclaimed(book, row);
  if (action === 'return_to_sender') {
    const [sender] = senders;
    return sender === undefined || senders.length > 1 ? 'sender_unknown' : holdReturn(book, row, sender.rail, attempts);
  }
  return decision.walletId === null ? 'wallet_unknown' : creditCase(book, row, decision.walletId);
}
