// The rules of a payout (contract, section 3.6) as pure functions: its status by its items, and when they are started.

/** Number of items by state. `open`: pending or processing. */
export interface ItemCounts {
  open: number;
  completed: number;
  failed: number;
}

export type PayoutState = 'processing' | 'completed' | 'partially_completed' | 'failed';

/** The roll-up rule, in the order of the contract. */
export function rollUp({ open, completed, failed }: ItemCounts): PayoutState {
  if (open > 0) return 'processing';
  if (failed === 0) return 'completed';
  if (completed === 0) return 'failed';
  return 'partially_completed';
}

/**
 * Whether the items have changed since the last event of the payout. One that the bank returns late may leave the
 * status unchanged, and is reported all the same. While items are open nothing is reported.
 */
export function hasUnreportedChange(
  reported: { status: PayoutState },
  counts: ItemCounts & { unreported: number },
): boolean {
  const status = rollUp(counts);
  return status !== 'processing' && (status !== reported.status || counts.unreported > 0);
}

/** Items of a payout that run at once. Other payouts wait behind these, not behind the whole batch. */
export const WINDOW = 100;

/** Items that have run for so long leave the window: those that a bank holds for hours must not block the others. */
export const WINDOW_TURN_MS = 10_000;

/** Delays before a payout looks again for items that its children left open: they double, up to five minutes. */
const ROUND_PAUSE_FIRST_MS = 5_000;
const ROUND_PAUSE_MAX_MS = 300_000;

export const roundPauseMs = (round: number): number =>
  Math.min(ROUND_PAUSE_MAX_MS, ROUND_PAUSE_FIRST_MS * 2 ** Math.min(round, 10));

/**
 * Whether a look also tries to start the items that run without this parent, in case an operator ended their flows. A
 * start costs actions and fails while they run, so it is tried ever more rarely.
 */
export const triesAll = (round: number): boolean => round > 0 && Number.isInteger(Math.log2(round));
