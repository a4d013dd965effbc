// How inbound money that belongs to no payment stands in the books: in the wallet whose deposit account it came to, or in
// suspense with a review case for a person.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import { type AccountCode, clearingAccount, UNMATCHED, walletAccount } from '../../ledger/chart.ts';
import type { Movement, RefusalCode, Transaction } from '../../ledger/movement.ts';
import { allocate, type Posting } from '../../ledger/postings.ts';
import { type Book, CURRENCY } from '../../money.ts';
import { openReviewCase, withCaseFlows } from '../reviewCases/movements.ts';
import type { ReviewReason } from '../reviewCases/queries.ts';
import type { InboundCredit } from './queries.ts';

/** The ledger transaction of a credit: whatever becomes of it, it is posted once under the rail's session id. */
export function creditTransaction(
  credit: InboundCredit,
  kind: string,
  resource: string,
  postings: Posting[],
): Transaction {
  return {
    id: newUuid(),
    key: `credit/${credit.rail}/${credit.sessionId}`,
    kind,
    resource,
    effectiveAt: credit.receivedAt,
    rules: 'enforced',
    postings,
  };
}

/** The whole credit into suspense, with an open review case. `walletId`: the wallet that it came for, where that is known. */
export function creditToSuspense(
  book: Book,
  credit: InboundCredit,
  reason: ReviewReason,
  walletId: Uuid | null,
): Movement {
  return withCaseFlows({
    book,
    transaction: creditTransaction(
      credit,
      'credit_to_suspense',
      publicId('inboundCredit', credit.id),
      allocate(
        [{ account: clearingAccount(credit.rail), amount: credit.amount }],
        [{ account: UNMATCHED, amount: credit.amount }],
      ),
    ),
    rows: {
      inbound_credits: [{ ...credit, version: credit.version + 1, status: 'suspense' }],
      review_cases: [
        openReviewCase({
          reason,
          amount: credit.amount,
          accountCode: UNMATCHED,
          inboundCreditId: credit.id,
          paymentId: credit.ownerKind === 'payment' ? credit.ownerId : null,
          walletId,
        }),
      ],
    },
  });
}

/**
 * The rail does not confirm the credit, and an operator has it set aside: nothing is posted, and a review case that holds no money
 * is opened. `walletId`: the wallet that it came for, where that is known.
 */
export function setAsideMovement(book: Book, credit: InboundCredit, walletId: Uuid | null): Movement {
  return withCaseFlows({
    book,
    rows: {
      inbound_credits: [{ ...credit, version: credit.version + 1, status: 'set_aside' }],
      review_cases: [
        openReviewCase({
          reason: 'credit_unconfirmed',
          amount: credit.amount,
          accountCode: null,
          inboundCreditId: credit.id,
          paymentId: credit.ownerKind === 'payment' ? credit.ownerId : null,
          walletId,
        }),
      ],
    },
  });
}

/** Why a wallet that cannot take money now sends it to review. */
const REVIEW_REASONS: Partial<Record<RefusalCode, ReviewReason>> = {
  WALLET_FROZEN: 'wallet_frozen',
  WALLET_CLOSED: 'wallet_closed',
  WALLET_KYC_REQUIRED: 'wallet_unverified',
  WALLET_TIER1_LIMIT_EXCEEDED: 'over_limit',
};

/**
 * Null: it was not this wallet that refused, or for no reason that a credit can meet. Any account refuses a credit that would
 * take it past the largest balance there can be, a payment's own suspense account too.
 */
export function reviewReasonOf(
  { code, account }: { code: RefusalCode; account: AccountCode | null },
  walletId: Uuid,
): ReviewReason | null {
  const isExpected = account === walletAccount(walletId) || code === 'WALLET_TIER1_LIMIT_EXCEEDED';
  return isExpected ? (REVIEW_REASONS[code] ?? null) : null;
}

/** Money into the wallet whose deposit account it came to. */
export function depositMovement(book: Book, credit: InboundCredit, walletId: string): Movement {
  return {
    book,
    transaction: creditTransaction(
      credit,
      'deposit',
      publicId('inboundCredit', credit.id),
      allocate(
        [{ account: clearingAccount(credit.rail), amount: credit.amount }],
        [{ account: walletAccount(walletId), amount: credit.amount }],
      ),
    ),
    rows: { inbound_credits: [{ ...credit, version: credit.version + 1, status: 'posted' }] },
    events: [
      {
        id: newUuid(),
        type: 'wallet.credited',
        resource: publicId('wallet', walletId),
        data: {
          walletId: publicId('wallet', walletId),
          inboundCreditId: publicId('inboundCredit', credit.id),
          amount: credit.amount,
          currency: CURRENCY,
          sessionId: credit.sessionId,
        },
        createdAt: new Date(),
      },
    ],
  };
}
