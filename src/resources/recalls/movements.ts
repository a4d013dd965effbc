// Ledger movements of a recall: the bank takes a credit back, so what is left of the money is taken from where it is.
// The rest is receivable: from the owner of the wallet, or from the bank if the money had left again.
import { publicId, type Uuid } from '../../ids.ts';
import {
  type AccountCode,
  BANK_RECEIVABLE,
  clearingAccount,
  heldAccount,
  walletAccount,
  walletReceivable,
} from '../../ledger/chart.ts';
import type { Movement, Transaction } from '../../ledger/movement.ts';
import { allocate, type Leg } from '../../ledger/postings.ts';
import type { Book, Kobo } from '../../money.ts';
import type { UnmatchedReversal } from '../../rail/port.ts';
import { walletDebited } from '../bankTransfers/movements.ts';
import { nextVersion } from '../bookTable.ts';
import { startRecall } from '../flows.ts';
import { takeHeld, withHolds } from '../holds/movements.ts';
import type { Hold } from '../holds/queries.ts';
import type { ConfirmedCredit } from '../inboundCredits/confirm.ts';
import { cameBackKey, recallKey } from '../inboundCredits/movements.ts';
import type { InboundCredit } from '../inboundCredits/queries.ts';
import { newTransaction, together } from '../movement.ts';
import type { Payment, PaymentWithAccount } from '../payments/queries.ts';
import { paymentEvent, paymentRow } from '../payments/rows.ts';
import {
  endCase,
  holderOf,
  inReview,
  isHeld,
  openReviewCase,
  withCaseFlows,
  withoutCredit,
} from '../reviewCases/movements.ts';
import type { ReviewCase } from '../reviewCases/queries.ts';

/** The bank reports that it has taken the credit back: starts the flow, and posts nothing yet. */
export function receiveRecall(book: Book, credit: InboundCredit): Movement {
  const next = nextVersion(credit, { recall: 'received' });
  return { book, rows: { inbound_credits: [next] }, outbox: [startRecall(book, next)] };
}

