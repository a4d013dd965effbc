// The only place that creates ApplicationFailures. What no retry can fix is non-retryable. Everything else is retried
// without limit, and its type shows operators what the activity waits for.
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { POSTING_REFUSED, type PostingRefusal } from '../workflows/attention/messages.ts';

/** The flow's own data is missing or inconsistent: a bug or a damaged database, never an error of the caller. */
export const invariantViolation = (message: string): ApplicationFailure =>
  ApplicationFailure.retryable(message, 'INVARIANT_BROKEN');

/** Returns the row, which the flow's own data says is there. `what` names it. */
export function requireRow<Row>(row: Row | null, what: string): Row {
  if (row === null) throw invariantViolation(`${what} is not in the database`);
  return row;
}

/** It is too early: retried when it is due. */
export function notDue(leftMs: number): ApplicationFailure {
  return ApplicationFailure.create({
    message: `not due for ${leftMs} ms`,
    type: 'NOT_DUE',
    nextRetryDelay: Math.max(1, leftMs),
    category: ApplicationFailureCategory.BENIGN,
  });
}

/** The ledger refused what no rule expects it to refuse. A retry would not fix that: the flow parks. */
export function postingRefused(refusal: PostingRefusal): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `the ledger refused ${refusal.transaction ?? 'a change'}: ${refusal.code}`,
    POSTING_REFUSED,
    refusal,
  );
}

/** The ledger itself is wrong. A retry would not fix that: the flow fails, so that an operator looks at it at once. */
export const ledgerIntegrityViolation = (message: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, 'LEDGER_INTEGRITY_VIOLATION');
