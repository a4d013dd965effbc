// The rules of parked flows as pure functions: when a flow parks, what an operator may ask for, and when it is done.
import type { AttentionCause, Resolution, ResolveAction } from './messages.ts';

/** How long a flow tries by itself before it asks for a person; settings, handed to it by its activities. */
export interface AttentionLimits {
  railUnreachableMs: number;
  outcomeUnknownMs: number;
}

export interface Waiting {
  rail: 'told' | 'unknown' | 'unreachable' | 'contradiction';
  /** How long the rail has not answered, without a break. */
  unreachableForMs: number;
  /** How long the outcome has been open. */
  openForMs: number;
}

/** Whether a flow that waits must park, and why. */
export function decideAttention(waiting: Waiting, limits: AttentionLimits): AttentionCause | null {
  if (waiting.rail === 'contradiction') return 'rail_contradiction';
  if (waiting.rail === 'unreachable') {
    return waiting.unreachableForMs >= limits.railUnreachableMs ? 'rail_unreachable' : null;
  }
  return waiting.openForMs >= limits.outcomeUnknownMs ? 'outcome_unknown' : null;
}

/** What can be asked of a flow that is parked for this cause. */
export const CHOICES: Record<AttentionCause, readonly ResolveAction[]> = {
  rail_unreachable: ['retry', 'complete', 'fail'],
  outcome_unknown: ['retry', 'complete', 'fail'],
  rail_contradiction: ['retry', 'keep'],
};

/** What moves money without the rail's word needs two people. */
const NEEDS_TWO: readonly ResolveAction[] = ['complete', 'fail'];

/** Why a resolution is refused, in words that tell the operator what to do; null when it is allowed. */
export function refuseResolution(cause: AttentionCause | null, resolution: Partial<Resolution> | null): string | null {
  if (cause === null) return 'This flow is not parked: it goes on by itself, and there is nothing to resolve.';
  if (resolution === null || typeof resolution !== 'object')
    return 'Send one object: {"action", "reason", "operator"}.';
  const { action, reason, operator } = resolution;
  const choices = CHOICES[cause];
  if (action === undefined || !choices.includes(action)) {
    return `action must be one of ${choices.join(', ')}: the flow is parked because of ${cause}.`;
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
