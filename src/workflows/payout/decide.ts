// The rules of a payout (contract, section 3.6) as pure functions: what its items make of it, and how a batch is divided.

/** How many items stand where. `open`: pending or processing. */
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
 * Whether the items say something that was not told yet. An item that the bank returns late may leave the status as it
 * was and is told all the same. While items are open nothing is told.
 */
export function hasUnreportedChange(
  told: { status: PayoutState; failuresReported: number },
  counts: ItemCounts,
): boolean {
  const status = rollUp(counts);
  return status !== 'processing' && (status !== told.status || counts.failed !== told.failuresReported);
}

/**
 * Items that one page flow looks after. A thousand children in one history would come near Temporal's 10,240 events; a
 * hundred make fewer than a thousand.
 */
export const PAGE_SIZE = 100;

/** Items of one page that run at a time. Other payouts on the same queue wait behind these, not behind the whole batch. */
export const WINDOW = 20;

/** After this time so many more may run: items that a bank holds for hours must not keep the others from being paid. */
export const WINDOW_GROWTH_MS = 10_000;

/** Some items of a batch, by their places. */
export interface Page {
  from: number;
  count: number;
}

export function pagesOf(itemCount: number): Page[] {
  return Array.from({ length: Math.ceil(itemCount / PAGE_SIZE) }, (_, page) => ({
    from: page * PAGE_SIZE,
    count: Math.min(PAGE_SIZE, itemCount - page * PAGE_SIZE),
  }));
}

/** The pauses before a payout looks again for items that its children left open: they grow up to five minutes. */
const ROUND_PAUSE_FIRST_MS = 5_000;
const ROUND_PAUSE_MAX_MS = 300_000;

export function roundPauseMs(round: number): number {
  return Math.min(ROUND_PAUSE_MAX_MS, ROUND_PAUSE_FIRST_MS * 2 ** Math.min(round, 10));
}
