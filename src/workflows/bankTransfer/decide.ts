// The rules of a bank transfer (contract, section 3.3) as pure functions: what the status that the rail reports
// changes. Shared by withdrawals, refunds to a bank, payout items and returns to the sender.

/** The state of a transfer in the database. */
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

export function decideTransfer(state: TransferState, status: RailStatus): TransferDecision {
  return DECISIONS[state][status];
}

/** After this many sends, a reference that the rail still does not know counts as never received. */
export const SENDS_MAX = 3;

/** The next step of a transfer in progress. */
export type TransferStep = 'send' | 'check' | 'mark_unsent';

/** What is known about a transfer after the last step. */
export interface TransferKnowledge {
  /**
   * The rail knows the reference, does not know it, did not respond, is paused by operations, or contradicts itself.
   */
  rail: 'known' | 'unknown' | 'unreachable' | 'paused' | 'contradiction';
  sends: number;
  sinceSendMs: number;
  /** How long the rail may take to know a reference that it received. */
  unknownIsFinalAfterMs: number;
}

/**
 * A reference that the rail does not know counts as not sent only after the rail's own waiting time. Then the same
 * reference is sent again, and after the last send the money goes back. In every other case: query the status.
 */
export function decideStep({ rail, sends, sinceSendMs, unknownIsFinalAfterMs }: TransferKnowledge): TransferStep {
  if (rail !== 'unknown' || sinceSendMs < unknownIsFinalAfterMs) return 'check';
  return sends < SENDS_MAX ? 'send' : 'mark_unsent';
}

/** Delays between status queries while no callback arrives: short at first, then 15 minutes. */
const CHECK_PAUSES_MS = [2_000, 3_000, 5_000, 10_000, 30_000, 60_000, 300_000];
const CHECK_PAUSE_MAX_MS = 900_000;

export function checkPauseMs(check: number): number {
  return CHECK_PAUSES_MS[check] ?? CHECK_PAUSE_MAX_MS;
}
