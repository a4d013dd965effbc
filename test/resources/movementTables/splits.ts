// Movements of a payment of ₦2,000.00 with a fee of ₦20.00, of which 10 % are the commission of the platform and
// ₦300.00 go to a courier.
import type { Uuid } from '../../../src/ids.ts';
import type { Kobo } from '../../../src/money.ts';
import { creditToSuspense } from '../../../src/resources/inboundCredits/movements.ts';
import {
  creditMovement,
  newPayment,
  paymentAfter,
  settledWith,
  walletPaymentMovement,
} from '../../../src/resources/payments/movements.ts';
import type { Payment } from '../../../src/resources/payments/queries.ts';
import { recallFromWallet } from '../../../src/resources/recalls/movements.ts';
import {
  clawBackRefund,
  completeRefund,
  holdRefund,
  refundToWallet,
  returnRefundFunds,
} from '../../../src/resources/refunds/movements.ts';
import type { Refund } from '../../../src/resources/refunds/queries.ts';
import { creditCaseToPayment, type ReturnRefusal } from '../../../src/resources/reviewCases/movements.ts';
import { decideCredit, decideReviewedCredit } from '../../../src/workflows/payment/decide.ts';
import { refundParts } from '../../../src/workflows/payment/splits.ts';
import {
  BOOK,
  CREDIT_KEY,
  call,
  inSuspense,
  newId,
  OTHER,
  OWNER,
  PAID,
  REFUSED,
  RETURNED,
  receivedCredit,
  rowAfter,
  type Step,
  step,
} from '../movementTable.ts';

const COMMISSION = newId('wallet', 'commission');
const COURIER = newId('wallet', 'courier');

const id = newId('payment', 'split payment');
const split = (walletId: Uuid, amount: Kobo, basisPoints: number | null) => ({
  walletId,
  amount,
  basisPoints,
  reference: null,
  description: null,
  amountCredited: 0,
  amountRefunded: 0,
});
const pending: Payment = {
  ...newPayment({
    method: 'bank_transfer',
    baseAmount: 200_000,
    fee: 2_000,
    feeBearer: 'payer',
    targetWalletId: OWNER,
    hold: null,
    splits: [split(COMMISSION, 20_000, 1_000), split(COURIER, 30_000, null)],
    description: null,
    onMismatch: 'hold',
    returnUrl: null,
    reference: null,
    metadata: null,
    expiresAt: new Date(Date.now() + 3_600_000),
    createdAt: new Date(),
  }),
  id,
};
const withAccount = (payment: Payment) => ({ ...payment, account: null });
const paymentOf = (made: Step): Payment => rowAfter(made, 'payments');
const SETTLEMENT = `payment_settlement ${CREDIT_KEY}, enforced`;
const POSTED = 'inbound_credits: posted, version 2';

function credited(payment: Payment, amount: Kobo, refusing: readonly Uuid[] = []) {
  const credit = receivedCredit(amount, { ownerKind: 'payment', ownerId: id });
  const decision = decideCredit(payment, credit, 'all');
  if (decision.kind === 'to_suspense') throw new Error(decision.reason);
  const next = paymentAfter(withAccount(payment), decision, new Set(refusing));
  return {
    given: { payments: payment === pending ? [pending] : [], inbound_credits: [credit] },
    call: call(creditMovement, BOOK, payment, next, credit, decision),
  };
}

const SETTLED = step({
  title: 'a payment with splits credits all wallets at once: the target with the rest',
  ...credited(pending, 202_000),
  net: {
    'clearing:sandbox': -202_000,
    'wallet:owner': 150_000,
    'wallet:commission': 20_000,
    'wallet:courier': 30_000,
    'income:fees': 2_000,
  },
  transaction: SETTLEMENT,
  rows: ['payments: settled, version 2, received 202000, credited 200000', POSTED],
  events: ['payment.settled', 'payment.completed', 'wallet.credited', 'wallet.credited'],
});

const firstPart = step({
  title: 'a part of a payment with splits credits no wallet yet',
  ...credited(pending, 100_000),
  net: { 'clearing:sandbox': -100_000, 'suspense:payment:split payment': 100_000 },
  transaction: `payment_partial ${CREDIT_KEY}, enforced`,
  rows: ['payments: partial, version 2, received 100000', POSTED],
  events: ['payment.settled'],
});

