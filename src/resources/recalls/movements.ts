// Ledger movements of a recall: the bank takes a credit back, so what is left of the money is taken from where it is.
// The rest is receivable: from the owner of the wallet, or from the bank if the money had left again.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import {
  type AccountCode,
  BANK_RECEIVABLE,
  clearingAccount,
  UNCLAIMED,
  walletAccount,
  walletReceivable,
} from '../../ledger/chart.ts';
import type { Movement } from '../../ledger/movement.ts';
import { allocate } from '../../ledger/postings.ts';
import type { Book, Kobo } from '../../money.ts';
import { walletDebited } from '../bankTransfers/movements.ts';
import { nextVersion } from '../bookTable.ts';
import { startRecall } from '../flows.ts';
import { recallKey } from '../inboundCredits/movements.ts';
import type { InboundCredit } from '../inboundCredits/queries.ts';
import { paymentRow } from '../payments/movements.ts';
import type { Payment } from '../payments/queries.ts';
import { openReviewCase, recallCase, withCaseFlows } from '../reviewCases/movements.ts';
import type { ReviewCase } from '../reviewCases/queries.ts';

/** The bank reports that it has taken the credit back: starts the flow, and posts nothing yet. */
export function receiveRecall(book: Book, credit: InboundCredit): Movement {
  const next = nextVersion(credit, { recall: 'received' });
  return { book, rows: { inbound_credits: [next] }, outbox: [startRecall(book, next)] };
}

/** Nothing of the credit was posted, so nothing is taken back. */
export function recallUnposted(book: Book, credit: InboundCredit): Movement {
  return { book, rows: { inbound_credits: [nextVersion(credit, { status: 'recalled', recall: 'posted' })] } };
}

/** The rail does not confirm the recall, and an operator sets it aside: a review case is opened. */
export function setAsideRecallMovement(book: Book, credit: InboundCredit): Movement {
  const next = nextVersion(credit, { recall: 'set_aside' });
  return withCaseFlows({
    book,
    rows: { inbound_credits: [next], review_cases: [missingCase(credit, credit.amount, null)] },
  });
}

/** Takes the money from a wallet with this balance. */
export function recallFromWallet(book: Book, credit: InboundCredit, walletId: Uuid, balance: Kobo): Movement {
  const taken = Math.min(credit.amount, balance);
  const movement = recallMovement(book, credit, walletAccount(walletId), taken, walletReceivable(walletId));
  const missing = credit.amount - taken;
  const inboundCreditId = publicId('inboundCredit', credit.id);
  return withCaseFlows({
    ...movement,
    rows: { ...movement.rows, review_cases: missing > 0 ? [missingCase(credit, missing, walletId)] : [] },
    events: [walletDebited({ walletId, inboundCreditId, amount: taken, missing })],
  });
}

/** Takes the money from the suspense account of a payment that is not paid in full. */
export function recallFromPayment(
  book: Book,
  credit: InboundCredit,
  payment: Payment,
  suspense: AccountCode,
): Movement {
  const movement = recallMovement(book, credit, suspense, credit.amount, BANK_RECEIVABLE);
  return { ...movement, rows: { ...movement.rows, payments: [withoutCredit(payment, credit)] } };
}

/** Takes the money of a case from suspense or unclaimed. `payment`: whose suspense account holds it, if one does. */
export function recallFromCase(
  book: Book,
  credit: InboundCredit,
  open: ReviewCase & { accountCode: AccountCode },
  payment: Payment | null,
): Movement {
  const source = open.status === 'unclaimed' ? UNCLAIMED : open.accountCode;
  const movement = recallMovement(book, credit, source, credit.amount, BANK_RECEIVABLE);
  const recalled = recallCase(book, open);
  return {
    ...movement,
    ...recalled,
    rows: {
      ...movement.rows,
      ...recalled.rows,
      payments: payment === null || source === UNCLAIMED ? [] : [withoutCredit(payment, credit)],
    },
  };
}

/** The money has left again: the bank owes it. */
export function recallFromNowhere(book: Book, credit: InboundCredit): Movement {
  const movement = recallMovement(book, credit, null, 0, BANK_RECEIVABLE);
  return withCaseFlows({
    ...movement,
    rows: { ...movement.rows, review_cases: [missingCase(credit, credit.amount, null)] },
  });
}

function recallMovement(
  book: Book,
  credit: InboundCredit,
  source: AccountCode | null,
  taken: Kobo,
  receivable: AccountCode,
): Movement & { rows: { inbound_credits: InboundCredit[] } } {
  return {
    book,
    transaction: {
      id: newUuid(),
      key: recallKey(credit),
      kind: 'credit_recall',
      resource: publicId('inboundCredit', credit.id),
      effectiveAt: new Date(),
      rules: 'exempt',
      postings: allocate(
        [
          { account: source ?? receivable, amount: taken },
          { account: receivable, amount: credit.amount - taken },
        ],
        [{ account: clearingAccount(credit.rail), amount: credit.amount }],
      ),
    },
    rows: {
      inbound_credits: [nextVersion(credit, { recall: 'posted', recalledFrom: source, recalledTaken: taken })],
    },
  };
}

function withoutCredit(payment: Payment, { amount }: InboundCredit): Payment {
  const amountReceived = payment.amountReceived - amount;
  const status = payment.status === 'partial' && amountReceived === 0 ? 'pending' : payment.status;
  return paymentRow(nextVersion(payment, { amountReceived, status }));
}

const missingCase = (credit: InboundCredit, missing: Kobo, walletId: Uuid | null): ReviewCase =>
  openReviewCase({
    reason: 'credit_recalled',
    amount: missing,
    inboundCreditId: credit.id,
    paymentId: credit.ownerKind === 'payment' ? credit.ownerId : null,
    walletId,
  });
