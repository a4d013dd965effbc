// Why a transfer to a bank failed or came back, as a code for programs. The text for people is `failureReason`.

export const FAILURE_CODES = [
  /** The bank, or the rail before it, did not pay. */
  'bank_refused',
  /** The receiving bank sent the money back. */
  'bank_returned',
  /** No attempt reached the rail. */
  'never_received',
  /** Of a payout item: the bank has no such account. */
  'account_not_resolved',
  /** Of a payout item: the bank has the account under another name. */
  'name_mismatch',
  /** Of a payout item to a wallet: frozen, closed, or over a limit. */
  'wallet_refused',
  /** Operators decided, because the rail gave no conclusive answer. */
  'operator_decision',
] as const;

export type FailureCode = (typeof FAILURE_CODES)[number];

/** Who decided the status: the rail, our rule for a transfer that the rail never received, or operators. */
export type DecidedBy = 'rail' | 'silence' | 'operators';

/** The code of a transfer that was sent, or should have been. */
export function failureCodeOf(change: 'fail' | 'return', decidedBy: DecidedBy): FailureCode {
  if (decidedBy === 'operators') return 'operator_decision';
  if (decidedBy === 'silence') return 'never_received';
  return change === 'return' ? 'bank_returned' : 'bank_refused';
}
