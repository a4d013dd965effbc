// The rules of a bank transfer (contract, section 3.3), shared by withdrawals, refunds to a bank and payout items: what
// the rail's word makes of one, as pure functions.

/** Where a transfer stands in our books. */
export type TransferState = 'processing' | 'completed' | 'failed' | 'returned';

/** What the rail says; `unknown`: it knows no such reference. */
export type RailStatus = 'processing' | 'completed' | 'failed' | 'returned' | 'unknown';

export type TransferDecision =
  /** Nothing new: wait, or stay as it is. */
  | 'none'
  | 'complete'
  /** It never left: the money goes back. */
  | 'fail'
  /** It left and came back: the money goes back. */
  | 'return'
  /** The rail contradicts what was posted on its own earlier word. A person must look. */
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
  // The money is back in the wallet: a bounce says the same, a completion would mean that it was paid twice.
  failed: { processing: 'none', completed: 'contradiction', failed: 'none', returned: 'none', unknown: 'none' },
  // A completion came before the return, whatever the order of the news.
  returned: { processing: 'none', completed: 'none', failed: 'none', returned: 'none', unknown: 'none' },
};

export function decideTransfer(state: TransferState, word: RailStatus): TransferDecision {
  return DECISIONS[state][word];
}

/** Sends of one reference before a rail that never got any of them is believed. */
export const SENDS_MAX = 3;

/** What a flow does next about a transfer that is under way. */
export type TransferStep = 'send' | 'check' | 'mark_unsent';

/** What is known after the last step. */
export interface TransferKnowledge {
  /** What the rail said: its word, that it knows no such reference, or nothing, maybe because operations paused it. */
  rail: 'known' | 'unknown' | 'unreachable' | 'paused' | 'contradiction';
  sends: number;
  sinceSendMs: number;
  /** How long the rail may take to know a reference that it got. */
  unknownIsFinalAfterMs: number;
}

/**
 * A reference that the rail does not know counts as not sent only after the rail's own waiting time; then the same
 * reference may be sent again, and after the last send the money goes back. In every other case: ask.
 */
export function decideStep({ rail, sends, sinceSendMs, unknownIsFinalAfterMs }: TransferKnowledge): TransferStep {
  if (rail !== 'unknown' || sinceSendMs < unknownIsFinalAfterMs) return 'check';
  return sends < SENDS_MAX ? 'send' : 'mark_unsent';
}

/** The pauses between status queries while no callback comes: soon at first, then four times an hour. */
const CHECK_PAUSES_MS = [2_000, 3_000, 5_000, 10_000, 30_000, 60_000, 300_000];
const CHECK_PAUSE_MAX_MS = 900_000;

export function checkPauseMs(check: number): number {
  return CHECK_PAUSES_MS[check] ?? CHECK_PAUSE_MAX_MS;
}