const REFUSED_PART = step({
  title: 'a split whose wallet does not take it goes to suspense with its case, and the others are credited',
  ...credited(pending, 202_700, [COURIER]),
  net: {
    'clearing:sandbox': -202_700,
    'wallet:owner': 150_700,
    'wallet:commission': 20_000,
    'suspense:unmatched': 30_000,
    'income:fees': 2_000,
  },
  transaction: SETTLEMENT,
  rows: [
    'payments: settled, version 2, received 202700, credited 170700, in review 30000',
    POSTED,
    'review_cases: open, version 1, split_refused of 30000 in suspense:unmatched',
  ],
  events: ['payment.settled', 'payment.completed', 'wallet.credited', 'review_case.opened', 'payment.in_review'],
  outbox: ['reviewCase: start'],
});

const caseOf = (made: Step) => rowAfter(made, 'review_cases');

const lateCredit = receivedCredit(202_000, { ownerKind: 'payment', ownerId: id });
const expired: Payment = { ...pending, version: 2, status: 'expired' };
const LATE = step({
  title: 'a late credit of a payment with splits is placed in suspense as a whole',
  given: { payments: [expired], inbound_credits: [lateCredit] },
  call: call(creditToSuspense, BOOK, lateCredit, 'late_credit', OWNER, withAccount(expired)),
  ...inSuspense('late_credit', 202_000),
  rows: [
    'payments: expired, version 3, in review 202000',
    'inbound_credits: suspense, version 2',
    'review_cases: open, version 1, late_credit of 202000 in suspense:unmatched, fee 2000',
  ],
  events: ['review_case.opened', 'payment.in_review'],
});

function reviewed(made: Step, { isCounted = false, walletId = OWNER } = {}) {
  const payment = paymentOf(made);
  const decision = decideReviewedCredit(payment, { amount: caseOf(made).amount, isCounted, waivesFee: false });
  if (decision === 'incomplete') throw new Error(decision);
  return call(creditCaseToPayment, BOOK, caseOf(made), withAccount(payment), decision, walletId);
}

const NOTHING_BACK = { clawedBack: null, suspended: 0, repaid: 0 };

const refundOf = (payment: Payment, amount: Kobo, name: string): Refund => ({
  id: newId('refund', name),
  version: 1,
  paymentId: payment.id,
  amount,
  sources: refundParts(payment, amount).map((part) => ({
    ...part,
    ...NOTHING_BACK,
    onBehalfOf: part.walletId,
    owed: 0,
  })),
  destination: 'bank',
  status: 'processing',
  reason: null,
  accountNumber: '0123456789',
  accountName: 'CHIDI EZE',
  bankCode: '058',
  reference: null,
  metadata: null,
  failureCode: null,
  failureReason: null,
  failureDetail: null,
  rail: 'sandbox',
  sessionId: null,
  createdAt: new Date(),
  completedAt: null,
  returnedAt: null,
  clawedBack: null,
});

const HALF = { 'wallet:owner': -75_000, 'wallet:commission': -10_000, 'wallet:courier': -15_000 };
const BACK = { 'wallet:owner': 75_000, 'wallet:commission': 10_000, 'wallet:courier': 15_000 };

const held = step({
  title: 'a refund of a payment with splits takes from each wallet in proportion',
  after: SETTLED,
  call: call(holdRefund, BOOK, paymentOf(SETTLED), refundOf(paymentOf(SETTLED), 100_000, 'split refund')),
  net: { ...HALF, 'in_transit:refunds': 100_000 },
  transaction: 'refund_hold split refund/hold, enforced',
  rows: [
    'payments: settled, version 3, received 202000, credited 200000, refunding 100000',
    'refunds: processing, version 1',
  ],
});

const refundAfter = (made: Step) => rowAfter(made, 'refunds');
const completed = step({
  title: 'a refund of a payment with splits leaves through clearing once the bank has paid it',
  after: held,
  call: call(completeRefund, BOOK, paymentOf(held), refundAfter(held), PAID),
  net: { 'in_transit:refunds': -100_000, 'clearing:sandbox': 100_000 },
  transaction: 'refund_completion split refund/completion, enforced, resolves split refund/hold',
  rows: [
    'payments: partially_refunded, version 4, received 202000, credited 200000, refunded 100000',
    'refunds: completed, version 2',
  ],
  events: ['refund.completed'],
});

/** Money of a refund goes back, where the courier does not take its part for this reason. */
const back = (after: Step, { change, failure }: typeof REFUSED | typeof RETURNED, refusal: ReturnRefusal) =>
  call(returnRefundFunds, BOOK, paymentOf(after), refundAfter(after), change, failure, {
    refusalOf: (walletId) => (walletId === COURIER ? refusal : null),
    // Of what a funded refund has made it owe, the seller has repaid a part.
    owedBy: (walletId) => (walletId === OWNER ? 40_000 : 100_000),
    others: 0,
  });

