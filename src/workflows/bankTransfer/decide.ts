// The rules of a bank transfer (contract, section 3.3) as pure functions: what the status that the rail reports
// changes. Shared by withdrawals, refunds to a bank, payout items and returns to the sender.
import type { AttentionLimits } from '../attention/decide.ts';

export type TransferState = 'processing' | 'completed' | 'failed' | 'returned';

/** The status that the rail reports; `unknown`: it does not know the reference. */
export type RailStatus = 'processing' | 'completed' | 'failed' | 'returned' | 'unknown';

export type TransferDecision =
  /** Nothing changes: wait, or leave it as it is. */
  | 'none'
  | 'complete'
  /** It was never paid: the money goes back. */
  | 'fail'
  /** It was paid and returned: the money goes back. */
  | 'return'
  /** It was paid although the money went back: what is still there is taken again. */
  | 'claw_back'
  /** The rail contradicts what was posted on its earlier report. An operator must decide. */
  | 'contradiction';

const DECISIONS: Record<TransferState, Record<RailStatus, TransferDecision>> = {
  processing: { processing: 'none', completed: 'complete', failed: 'fail', returned: 'return', unknown: 'none' },
  completed: {
    processing: 'none',
    completed: 'none',
    failed: 'contradiction',
    returned: 'return',
    unknown: 'contradiction',
  },
  // The money is back already: a return agrees with that, a completion means that it was paid out as well.
  failed: { processing: 'none', completed: 'claw_back', failed: 'none', returned: 'none', unknown: 'none' },
  // A completion precedes a return, in whatever order the reports arrive.
  returned: { processing: 'none', completed: 'none', failed: 'none', returned: 'none', unknown: 'none' },
};

export const decideTransfer = (state: TransferState, status: RailStatus): TransferDecision => DECISIONS[state][status];

/** After this many sends, a reference that the rail still does not know counts as never received. */
export const SENDS_MAX = 3;

/** What the database has of the sends of a transfer. */
export interface Sends {
  /** Those that the rail may have accepted, answered or not. */
  count: number;
  /** Since the last one began. */
  sinceMs: number;
  /** Whether the rail has ever reported the transfer, or that the reference exists. */
  isKnown: boolean;
  /** Whether the rail refused the last one. */
  isRefused: boolean;
}

/** What a rail's silence about a reference means: capabilities of the rail. */
export interface UnknownLimits {
  notVisibleForMs: number;
  unknownIsFinal: boolean;
}

/**
 * What may be done about a reference that the rail does not know. What it accepted may be unknown for a time, so until
 * that is over even a refused transfer may be paid; then a refusal is believed, and any other transfer is sent again,
 * under the same reference. After the last send the money goes back, if the rail's silence is final.
 */
export function decideUnknown(
  { count, sinceMs, isKnown, isRefused }: Sends,
  { notVisibleForMs, unknownIsFinal }: UnknownLimits,
): 'send' | 'wait' | 'refused' | 'never_received' {
  if (isKnown) return 'wait';
  if (count === 0) return 'send';
  if (sinceMs < notVisibleForMs) return 'wait';
  if (isRefused) return 'refused';
  return count >= SENDS_MAX && unknownIsFinal ? 'never_received' : 'send';
}

/** The next step of a transfer in progress. */
export type TransferStep = 'send' | 'check' | 'mark_unsent';

/** What is known about a transfer after the last step. */
export interface TransferKnowledge {
  /** Knows the reference or not, did not respond, is not ready, is paused by operations, or contradicts itself. */
  rail: 'known' | 'unknown' | 'unreachable' | 'not_ready' | 'paused' | 'contradiction';
  /** Whether the rail has ever reported the transfer, or that the reference exists. */
  knowsReference: boolean;
  sends: number;
  isRefused: boolean;
  sinceSendMs: number;
  /** Number of status queries since the last send. */
  checks: number;
  openForMs: number;
  /** How long, and in how many steps in a row, the rail has been found as it is. */
  foundForMs: number;
  foundSteps: number;
  /** When a rail that is not ready wants the next step. */
  retryAfterMs: number;
}

export interface TransferLimits extends AttentionLimits, UnknownLimits {
  /** A parked flow queries the rail at this interval. */
  probeMs: number;
  /** A flow that waits for a paused rail looks at this interval whether it is resumed, in case the signal was lost. */
  pausedLookMs: number;
}

/**
 * The step after one. As long as nothing was sent, the step is to send it: a query that failed before was not a send. A
 * step that found the rail paused or not ready is repeated, because the rail has accepted nothing. In every other case
 * the status is queried, until a reference that the rail has never known may be sent again, or counts as unsent.
 */
