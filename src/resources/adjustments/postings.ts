// Which postings an adjustment may have, and those that undo it. Pure functions.
import {
  type AccountCode,
  BANK_RECEIVABLE,
  DRAWINGS,
  FEE_INCOME,
  INTEREST_INCOME,
  OPERATING_LOSS,
  OWN_FUNDS,
  RAIL_EXPENSE,
  TAX_EXPENSE,
  UNCLAIMED,
} from '../../ledger/chart.ts';
import type { Posting } from '../../ledger/postings.ts';
import { AMOUNT_MAX } from '../../money.ts';

/** More are several corrections; an approver must be able to check each posting. */
export const POSTINGS_MAX = 20;

/** The flow of a resource moves what these accounts hold, so nothing else may. */
const HELD = /^(?:held|in_transit|reserve|suspense):/;

/** What is owed for taxes and levies: `liability:vat` and others, whichever a deployment has. */
const STATUTORY = /^liability:[a-z][a-z0-9_]{0,39}$/;

/** Other accounts that their first posting opens. Any other must exist, so that a misspelt code opens none. */
const OPENED_BY_POSTING: readonly AccountCode[] = [
  BANK_RECEIVABLE,
  DRAWINGS,
  FEE_INCOME,
  INTEREST_INCOME,
  OPERATING_LOSS,
  OWN_FUNDS,
  RAIL_EXPENSE,
  TAX_EXPENSE,
  UNCLAIMED,
];

export const accountsOf = (postings: readonly Posting[]): AccountCode[] => [
  ...new Set(postings.flatMap(({ debit, credit }) => [debit, credit])),
];

/**
 * Why an adjustment may not have these postings; null if it may. `existing`: those of its accounts that the book has.
 */
export function refusePostings(postings: readonly Posting[], existing: ReadonlySet<AccountCode>): string | null {
  if (postings.length === 0 || postings.length > POSTINGS_MAX)
    return `An adjustment has 1 to ${POSTINGS_MAX} postings, not ${postings.length}.`;
  for (const { debit, credit, amount } of postings) {
    if (debit === credit) return `A posting needs two accounts: ${debit} is debited and credited.`;
    if (!Number.isSafeInteger(amount) || amount < 1 || amount > AMOUNT_MAX)
      return `The amount of a posting is a whole number of kobo from 1 to ${AMOUNT_MAX}.`;
  }
  for (const account of accountsOf(postings)) {
    if (HELD.test(account)) {
      return (
        `${account} holds the money of transfers, payments or review cases in progress: decide about those ` +
        '(npm run cli -- attention list, reviews list), and adjust what they leave.'
      );
    }
    if (!existing.has(account) && !OPENED_BY_POSTING.includes(account) && !STATUTORY.test(account)) {
      return (
        `This book has no account ${account}. It can be a wallet or another account with postings, a statutory one such ` +
        `as liability:vat, or one of ${OPENED_BY_POSTING.join(', ')}.`
      );
    }
  }
  return null;
}

/** The postings that undo these, the last one first, so that no account is short of what it still receives. */
export const reversedPostings = (postings: readonly Posting[]): Posting[] =>
  postings.toReversed().map(({ debit, credit, amount }) => ({ debit: credit, credit: debit, amount }));
