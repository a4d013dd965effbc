// Movements of a payment of ₦2,000.00 with a fee of ₦20.00, so that ₦2,020.00 is payable.
import type { Kobo } from '../../../src/money.ts';
import { creditToSuspense } from '../../../src/resources/inboundCredits/movements.ts';
import {
  acceptPayment,
  cancellationMovement,
  cancelledPayment,
  creditMovement,
  expiredPayment,
  expiryMovement,
  type NewPayment,
  newPayment,
  paymentAfter,
  walletPaymentMovement,
} from '../../../src/resources/payments/movements.ts';
import type { Payment, PaymentWithAccount } from '../../../src/resources/payments/queries.ts';
import { decideCredit, decideExpiry, decidePay, type WalletCapacity } from '../../../src/workflows/payment/decide.ts';
import {
  BOOK,
  CREDIT_KEY,
  call,
  inSuspense,
  newId,
  OTHER,
  OWNER,
  receivedCredit,
  rowAfter,
  type Step,
  step,
} from '../movementTable.ts';

const id = newId('payment', 'payment');
const request: NewPayment = {
  method: 'bank_transfer',
  baseAmount: 200_000,
  fee: 2_000,
  feeBearer: 'payer',
  targetWalletId: OWNER,
  splits: [],
  hold: null,
  description: null,
  onMismatch: 'hold',
  returnUrl: null,
  reference: null,
  metadata: null,
  expiresAt: new Date(Date.now() + 3_600_000),
  createdAt: new Date(),
};
const pending: Payment = { ...newPayment(request), id };
const withAccount = (payment: Payment): PaymentWithAccount => ({ ...payment, account: null });

const accepted = step({
  title: 'an accepted payment posts nothing: it is stored, and its flow starts',
  call: call(acceptPayment, BOOK, pending, null),
  rows: ['payments: pending, version 1'],
  outbox: ['payment: start'],
});

const toPayment = { ownerKind: 'payment', ownerId: id } as const;

/** The credit movement that the rules decide on for this payment. */
function credited(payment: Payment, amount: Kobo, capacity: WalletCapacity = 'all') {
  const credit = receivedCredit(amount, toPayment);
  const decision = decideCredit(payment, credit, capacity);
  if (decision.kind === 'to_suspense') throw new Error(`the payment takes no credit: ${decision.reason}`);
  const made = call(creditMovement, BOOK, payment, paymentAfter(withAccount(payment), decision), credit, decision);
  return { call: made, given: { payments: payment === pending ? [pending] : [], inbound_credits: [credit] } };
}

/** The expiry that the rules decide on for this payment. */
function expired(payment: Payment) {
  const decision = decideExpiry(payment);
  if (decision.kind === 'no_change') throw new Error('the payment has ended');
  return call(expiryMovement, BOOK, expiredPayment(withAccount(payment), decision.toSuspense), decision.toSuspense);
}

const paymentOf = (made: Step) => rowAfter(made, 'payments');
const POSTED = 'inbound_credits: posted, version 2';
const PARTIAL = `payment_partial ${CREDIT_KEY}, enforced`;
const SETTLEMENT = `payment_settlement ${CREDIT_KEY}, enforced`;

export const FIRST_PART = step({
  title: 'a first part of a payment is held in the suspense account of the payment',
  ...credited(pending, 50_000),
  net: { 'clearing:sandbox': -50_000, 'suspense:payment:payment': 50_000 },
  transaction: PARTIAL,
  rows: ['payments: partial, version 2, received 50000', POSTED],
  events: ['payment.settled'],
});

const secondPart = step({
  title: 'a second part of a payment is held with the first',
  after: FIRST_PART,
  ...credited(paymentOf(FIRST_PART), 52_000),
  net: { 'clearing:sandbox': -52_000, 'suspense:payment:payment': 52_000 },
  transaction: PARTIAL,
  rows: ['payments: partial, version 3, received 102000', POSTED],
  events: ['payment.settled'],
});

export const SETTLED = step({
  title: 'the exact amount settles a payment: the wallet gets the base amount, the service its fee',
  ...credited(pending, 202_000),
  net: { 'clearing:sandbox': -202_000, 'wallet:owner': 200_000, 'income:fees': 2_000 },
  transaction: SETTLEMENT,
  rows: ['payments: settled, version 2, received 202000, credited 200000', POSTED],
  events: ['payment.settled', 'payment.completed'],
});