const failed = step({
  title: 'a refund of a payment with splits that fails goes back to each wallet, and to suspense for a closed one',
  after: held,
  call: back(held, REFUSED, 'wallet_closed'),
  net: {
    'in_transit:refunds': -100_000,
    'wallet:owner': 75_000,
    'wallet:commission': 10_000,
    'suspense:unmatched': 15_000,
  },
  transaction: 'refund_return split refund/return, credit_exempt, reverses split refund/hold',
  rows: [
    'payments: settled, version 4, received 202000, credited 200000',
    'refunds: failed, version 2',
    'review_cases: open, version 1, wallet_closed of 15000 in suspense:unmatched',
  ],
  events: ['refund.failed', 'review_case.opened'],
  outbox: ['reviewCase: start'],
});

const clawedBack = step({
  title:
    'a failed refund of a payment with splits that the bank has paid is taken from each wallet as far as it has it',
  after: failed,
  call: call(clawBackRefund, BOOK, paymentOf(failed), refundAfter(failed), PAID, {
    balanceOf: (walletId) => (walletId === OWNER ? 70_000 : walletId === COURIER ? 0 : 20_000),
    others: 0,
  }),
  net: {
    'wallet:owner': -70_000,
    'wallet:commission': -10_000,
    'receivable:bank': -20_000,
    'clearing:sandbox': 100_000,
  },
  transaction: 'refund_clawback split refund/clawback, exempt',
  rows: [
    'payments: partially_refunded, version 5, received 202000, credited 200000, refunded 100000',
    'refunds: completed, version 3',
    'review_cases: open, version 1, paid_after_failure of 20000 in no account',
  ],
  events: ['refund.completed', 'wallet.debited', 'wallet.debited', 'wallet.debited'],
  outbox: ['reviewCase: start'],
});

const fundedRefund: Refund = {
  ...refundOf(paymentOf(SETTLED), 100_000, 'funded refund'),
  sources: refundParts(paymentOf(SETTLED), 100_000).map(({ walletId, amount }) => ({
    ...NOTHING_BACK,
    walletId: OTHER,
    onBehalfOf: walletId,
    amount,
    owed: amount,
  })),
};

const DEBTS = {
  'receivable:wallet:owner': -75_000,
  'receivable:wallet:commission': -10_000,
  'receivable:wallet:courier': -15_000,
  'own:funded_refunds': 100_000,
};

const fundedHeld = step({
  title: 'a refund that another wallet funds is owed by those of the payment',
  after: SETTLED,
  call: call(holdRefund, BOOK, paymentOf(SETTLED), fundedRefund),
  net: { 'wallet:other': -100_000, 'in_transit:refunds': 100_000, ...DEBTS },
  transaction: 'refund_hold funded refund/hold, enforced',
  rows: [
    'payments: settled, version 3, received 202000, credited 200000, refunding 100000',
    'refunds: processing, version 1',
  ],
  events: ['wallet.debited', 'wallet.debited', 'wallet.debited'],
});

const fundedCompleted = step({
  title: 'a funded refund leaves through clearing once the bank has paid it, and the debts stay',
  after: fundedHeld,
  call: call(completeRefund, BOOK, paymentOf(fundedHeld), refundAfter(fundedHeld), PAID),
  net: { 'in_transit:refunds': -100_000, 'clearing:sandbox': 100_000 },
  transaction: 'refund_completion funded refund/completion, enforced, resolves funded refund/hold',
  rows: [
    'payments: partially_refunded, version 4, received 202000, credited 200000, refunded 100000',
    'refunds: completed, version 2',
  ],
  events: ['refund.completed'],
});

