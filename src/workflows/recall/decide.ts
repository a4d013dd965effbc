// The rules of a recall as a pure function: where the money of a credit is when the bank takes it back.

export type Holder =
  /** Nothing was posted. */
  | 'nowhere'
  /** The suspense account of its payment, which is not paid in full yet. */
  | 'payment'
  /** A review case, alone or with money of other credits: in suspense, or unclaimed. */
  | 'case'
  /** The wallet that the case was credited to. */
  | 'wallet_of_case'
  /** The wallet of its deposit account, or of its payment. */
  | 'wallet'
  /** It has left, back to its sender. */
  | 'elsewhere';

export interface RecalledCredit {
  status: 'received' | 'posted' | 'suspense' | 'set_aside' | 'recalled';
  amount: number;
  /** The status of its payment; null if it belongs to none. */
  payment: string | null;
  /** The case that was opened for it, or for the expired payment that held it. */
  reviewCase: { status: string; amount: number } | null;
}

/** Decides which account the recall of a credit debits. */
export function locateMoney({ status, amount, payment, reviewCase }: RecalledCredit): Holder {
  if (status !== 'posted' && status !== 'suspense') return 'nowhere';
  if (status === 'posted' && (payment === 'pending' || payment === 'partial')) return 'payment';
  if (status === 'posted' && payment !== 'expired') return 'wallet';
  if (reviewCase?.status === 'credited') return 'wallet_of_case';
  const isHeld = reviewCase?.status === 'open' || reviewCase?.status === 'unclaimed';
  return isHeld && reviewCase.amount >= amount ? 'case' : 'elsewhere';
}