const expiredUnpaid = step({
  title: 'a payment without money expires without a posting',
  given: { payments: [pending] },
  call: expired(pending),
  rows: ['payments: expired, version 2'],
  events: ['payment.expired'],
});

const cancelled = step({
  title: 'a payment without money is cancelled without a posting, and its flow closes the account number',
  given: { payments: [pending] },
  call: call(cancellationMovement, BOOK, cancelledPayment(withAccount(pending))),
  rows: ['payments: cancelled, version 2'],
  events: ['payment.cancelled'],
  outbox: ['payment: start or signal paymentEnded'],
});

/** A credit that the payment does not accept, in suspense. `row`: what the payment is then. */
function suspended(
  title: string,
  reason: Parameters<typeof creditToSuspense>[2],
  before: { after: Step } | { given: { payments: Payment[] } },
  row: string,
  fee = 2_000,
) {
  const credit = receivedCredit(202_000, toPayment);
  const payment = 'given' in before ? pending : paymentOf(before.after);
  const { rows, events, ...suspense } = inSuspense(reason, 202_000);
  return step({
    title,
    ...before,
    given: { ...('given' in before && before.given), inbound_credits: [credit] },
    call: call(creditToSuspense, BOOK, credit, reason, OWNER, withAccount(payment)),
    ...suspense,
    rows: [
      `payments: ${row}, in review 202000`,
      ...rows.map((one) => (one.startsWith('review') && fee > 0 ? `${one}, fee ${fee}` : one)),
    ],
    events: [...events, 'payment.in_review'],
  });
}

export const LATE = suspended(
  'a credit after the expiry is placed in suspense',
  'late_credit',
  { after: expiredUnpaid },
  'expired, version 3',
);
const lateForCancelled = suspended(
  'a credit after the cancellation is placed in suspense',
  'late_credit',
  { after: cancelled },
  'cancelled, version 3',
);
export const REST_IN_REVIEW = suspended(
  'a last part is placed in suspense, and the payment still holds the first',
  'wallet_frozen',
  { after: FIRST_PART },
  'partial, version 3, received 50000',
);

/** Opened by the settlement, so its money is in suspense although the payment is settled. */
const SURPLUS_CASE = 'review_cases: open, version 1, surplus_over_limit of 700 in suspense:unmatched';

/** The end of a payment's window with a part of the money held; the review cases start from it. */
export const EXPIRED_WITH_PART = step({
  title: 'a payment that expires with a part keeps it in the suspense account of the payment, with a review case',
  after: FIRST_PART,
  call: expired(paymentOf(FIRST_PART)),
  rows: [
    'payments: expired, version 3, received 50000, in review 50000',
    'review_cases: open, version 1, partial_expired of 50000 in suspense:payment:payment, fee 495',
  ],
  events: ['payment.expired', 'review_case.opened', 'payment.in_review'],
  outbox: ['reviewCase: start'],
});

export const SURPLUS_IN_REVIEW = step({
  title: 'a surplus beyond the limit of the wallet is placed in suspense, and the payment is settled without it',
  ...credited(pending, 202_700, 'base_only'),
  net: {
    'clearing:sandbox': -202_700,
    'wallet:owner': 200_000,
    'income:fees': 2_000,
    'suspense:unmatched': 700,
  },
  transaction: SETTLEMENT,
  rows: ['payments: settled, version 2, received 202700, credited 200000, in review 700', POSTED, SURPLUS_CASE],
  events: ['payment.settled', 'payment.completed', 'review_case.opened', 'payment.in_review'],
  outbox: ['reviewCase: start'],
});

/** The same with two parts, of which one may be taken back alone. */
export const EXPIRED_WITH_PARTS = step({
  title: 'a payment that expires with two parts keeps both, with one review case',
  after: secondPart,
  call: expired(paymentOf(secondPart)),
  rows: [
    'payments: expired, version 4, received 102000, in review 102000',
    'review_cases: open, version 1, partial_expired of 102000 in suspense:payment:payment, fee 1009',
  ],
  events: ['payment.expired', 'review_case.opened', 'payment.in_review'],
  outbox: ['reviewCase: start'],
});

const billId = newId('payment', 'bill');
const bill: Payment = { ...newPayment({ ...request, method: 'virtual_wallet', fee: 0 }), id: billId };

