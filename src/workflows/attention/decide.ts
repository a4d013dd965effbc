// The rules of parked flows as pure functions: which actions an operator may send, and when an action takes effect.
import { refuseMessage } from '../operators/decide.ts';
import type { AttentionCause, Resolution, ResolveAction } from './messages.ts';

/** How long a flow retries before it requests an operator. Settings, which its activities pass to it. */
export interface AttentionLimits {
  railUnreachableMs: number;
  railNotReadyMs: number;
  outcomeUnknownMs: number;
  creditUnconfirmedMs: number;
}

const WITHOUT_THE_RAIL = {
  retry: 'query the rail again and continue',
  complete: "post it as paid out, without the rail's confirmation; needs two operators",
  fail: "post it as failed and put the money back, without the rail's confirmation; needs two operators",
};

export type Choices = Partial<Record<ResolveAction, string>>;

/** The choices of each cause. A flow with other choices names them in its view (`ParkedView.choices`). */
export const CHOICES: Record<AttentionCause, Choices> = {
  rail_unreachable: WITHOUT_THE_RAIL,
  outcome_unknown: WITHOUT_THE_RAIL,
  rail_not_ready: {
    retry: 'send it again now',
    fail: 'give the transfer up and put the money back: the rail did not accept it; needs two operators',
  },
  rail_contradiction: {
    retry: 'query the rail again and continue',
    return: 'post it as returned and put the money back; needs two operators',
    dismiss: 'leave the ledger as it is; the difference is settled with the bank manually',
  },
  rail_paused: {},
  credit_unconfirmed: {
    retry: 'query the rail again now',
    set_aside: 'post nothing and open a review case for each credit, which can post it once the rail confirms it',
  },
  posting_refused: { retry: 'run the step again: it reads the current state, and posts nothing twice' },
};

/** Why a resolution is refused, as a message that says what to do; null if it is allowed. */
export function refuseResolution(
  cause: AttentionCause | null,
  resolution: Partial<Resolution> | null,
  choices: Choices = cause === null ? {} : CHOICES[cause],
): string | null {
  if (cause === null) return 'This flow is not parked: it continues without a decision.';
  if (cause === 'rail_paused') {
    return 'The rail is paused by operations. The flow continues after `rail resume`, without a decision.';
  }
  return refuseMessage(resolution, Object.keys(choices), `the flow is parked because of ${cause}.`);
}
