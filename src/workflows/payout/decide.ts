// The rules of a payout (contract, section 3.6) as pure functions: its status by its items, and how a batch is divided.

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
 * Whether the items have changed since the last event. An item that the bank returns late may leave the payout's status
 * unchanged, and is reported all the same. While items are open nothing is reported.
 */
export function hasUnreportedChange(
  reported: { status: PayoutState; failuresReported: number },
  counts: ItemCounts,
): boolean {
  const status = rollUp(counts);
  return status !== 'processing' && (status !== reported.status || counts.failed !== reported.failuresReported);
}

/**
 * Items of one page flow. A thousand children in one history would come near 10,240 events, where Temporal begins to
 * warn; a hundred make fewer than a thousand events.
 */
export const PAGE_SIZE = 100;

/**
 * Items of one page that run at once. Other payouts on the same queue wait behind these, not behind the whole batch.
 */
export const WINDOW = 20;

/** The window grows by `WINDOW` at this interval: items that a bank holds for hours must not block the others. */
export const WINDOW_GROWTH_MS = 10_000;

/** A range of items in a batch, by position. */
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

/** Delays before a payout looks again for items that its children left open: they double, up to five minutes. */
const ROUND_PAUSE_FIRST_MS = 5_000;
const ROUND_PAUSE_MAX_MS = 300_000;

export function roundPauseMs(round: number): number {
  return Math.min(ROUND_PAUSE_MAX_MS, ROUND_PAUSE_FIRST_MS * 2 ** Math.min(round, 10));
}