export function decideStep(
  step: TransferStep,
  { rail, sends, sinceSendMs, isRefused, knowsReference }: TransferKnowledge,
  limits: UnknownLimits,
): TransferStep {
  if (knowsReference) return 'check';
  if (rail === 'paused' || rail === 'not_ready') return step;
  if (sends === 0) return 'send';
  if (rail !== 'unknown') return 'check';
  const decision = decideUnknown({ count: sends, sinceMs: sinceSendMs, isKnown: false, isRefused }, limits);
  if (decision === 'wait') return 'check';
  return decision === 'send' ? 'send' : 'mark_unsent';
}

/**
 * How long the outcome of a transfer may be open before an operator is requested. A rail that has known the reference
 * and no longer does so may take only as long as for a reference that it has never known.
 */
export function outcomeOpenMaxMs(
  { rail, knowsReference }: Pick<TransferKnowledge, 'rail' | 'knowsReference'>,
  { outcomeUnknownMs, notVisibleForMs }: Pick<TransferLimits, 'outcomeUnknownMs' | 'notVisibleForMs'>,
): number {
  const isLost = rail === 'unknown' && knowsReference;
  return isLost ? Math.min(outcomeUnknownMs, notVisibleForMs) : outcomeUnknownMs;
}

/** Whether a waiting flow must be shown to operators, and why. A pause is only shown, however long. */
export function decideAttention(
  { rail, foundForMs, openForMs }: TransferKnowledge,
  limits: Pick<TransferLimits, 'railUnreachableMs' | 'railNotReadyMs' | 'outcomeUnknownMs'>,
): 'rail_contradiction' | 'rail_paused' | 'rail_unreachable' | 'rail_not_ready' | 'outcome_unknown' | null {
  if (rail === 'contradiction') return 'rail_contradiction';
  if (rail === 'paused') return 'rail_paused';
  if (rail === 'not_ready') return foundForMs >= limits.railNotReadyMs ? 'rail_not_ready' : null;
  if (rail === 'unreachable' && foundForMs >= limits.railUnreachableMs) return 'rail_unreachable';
  return openForMs >= limits.outcomeUnknownMs ? 'outcome_unknown' : null;
}

/** Delays between status queries while no callback arrives: short at first, then 15 minutes. */
const CHECK_PAUSES_MS = [2_000, 3_000, 5_000, 10_000, 30_000, 60_000, 300_000];
const CHECK_PAUSE_MAX_MS = 900_000;

export const checkPauseMs = (check: number): number => CHECK_PAUSES_MS[check] ?? CHECK_PAUSE_MAX_MS;

/** Delays between two sends that the rail did not accept, unless it names a longer one. */
const NOT_READY_PAUSES_MS = [2_000, 10_000, 60_000, 300_000];
const NOT_READY_PAUSE_MAX_MS = 900_000;

/** A flow that began to wait while the rail was being resumed is not found by the resume, and checks once by itself. */
const FIRST_LOOK_MS = 60_000;

/**
 * How long a flow waits for a signal before it runs its next step without one. `isParked`: an operator is requested.
 * `spread`: a factor around 1, another for each flow, so that those that have met one outage do not query together.
 */
export function waitMs(
  known: TransferKnowledge,
  limits: Omit<TransferLimits, 'unknownIsFinal' | 'creditUnconfirmedMs'>,
  isParked: boolean,
  spread = 1,
): number {
  const { rail, checks, foundForMs, foundSteps, retryAfterMs } = known;
  if (rail === 'paused') return foundSteps > 1 ? limits.pausedLookMs : Math.min(FIRST_LOOK_MS, limits.pausedLookMs);
  if (isParked) return Math.max(retryAfterMs, limits.probeMs);
  if (rail === 'not_ready') {
    const ownPause = (NOT_READY_PAUSES_MS[foundSteps - 1] ?? NOT_READY_PAUSE_MAX_MS) * spread;
    const pause = Math.max(retryAfterMs, Math.round(ownPause));
    return Math.max(1, Math.min(pause, Math.max(retryAfterMs, limits.railNotReadyMs - foundForMs)));
  }
  // No later than the limit, because the flow must park then, and than what is unknown may be decided.
  const limit = rail === 'unreachable' ? limits.railUnreachableMs - foundForMs : limits.outcomeUnknownMs;
  const decidedAfter = limits.notVisibleForMs - known.sinceSendMs;
  const isDecided = rail === 'unknown' && decidedAfter > 0;
  const pause = Math.round(checkPauseMs(checks) * spread);
  return Math.max(1, Math.min(pause, limit, isDecided ? decidedAfter : pause));
}
