// The movements of a reconciliation break. A break holds no money, so nothing is posted. A new break opens its review
// case; a break that clears or reopens is recorded and signalled to the case, which an operator closes.

import type { Uuid } from '../ids.ts';
import type { Movement } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import { nextVersion } from '../resources/bookTable.ts';
import { wakeReviewCase } from '../resources/flows.ts';
import { openReviewCase, withCaseFlows } from '../resources/reviewCases/movements.ts';
import type { NumberedBreak } from './compare.ts';
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

/**
 * A later run no longer finds it (`clearedAt`), or finds it again (null), perhaps with other amounts. An open case
 * shows that, and stays open.
 */
export function updateBreak(
  book: Book,
  { status, ...stored }: BreakWithCase,
  clearedAt: Date | null,
  amounts: Partial<Pick<StoredBreak, 'ledgerAmount' | 'statementAmount'>> = {},
): Movement {
  const reviewCase = { id: stored.id, reason: REASON, amount: amountOf(stored), walletId: null } as const;
  return {
    book,
    rows: { reconciliation_breaks: [nextVersion(stored, { ...amounts, clearedAt })] },
    outbox: status === 'open' ? [wakeReviewCase(book, reviewCase)] : [],
  };
}
