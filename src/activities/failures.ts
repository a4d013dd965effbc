// The only maker of ApplicationFailure. A refusal is final and carries the API's code as its type; an outage is repeated
// without end, and its type tells operations what is being waited for.
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { POSTING_REFUSED, type PostingRefusal } from '../workflows/attention/messages.ts';

/** The flow's own data is not there, or does not fit: a bug or a damaged database, never the caller's doing. */
export function invariantViolation(message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, 'INVARIANT_BROKEN');
}

/** The ledger refused what it has no reason to refuse. No repeat would mend it: the flow parks. */
export function postingRefused(refusal: PostingRefusal): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `the ledger refused ${refusal.transaction ?? 'a change'}: ${refusal.code}`,
    POSTING_REFUSED,
    refusal,
  );
}

/** Operations have paused the rail. Looked at again after the gap; it is no fault of ours, so no alarm. */
export function railPaused(retryAfterMs: number): ApplicationFailure {
  return ApplicationFailure.create({
    message: 'the rail is paused by operations; nothing is sent until it is resumed',
    type: 'RAIL_PAUSED',
    nextRetryDelay: retryAfterMs,
    category: ApplicationFailureCategory.BENIGN,
  });
}

/** The books themselves are wrong. No repeat would mend them: the flow fails, for a person to look at once. */
export function ledgerIntegrityViolation(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, 'LEDGER_INTEGRITY_VIOLATION');
}

/** An endpoint has not taken its event yet. The next attempt comes after the gap; it is no fault of ours, so no alarm. */
export function deliveryFailed(message: string, retryAfterMs: number): ApplicationFailure {
  return ApplicationFailure.create({
    message,
    type: 'WEBHOOK_UNDELIVERED',
    nextRetryDelay: Math.max(1, Math.round(retryAfterMs)),
    category: ApplicationFailureCategory.BENIGN,
  });
}
