// The rules of a hold as pure functions: how much may be released, and what operators may decide.
import type { Kobo } from '../../money.ts';
import { refuseMessage } from '../operators/decide.ts';
import type { HoldAction, HoldDecision } from './messages.ts';

/** The value of the search attribute `Attention` while the wallet refuses a hold that is due. */
export const HOLD_ATTENTION = 'release_refused';

/** After this a refused release is tried again: the wallet may be unfrozen, or have room. */
export const REFUSED_RETRY_MS = 900_000;

export type ReleaseDecision =
  | { kind: 'release'; amount: Kobo }
  | { kind: 'ended' }
  | { kind: 'too_much'; amountHeld: Kobo };

/** Decides the amount of a release. Without a requested amount, it is all that is held. */
export function decideRelease(
  { status, amountHeld }: { status: string; amountHeld: Kobo },
  requested: Kobo | undefined,
): ReleaseDecision {
  if (status !== 'held') return { kind: 'ended' };
  const amount = requested ?? amountHeld;
  return amount > amountHeld ? { kind: 'too_much', amountHeld } : { kind: 'release', amount };
}

/** The actions, each with its effect. */
export const ACTIONS: Readonly<Record<HoldAction, string>> = {
  release: 'release all that is held to the wallet now',
  cancel: 'give all that a transfer holds back to the wallet that paid; final',
};

/** Why a decision is refused before its operator is known; null if it may be tried. */
export const refuseDecision = (isOpen: boolean, decision: Partial<HoldDecision> | null): string | null =>
  isOpen ? refuseMessage(decision, Object.keys(ACTIONS)) : 'Nothing is held any more.';

/** The message of a decision that the wallet does not allow. The hold stays open. */
export const describeRefusal = (code: string): string =>
  `The wallet refused it: ${code}. Remove the cause and decide again, or cancel the hold.`;
