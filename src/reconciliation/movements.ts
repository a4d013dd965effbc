// How a reconciliation break stands in the books: it holds no money, so nothing is posted. Finding one opens its review
// case; finding it gone, or there again, is noted and told to the case, which a person closes.
import type { Movement } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import { startReviewCase, wakeReviewCase } from '../resources/reviewCases/flow.ts';
import { openReviewCase } from '../resources/reviewCases/movements.ts';
import type { NumberedBreak } from './compare.ts';
import type { BreakWithCase, StoredBreak } from './queries.ts';

const REASON = 'reconciliation_break';

/** The money in question: what either side says, the larger. */
const amountOf = ({ ledgerAmount, statementAmount }: Pick<StoredBreak, 'ledgerAmount' | 'statementAmount'>): number =>
  Math.max(ledgerAmount ?? 0, statementAmount ?? 0);

/** The break is kept, and its case is opened. There is no event: it is between us and the bank. */
export function openBreak(book: Book, rail: string, found: NumberedBreak): Movement {
  const opened = openReviewCase({
    reason: REASON,
    amount: amountOf(found),
    accountCode: null,
    inboundCreditId: null,
    paymentId: null,
    walletId: null,
  });
  const kept: StoredBreak = { ...found, id: opened.id, version: 1, rail, clearedAt: null, createdAt: opened.createdAt };
  return {
    book,
    rows: { review_cases: [opened], reconciliation_breaks: [kept] },
    outbox: [startReviewCase(book, opened)],
  };
}

/** A later run does not find it any more (`clearedAt`), or finds it again (null). An open case shows it, and stays open. */
export function updateBreak(book: Book, { status, ...kept }: BreakWithCase, clearedAt: Date | null): Movement {
  const reviewCase = { id: kept.id, reason: REASON, amount: amountOf(kept), walletId: null } as const;
  return {
    book,
    rows: { reconciliation_breaks: [{ ...kept, version: kept.version + 1, clearedAt }] },
    outbox: status === 'open' ? [wakeReviewCase(book, reviewCase)] : [],
  };
}