/** A funded refund goes back to the wallet that gave it, and the debts end: what was repaid goes to suspense. */
const fundedBack = (after: Step, ended: typeof REFUSED | typeof RETURNED) =>
  step({
    title: `a funded refund that is ${ended.change === 'fail' ? 'refused' : 'returned'} ends the debts for it`,
    after,
    call: back(after, ended, null),
    net: {
      [after === fundedHeld ? 'in_transit:refunds' : 'clearing:sandbox']: -100_000,
      'wallet:other': 100_000,
      'own:funded_refunds': -100_000,
      'receivable:wallet:owner': 40_000,
      'receivable:wallet:commission': 10_000,
      'receivable:wallet:courier': 15_000,
      'suspense:unmatched': 35_000,
    },
    transaction: `refund_return funded refund/return, credit_exempt, reverses funded refund/${after === fundedHeld ? 'hold' : 'completion'}`,
    rows: [
      `payments: settled, version ${paymentOf(after).version + 1}, received 202000, credited 200000`,
      `refunds: failed, version ${refundAfter(after).version + 1}`,
      'review_cases: open, version 1, over_limit of 35000 in suspense:unmatched',
    ],
    events: ['refund.failed', 'review_case.opened'],
    outbox: ['reviewCase: start'],
  });

const fundedFailed = fundedBack(fundedHeld, REFUSED);

const BILL = newId('payment', 'split bill');
const bill: Payment = { ...pending, id: BILL, method: 'virtual_wallet', fee: 0 };

function paidBill(...refusing: Uuid[]) {
  const settlement = { amountReceived: 200_000, toWallet: 200_000, toFees: 0, toSuspense: 0 };
  const settled = settledWith(withAccount(bill), settlement, new Set(refusing), new Date());
  return call(walletPaymentMovement, BOOK, bill, { ...settled, payerWalletId: OTHER });
}

const billPaid = step({
  title: 'a payment with splits from a wallet credits all wallets at once',
  given: { payments: [bill] },
  call: paidBill(),
  net: { 'wallet:other': -200_000, 'wallet:owner': 150_000, 'wallet:commission': 20_000, 'wallet:courier': 30_000 },
  transaction: 'payment_from_wallet split bill/payment, enforced',
  rows: ['payments: settled, version 2, received 200000, credited 200000'],
  events: ['payment.settled', 'payment.completed', 'wallet.credited', 'wallet.credited'],
});

const billRefused = step({
  title: 'a split of a payment from a wallet whose wallet does not take it goes to suspense with its case',
  given: { payments: [bill] },
  call: paidBill(COMMISSION),
  net: { 'wallet:other': -200_000, 'wallet:owner': 150_000, 'suspense:unmatched': 20_000, 'wallet:courier': 30_000 },
  transaction: 'payment_from_wallet split bill/payment, enforced',
  rows: [
    'payments: settled, version 2, received 200000, credited 180000, in review 20000',
    'review_cases: open, version 1, split_refused of 20000 in suspense:unmatched',
  ],
  events: ['payment.settled', 'payment.completed', 'wallet.credited', 'review_case.opened', 'payment.in_review'],
  outbox: ['reviewCase: start'],
});

const recalled = rowAfter(SETTLED, 'inbound_credits');

