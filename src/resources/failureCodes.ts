// Why a transfer to a bank failed or came back, as a code for programs. The text for people is `failureReason`.
import { explainFailure, type FailureWords, RAIL_FAILURES, type RailFailureCode } from '../rail/failures.ts';
import type { TransferReport } from '../rail/port.ts';

export const FAILURE_CODES = [
  /** What the bank said, or that it gave no reason. */
  ...(Object.keys(RAIL_FAILURES) as RailFailureCode[]),
  /** No attempt reached the rail. */
  'never_received',
  /** Of a payout item to a wallet: frozen, closed, or over a limit. */
  'wallet_refused',
  /** Operators decided, because the rail gave no conclusive answer. */
  'operator_decision',
] as const;

export type FailureCode = (typeof FAILURE_CODES)[number];

/** Why the rail did not pay, or the bank returned the money. */
export interface TransferFailure {
  code: FailureCode;
  reason: string;
  /** The bank's own words, where no code has them. */
  detail?: string | null;
  sessionId: string | null;
}

/** Who decided the status: the rail, our rule for a transfer that the rail never received, or operators. */
export type DecidedBy = 'rail' | 'silence' | 'operators';

/** Why a transfer that was sent, or should have been, failed or came back. */
export function failureOf(
  change: 'fail' | 'return',
  { reason, sessionId }: TransferReport,
  decidedBy: DecidedBy,
  words: FailureWords,
): TransferFailure {
  const explained = explainFailure(change, reason, words);
  if (decidedBy === 'rail') return { ...explained, sessionId };
  const code = decidedBy === 'operators' ? 'operator_decision' : 'never_received';
  return { code, reason: reason ?? explained.reason, detail: null, sessionId };
}
