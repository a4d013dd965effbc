// The kinds of transactions that a wallet's statement shows (contract, section 4.4), with the direction of the entry.

export const ENTRY_KINDS = {
  payment_settlement: 'credit',
  deposit: 'credit',
  review_credit: 'credit',
  fee_sweep: 'credit',
  withdrawal_failure: 'credit',
  withdrawal_return: 'credit',
  refund_return: 'credit',
  payout_item_refusal: 'credit',
  payout_item_failure: 'credit',
  payout_item_return: 'credit',
  payout_item_completion: 'credit',
  refund_clawback_return: 'credit',
  hold_release: 'credit',
  hold_cancellation: 'credit',
  withdrawal_hold: 'debit',
  refund_hold: 'debit',
  payout_reserve: 'debit',
  payout_reserve_free: 'debit',
  withdrawal_clawback: 'debit',
  refund_clawback: 'debit',
  payout_item_clawback: 'debit',
  credit_recall: 'debit',
  debt_recovery: 'debit',
  transfer: 'both',
  payment_from_wallet: 'both',
  refund_completion: 'both',
  adjustment: 'both',
  adjustment_reversal: 'both',
} as const;

export type EntryKind = keyof typeof ENTRY_KINDS;
