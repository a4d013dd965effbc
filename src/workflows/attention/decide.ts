// The rules of parked flows as pure functions: when a flow parks, what an operator may ask for, and when it is done.
import type { AttentionCause, Resolution, ResolveAction } from './messages.ts';

/** How long a flow tries by itself before it asks for a person; settings, handed to it by its activities. */
export interface AttentionLimits {
  railUnreachableMs: number;
  outcomeUnknownMs: number;
  creditUnconfirmedMs: number;
}

export interface Waiting {
  rail: 'known' | 'unknown' | 'unreachable' | 'paused' | 'contradiction';
  /** How long the rail has not answered, without a break. */
  unreachableForMs: number;
  /** How long the outcome has been open. */
  openForMs: number;
}

/** Whether a flow that waits for a rail must park, and why. A pause is wanted: it parks nothing, however long it lasts. */
export function decideAttention(
  waiting: Waiting,
  limits: AttentionLimits,
): 'rail_contradiction' | 'rail_unreachable' | 'outcome_unknown' | null {
  if (waiting.rail === 'contradiction') return 'rail_contradiction';
  if (waiting.rail === 'paused') return null;
  if (waiting.rail === 'unreachable') {
    return waiting.unreachableForMs >= limits.railUnreachableMs ? 'rail_unreachable' : null;
  }
  return waiting.openForMs >= limits.outcomeUnknownMs ? 'outcome_unknown' : null;
}

const WITHOUT_THE_RAIL = {
  retry: 'ask the rail again and go on',
  complete: 'post it as paid out, without the rail’s word; needs two operators',
  fail: 'put the money back into the wallet, without the rail’s word; needs two operators',
};

/** What can be asked of a parked flow, and what each does. */
export type Choices = Partial<Record<ResolveAction, string>>;

/** The choices of each cause. A flow with other ones names them in its view (`ParkedView.choices`). */
export const CHOICES: Record<AttentionCause, Choices> = {
  rail_unreachable: WITHOUT_THE_RAIL,
  outcome_unknown: WITHOUT_THE_RAIL,
  rail_contradiction: {
    retry: 'ask the rail again and go on',
    dismiss: 'leave the books as they are; the difference is settled with the bank by hand',
  },
  rail_paused: {},
  credit_unconfirmed: {
    retry: 'ask the rail again now',
    set_aside:
      'post nothing, and open a review case for each credit: it can be taken in from there when the rail confirms it',
  },
  posting_refused: { retry: 'do the step again: everything is read anew, and nothing is posted twice' },
  webhook_retries_exhausted: {
    retry: 'start the schedule of attempts anew',
    dismiss: 'give up: the delivery stays failed, and the integrator can still have it sent again',
  },
};

/** What moves money without the rail's word needs two people. */
const NEEDS_TWO: readonly ResolveAction[] = ['complete', 'fail'];

/** Why a resolution is refused, in words that tell the operator what to do; null when it is allowed. */
export function refuseResolution(
  cause: AttentionCause | null,
  resolution: Partial<Resolution> | null,
  choices: Choices = cause === null ? {} : CHOICES[cause],
): string | null {
  if (cause === null) return 'This flow is not parked: it goes on by itself, and there is nothing to resolve.';
  if (cause === 'rail_paused') {
    return 'Operations have paused the rail. The flow goes on by itself after `rail resume`; there is nothing to resolve.';
  }
  if (resolution === null || typeof resolution !== 'object')
    return 'Send one object: {"action", "reason", "operator"}.';
  const { action, reason, operator } = resolution;
  const actions = Object.keys(choices);
  if (action === undefined || !actions.includes(action)) {
    return `action must be one of ${actions.join(', ')}: the flow is parked because of ${cause}.`;
  }
  if (typeof reason !== 'string' || reason.trim() === '') return 'reason must say why, for the audit trail.';
  if (typeof operator !== 'string' || operator.trim() === '') return 'operator must say who decides.';
  return null;
}

/** Whether an allowed resolution takes effect, given what was proposed before it. */
export function decideResolution(proposal: Resolution | null, asked: Resolution): 'accepted' | 'proposed' {
  if (!NEEDS_TWO.includes(asked.action)) return 'accepted';
  return proposal !== null && proposal.action === asked.action && proposal.operator !== asked.operator
    ? 'accepted'
    : 'proposed';
}
