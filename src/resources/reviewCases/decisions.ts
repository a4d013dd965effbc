// The movement of a decision about money in suspense, for operators and for callers with a key.
import type { Uuid } from '../../ids.ts';
import type { Movement } from '../../ledger/movement.ts';
import type { Book } from '../../money.ts';
import type { KeyAction } from './actions.ts';
import { creditCase, holdReturn, moveCaseToUnclaimed } from './movements.ts';
import type { findSenders, ReviewCase } from './queries.ts';

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