/** The bill after the other wallet has paid it, as the rules decide. */
function paidBill(): Payment & { payerWalletId: string } {
  const decision = decidePay(bill, OTHER, new Date());
  if (decision.kind === 'refuse') throw new Error(decision.code);
  const { amountReceived, toWallet } = decision;
  return {
    ...bill,
    version: bill.version + 1,
    status: 'settled',
    amountReceived,
    amountCredited: toWallet,
    payerWalletId: OTHER,
    settledAt: new Date(),
  };
}

export const PAYMENTS = [
  accepted,
  FIRST_PART,
  REST_IN_REVIEW,
  secondPart,
  SETTLED,
  step({
    title: 'a surplus is credited to the wallet with the base amount',
    ...credited(pending, 202_700),
    net: { 'clearing:sandbox': -202_700, 'wallet:owner': 200_700, 'income:fees': 2_000 },
    transaction: SETTLEMENT,
    rows: ['payments: settled, version 2, received 202700, credited 200700', POSTED],
    events: ['payment.settled', 'payment.completed'],
  }),
  SURPLUS_IN_REVIEW,
  step({
    title: 'the last part settles a payment with all parts that were held',
    after: secondPart,
    ...credited(paymentOf(secondPart), 100_000),
    net: {
      'clearing:sandbox': -100_000,
      'suspense:payment:payment': -102_000,
      'wallet:owner': 200_000,
      'income:fees': 2_000,
    },
    transaction: SETTLEMENT,
    rows: ['payments: settled, version 4, received 202000, credited 200000', POSTED],
    events: ['payment.settled', 'payment.completed'],
  }),
  step({
    title: 'a surplus with the last part is credited to the wallet with the base amount',
    after: secondPart,
    ...credited(paymentOf(secondPart), 100_700),
    net: {
      'clearing:sandbox': -100_700,
      'suspense:payment:payment': -102_000,
      'wallet:owner': 200_700,
      'income:fees': 2_000,
    },
    transaction: SETTLEMENT,
    rows: ['payments: settled, version 4, received 202700, credited 200700', POSTED],
    events: ['payment.settled', 'payment.completed'],
  }),
  step({
    title: 'a surplus with the last part that is beyond the limit of the wallet is placed in suspense',
    after: secondPart,
    ...credited(paymentOf(secondPart), 100_700, 'base_only'),
    net: {
      'clearing:sandbox': -100_700,
      'suspense:payment:payment': -102_000,
      'wallet:owner': 200_000,
      'income:fees': 2_000,
      'suspense:unmatched': 700,
    },
    transaction: SETTLEMENT,
    rows: ['payments: settled, version 4, received 202700, credited 200000, in review 700', POSTED, SURPLUS_CASE],
    events: ['payment.settled', 'payment.completed', 'review_case.opened', 'payment.in_review'],
    outbox: ['reviewCase: start'],
  }),
  expiredUnpaid,
  cancelled,
  EXPIRED_WITH_PART,
  EXPIRED_WITH_PARTS,
  LATE,
  lateForCancelled,
  suspended(
    'a credit after the settlement is placed in suspense',
    'credit_after_settlement',
    { after: SETTLED },
    'settled, version 3, received 202000, credited 200000',
    0,
  ),
  ...(['wallet_frozen', 'wallet_closed', 'wallet_unverified', 'over_limit'] as const).flatMap((reason) => [
    suspended(
      `a credit that the wallet of a payment refuses as ${reason} is placed in suspense`,
      reason,
      {
        given: { payments: [pending] },
      },
      'pending, version 2',
    ),
    suspended(
      `a last part that the wallet refuses as ${reason} is placed in suspense apart from the held part`,
      reason,
      { after: FIRST_PART },
      'partial, version 3, received 50000',
    ),
  ]),
  step({
    title: 'a payment from a wallet moves the base amount from wallet to wallet, without a fee',
    given: { payments: [bill] },
    call: call(walletPaymentMovement, BOOK, bill, { ...paidBill(), account: null }),
    net: { 'wallet:other': -200_000, 'wallet:owner': 200_000 },
    transaction: 'payment_from_wallet bill/payment, enforced',
    rows: ['payments: settled, version 2, received 200000, credited 200000'],
    events: ['payment.settled', 'payment.completed'],
  }),
];
