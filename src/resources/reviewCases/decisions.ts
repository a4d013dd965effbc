// What may be decided about money in suspense, and the movement of the decision: for operators and for callers with a
// key.
import { publicId, type Uuid } from '../../ids.ts';
import type { Movement } from '../../ledger/movement.ts';
import type { Book, Kobo } from '../../money.ts';
import { approvalOf, choicesOf } from '../../workflows/reviewCase/decide.ts';
import { creditCase, holdReturn, moveCaseToUnclaimed } from './movements.ts';
import type { findSenders, ReviewCase } from './queries.ts';

/** The actions that callers have, of those that operators have. */
export const KEY_ACTIONS = ['credit', 'return_to_sender', 'move_to_unclaimed'] as const;
export type KeyAction = (typeof KEY_ACTIONS)[number];

/**
 * What a caller may decide about a case now. Nothing without money in it, and nothing after an attempt to return it:
 * the operators see what the bank says about that.
 */
export function keyActions({
  status,
  reason,
  attempts,
}: Pick<ReviewCase, 'status' | 'reason' | 'attempts'>): KeyAction[] {
  if (attempts > 0) return [];
  const choices = KEY_ACTIONS.filter((action) => choicesOf(reason).includes(action));
  if (status === 'open') return choices;
  return status === 'unclaimed' ? choices.filter((action) => action !== 'move_to_unclaimed') : [];
}

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
