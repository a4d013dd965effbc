// The movements of a reconciliation break. A break holds no money, so nothing is posted. A new break opens its review
// case, which an operator closes, or the run that no longer finds the break.
import type { Uuid } from '../ids.ts';
import type { Movement } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import { nextVersion } from '../resources/bookTable.ts';
import { wakeReviewCase } from '../resources/flows.ts';
import { closeCase, openReviewCase, withCaseFlows } from '../resources/reviewCases/movements.ts';
import type { ReviewCase } from '../resources/reviewCases/queries.ts';
import type { NumberedBreak } from './match.ts';
import type { BreakWithCase, StoredBreak } from './queries.ts';

const REASON = 'reconciliation_break';

/** The amount in question: the larger of the two sides, or of a balance their difference. */
const amountOf = ({
  kind,
  ledgerAmount,
  statementAmount,
}: Pick<StoredBreak, 'kind' | 'ledgerAmount' | 'statementAmount'>): number =>
  kind === 'balance'
    ? Math.abs((statementAmount ?? 0) - (ledgerAmount ?? 0))
    : Math.max(ledgerAmount ?? 0, statementAmount ?? 0);

/**
 * Stores the break and opens its review case. No event is written: a break is between us and the bank. `seal`: of the
 * text of a row that cannot be read.
 */
export function openBreak(book: Book, rail: string, found: NumberedBreak, seal?: (id: Uuid) => string): Movement {
  const opened = openReviewCase({ reason: REASON, amount: amountOf(found) });
  const stored: StoredBreak = {
    ...found,
    id: opened.id,
    version: 1,
    rail,
    sealedRow: seal?.(opened.id) ?? null,
    clearedAt: null,
    createdAt: opened.createdAt,
  };
  return withCaseFlows({ book, rows: { review_cases: [opened], reconciliation_breaks: [stored] } });
}

/** A later run finds it again, perhaps with other amounts. `row`: its case. One that a run has closed is open again. */
export function updateBreak(
  book: Book,
  { status: _status, ...stored }: BreakWithCase,
  row: ReviewCase,
  amounts: Partial<Pick<StoredBreak, 'ledgerAmount' | 'statementAmount'>> = {},
): Movement {
  const { clearedAt } = stored;
  // One that a run has closed has the time at which it cleared: those of operators are of other clocks.
  const isDecided = row.status === 'closed' && row.resolvedAt?.getTime() !== clearedAt?.getTime();
  const reopened =
    row.status === 'closed' && !isDecided ? [nextVersion(row, { status: 'open', resolvedAt: null })] : [];
  return {
    book,
    rows: { review_cases: reopened, reconciliation_breaks: [nextVersion(stored, { ...amounts, clearedAt: null })] },
    outbox: isDecided ? [] : [wakeReviewCase(book, row)],
  };
}

/** A later run no longer finds it. */
export const clearBreak = (book: Book, { status: _status, ...stored }: BreakWithCase, clearedAt: Date): Movement => ({
  book,
  rows: { reconciliation_breaks: [nextVersion(stored, { clearedAt })] },
});

/** After the break has cleared, which is what allows it without a decision. */
export const closeCleared = (book: Book, open: ReviewCase, clearedAt: Date): Movement => ({
  ...closeCase(book, open, clearedAt),
  outbox: [wakeReviewCase(book, open)],
});
