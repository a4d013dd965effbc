// What callers with a key may decide about money in suspense: a case and its events say so.
import { choicesOf } from '../../workflows/reviewCase/decide.ts';
import { hasSender, type ReviewCase } from './queries.ts';

/** The actions that callers have, of those that operators have. */
export const KEY_ACTIONS = ['credit', 'return_to_sender', 'move_to_unclaimed'] as const;
export type KeyAction = (typeof KEY_ACTIONS)[number];

/** Nothing without money, and nothing after an attempt to return it: operators see what the bank says. */
export function keyActions(row: ReviewCase): KeyAction[] {
  const { status, reason, attempts } = row;
  if (attempts > 0) return [];
  const choices = KEY_ACTIONS.filter(
    (action) => choicesOf(reason).includes(action) && (action !== 'return_to_sender' || hasSender(row)),
  );
  if (status === 'open') return choices;
  return status === 'unclaimed' ? choices.filter((action) => action !== 'move_to_unclaimed') : [];
}