export const SPLITS = [
  SETTLED,
  firstPart,
  step({
    title: 'the last part of a payment with splits credits all wallets at once',
    after: firstPart,
    ...credited(paymentOf(firstPart), 102_000),
    net: {
      'clearing:sandbox': -102_000,
      'suspense:payment:split payment': -100_000,
      'wallet:owner': 150_000,
      'wallet:commission': 20_000,
      'wallet:courier': 30_000,
      'income:fees': 2_000,
    },
    transaction: SETTLEMENT,
    rows: ['payments: settled, version 3, received 202000, credited 200000', POSTED],
    events: ['payment.settled', 'payment.completed', 'wallet.credited', 'wallet.credited'],
  }),
  REFUSED_PART,
  step({
    title: 'a split in review is credited to its wallet by a decision',
    after: REFUSED_PART,
    call: reviewed(REFUSED_PART, { isCounted: true, walletId: COURIER }),
    net: { 'suspense:unmatched': -30_000, 'wallet:courier': 30_000 },
    transaction: 'review_credit reviewCase/credit, enforced',
    rows: [
      'payments: settled, version 3, received 202700, credited 200700',
      'review_cases: credited, version 2, split_refused of 30000 in suspense:unmatched',
    ],
    events: ['review_case.resolved', 'payment.reviewed', 'wallet.credited'],
  }),
  step({
    title: 'a split in review is credited to the target by a decision, and counts as credited',
    after: REFUSED_PART,
    call: reviewed(REFUSED_PART, { isCounted: true }),
    net: { 'suspense:unmatched': -30_000, 'wallet:owner': 30_000 },
    transaction: 'review_credit reviewCase/credit, enforced',
    rows: [
      'payments: settled, version 3, received 202700, credited 200700',
      'review_cases: credited, version 2, split_refused of 30000 in suspense:unmatched',
    ],
    events: ['review_case.resolved', 'payment.reviewed'],
  }),
  LATE,
  step({
    title: 'a late credit that a decision credits to its payment is divided among its wallets',
    after: LATE,
    call: reviewed(LATE),
    net: {
      'suspense:unmatched': -202_000,
      'wallet:owner': 150_000,
      'wallet:commission': 20_000,
      'wallet:courier': 30_000,
      'income:fees': 2_000,
    },
    transaction: 'review_credit reviewCase/credit, enforced',
    rows: [
      'payments: expired, version 4, received 202000, credited 200000',
      'review_cases: credited, version 2, late_credit of 202000 in suspense:unmatched, fee 2000',
    ],
    events: ['review_case.resolved', 'payment.reviewed', 'wallet.credited', 'wallet.credited'],
  }),
  step({
    title: 'the target bears the recall of a payment with splits',
    after: SETTLED,
    call: call(recallFromWallet, BOOK, { ...recalled, recall: 'received' }, OWNER, 150_000, {
      payment: withAccount(paymentOf(SETTLED)),
    }),
    net: { 'wallet:owner': -150_000, 'receivable:wallet:owner': -52_000, 'clearing:sandbox': 202_000 },
    transaction: `credit_recall recall/sandbox/session of inboundCredit, exempt`,
    rows: [
      'payments: settled, version 3, received 202000, credited 200000, recalled 202000',
      'inbound_credits: posted, version 3',
      'review_cases: open, version 1, credit_recalled of 52000 in no account',
    ],
    events: ['wallet.debited', 'payment.recalled', 'review_case.opened'],
    outbox: ['reviewCase: start'],
  }),
  held,
  completed,
  step({
    title: 'a refund of a payment with splits that the bank returns goes back to each wallet',
    after: completed,
    call: back(completed, RETURNED, null),
    net: { 'clearing:sandbox': -100_000, ...BACK },
    transaction: 'refund_return split refund/return, credit_exempt, reverses split refund/completion',
    rows: ['payments: settled, version 5, received 202000, credited 200000', 'refunds: failed, version 3'],
    events: ['refund.failed'],
  }),
  failed,
  clawedBack,
  step({
    title: 'a clawed back refund of a payment with splits that the bank returns gives back what was taken',
    after: clawedBack,
    call: back(clawedBack, RETURNED, null),
    net: {
      'clearing:sandbox': -100_000,
      'receivable:bank': 20_000,
      'wallet:owner': 70_000,
      'wallet:commission': 10_000,
    },
    transaction: 'refund_clawback_return split refund/clawback_return, credit_exempt, reverses split refund/clawback',
    rows: ['payments: settled, version 6, received 202000, credited 200000', 'refunds: failed, version 4'],
    events: ['refund.failed'],
  }),
  fundedHeld,
  fundedCompleted,
  fundedFailed,
  fundedBack(fundedCompleted, RETURNED),
  step({
    title: 'a funded refund that the bank has paid after its failure is taken from the wallet that gave it, once',
    after: fundedFailed,
    call: call(clawBackRefund, BOOK, paymentOf(fundedFailed), refundAfter(fundedFailed), PAID, {
      balanceOf: () => 90_000,
      others: 0,
    }),
    net: { 'wallet:other': -90_000, 'receivable:bank': -10_000, 'clearing:sandbox': 100_000 },
    transaction: 'refund_clawback funded refund/clawback, exempt',
    rows: [
      'payments: partially_refunded, version 5, received 202000, credited 200000, refunded 100000',
      'refunds: completed, version 3',
      'review_cases: open, version 1, paid_after_failure of 10000 in no account',
    ],
    events: ['refund.completed', 'wallet.debited', 'wallet.debited', 'wallet.debited'],
    outbox: ['reviewCase: start'],
  }),
  billPaid,
  billRefused,
  step({
    title: 'a refund to the wallet that paid a payment with splits comes from each wallet in proportion',
    after: billPaid,
    call: call(
      refundToWallet,
      BOOK,
      paymentOf(billPaid),
      { ...refundOf(paymentOf(billPaid), 100_000, 'bill refund'), destination: 'wallet', status: 'completed' },
      OTHER,
    ),
    net: { ...HALF, 'wallet:other': 100_000 },
    transaction: 'refund_completion bill refund/completion, credit_exempt',
    rows: [
      'payments: partially_refunded, version 3, received 200000, credited 200000, refunded 100000',
      'refunds: completed, version 1',
    ],
    events: ['refund.completed'],
  }),
];