/** Nothing of the credit was posted, so nothing is taken back. What it was is what the rail's record says. */
export function recallUnposted(book: Book, credit: ConfirmedCredit): Movement {
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

/**
 * Takes the money from what is held of it beside a wallet, then from the wallet, with this balance. `payment`: the one
 * by which the wallet was credited, with its open holds. `surplus`: the case of a part of the credit, which ends; if
 * that part has left for its sender, the bank owes it.
 */
export function recallFromWallet(
  book: Book,
  credit: InboundCredit,
  walletId: Uuid,
  balance: Kobo,
  {
    payment = null,
    surplus = null,
    holds = [],
  }: { payment?: PaymentWithAccount | null; surplus?: ReviewCase | null; holds?: readonly Hold[] } = {},
): Movement {
  const amount = credit.amount - (surplus?.amount ?? 0);
  const fromHolds = takeHeld(holds, walletId, amount);
  const taken = Math.min(amount - fromHolds.taken, balance);
  const held = surplus !== null && isHeld(surplus) ? surplus : null;
  const fromSurplus =
    surplus === null ? [] : [{ account: held === null ? BANK_RECEIVABLE : holderOf(held), amount: surplus.amount }];
  const movement = recallMovement(book, credit, walletAccount(walletId), taken, walletReceivable(walletId), [
    ...fromSurplus,
    { account: heldAccount(walletId), amount: fromHolds.taken },
  ]);
  const [recalledCredit] = movement.rows.inbound_credits;
  const missing = amount - taken - fromHolds.taken;
  const inboundCreditId = publicId('inboundCredit', credit.id);
  const ended = held === null ? null : endCase(book, held, 'recalled');
  const changed = recalled(payment, credit, {
    amountRecalled: amount,
    amountInReview: held === null ? 0 : -inReview(held),
  });
  const opened = [
    ...(missing > 0 ? [missingCase(credit, missing, walletId)] : []),
    ...(surplus !== null && held === null ? [missingCase(credit, surplus.amount, null)] : []),
  ];
  const withCase = withCaseFlows({
    ...movement,
    rows: {
      inbound_credits: [{ ...recalledCredit, recalledHeld: fromHolds.taken }],
      ...changed.rows,
      review_cases: opened,
    },
    events: [
      walletDebited({ walletId, inboundCreditId, reason: 'credit_recalled', amount: taken, missing }),
      ...changed.events,
    ],
  });
  return withHolds(ended === null ? withCase : together(withCase, ended), fromHolds.holds);
}

/** Takes the money from the suspense account of a payment that is not paid in full. */
export function recallFromPayment(
  book: Book,
  credit: InboundCredit,
  payment: PaymentWithAccount,
  suspense: AccountCode,
): Movement {
  const movement = recallMovement(book, credit, suspense, credit.amount, BANK_RECEIVABLE);
  return together(movement, recalled(payment, credit, { amountReceived: -credit.amount }));
}

/**
 * Takes the money of a case from suspense or unclaimed. Of one that holds other credits too, the rest stays. `payment`:
 * the one that the case's money was received for. If the money, or the surplus that it is, was on its way to the sender
 * when the bank took the credit back, and has come back since, it is what the bank owed.
 */
export function recallFromCase(
  book: Book,
  credit: InboundCredit,
  held: ReviewCase,
  payment: PaymentWithAccount | null,
): Movement {
  const isSurplus = held.reason === 'surplus_over_limit';
  const amount = isSurplus ? held.amount : credit.amount;
  const whole = recallMovement(book, credit, holderOf(held), credit.amount, BANK_RECEIVABLE);
  const cameBack = [{ debit: holderOf(held), credit: BANK_RECEIVABLE, amount }];
  const movement =
    credit.recall === 'posted'
      ? {
          ...whole,
          transaction: { ...whole.transaction, key: cameBackKey(credit), postings: cameBack },
          // The rest was taken from the wallet, as the row says.
          rows: isSurplus ? { inbound_credits: [nextVersion(credit, {})] } : whole.rows,
        }
      : whole;
  const changed = recalled(payment, credit, {
    amountReceived: held.reason === 'partial_expired' ? -amount : 0,
    amountInReview: inReview(held) > 0 ? -amount : 0,
  });
  const ended =
    held.amount === amount
      ? endCase(book, held, 'recalled')
      : { rows: { review_cases: [withoutCredit(held, amount)] } };
  return together(together(movement, ended), changed);
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
  others: readonly Leg[] = [],
): Movement & { transaction: Transaction; rows: { inbound_credits: [InboundCredit] } } {
  const amount = credit.amount - others.reduce((sum, leg) => sum + leg.amount, 0);
  const postings = allocate(
    [...others, { account: source ?? receivable, amount: taken }, { account: receivable, amount: amount - taken }],
    [{ account: clearingAccount(credit.rail), amount: credit.amount }],
  );
  return {
    book,
    transaction: newTransaction(publicId('inboundCredit', credit.id), 'recall', 'credit_recall', postings, {
      key: recallKey(credit),
      rules: 'exempt',
    }),
    rows: {
      inbound_credits: [nextVersion(credit, { recall: 'posted', recalledFrom: source, recalledTaken: taken })],
    },
  };
}

type Amounts = Pick<Payment, 'amountReceived' | 'amountInReview' | 'amountRecalled'>;

/** What a recall changes of the amounts of a payment, with its event; nothing of the others. */
function recalled(payment: PaymentWithAccount | null, credit: InboundCredit, by: Partial<Amounts>) {
  if (payment === null || !Object.values(by).some((change) => change !== 0)) return { rows: {}, events: [] };
  const amountReceived = payment.amountReceived + (by.amountReceived ?? 0);
  const next = nextVersion(payment, {
    status: payment.status === 'partial' && amountReceived === 0 ? 'pending' : payment.status,
    amountReceived,
    amountInReview: payment.amountInReview + (by.amountInReview ?? 0),
    amountRecalled: payment.amountRecalled + (by.amountRecalled ?? 0),
  });
  return { rows: { payments: [paymentRow(next)] }, events: [paymentEvent('payment.recalled', next, credit)] };
}

const missingCase = (credit: InboundCredit, missing: Kobo, walletId: Uuid | null): ReviewCase =>
  openReviewCase({
    reason: 'credit_recalled',
    amount: missing,
    inboundCreditId: credit.id,
    paymentId: credit.ownerKind === 'payment' ? credit.ownerId : null,
    walletId,
  });

/**
 * Money that a rail says it took back, where we know no such credit: a break of reconciliation with its case, before
 * any statement has it. A repeat finds it stored, and conflicts.
 */
export function openReversalCase(book: Book, rail: string, { reference, amount, at }: UnmatchedReversal): Movement {
  const opened = openReviewCase({ reason: 'reconciliation_break', amount: amount ?? 0 });
  const { id, version, createdAt } = opened;
  const line = { kind: 'reversal', line: 'other_out', reference, at: at ?? createdAt, occurrence: 1 };
  const amounts = { ledgerAmount: null, statementAmount: amount };
  const found = { id, version, rail, ...line, ...amounts, sealedRow: null, clearedAt: null, createdAt };
  return withCaseFlows({ book, rows: { review_cases: [opened], reconciliation_breaks: [found] } });
}
