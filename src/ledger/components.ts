// What a posting is of its transaction, for those who read a statement: the amount itself, the fee for it, or both
// together, where they come back as they went into transit.
import { type AccountCode, FEE_INCOME } from './chart.ts';

export const POSTING_COMPONENTS = ['principal', 'fee', 'total'] as const;
export type PostingComponent = (typeof POSTING_COMPONENTS)[number];

export interface PlacedPosting {
  kind: string;
  /** Its place, from 1, and the number of postings of the transaction. */
  place: number;
  count: number;
  debit: AccountCode;
  credit: AccountCode;
}

/** The kinds of the reserve of a payout: with a posting for each item and one for all fees, or without fees. */
export const PAYOUT_RESERVE = { withFees: 'payout_reserve', free: 'payout_reserve_free' } as const;

/** Kinds that move amount and fee of a transfer together, out of a reserve or out of transit. */
const TOGETHER: ReadonlySet<string> = new Set([
  'withdrawal_failure',
  'withdrawal_return',
  'payout_item_hold',
  'payout_item_refusal',
  'payout_item_failure',
  'payout_item_return',
]);

export function componentOf({ kind, place, count, debit, credit }: PlacedPosting): PostingComponent {
  if (kind === 'fee_sweep') return 'principal';
  if (debit === FEE_INCOME || credit === FEE_INCOME) return 'fee';
  if (kind === 'withdrawal_hold') return place === 1 ? 'principal' : 'fee';
  if (kind === PAYOUT_RESERVE.withFees) return place < count ? 'principal' : 'fee';
  return TOGETHER.has(kind) && /^(in_transit|reserve):/.test(debit) ? 'total' : 'principal';
}
