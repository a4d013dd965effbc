// Movements of refunds of a payment that credited ₦2,000.00: first ₦500.00, then the other ₦1,500.00.
import type { TransferReport } from '../../../src/rail/port.ts';
import type { Payment } from '../../../src/resources/payments/queries.ts';
import {
  clawBackRefund,
  completeRefund,
  holdRefund,
  refundToWallet,
  returnRefundFunds,
} from '../../../src/resources/refunds/movements.ts';
import type { Refund } from '../../../src/resources/refunds/queries.ts';
import {
  BOOK,
  CLOSED,
  call,
  newId,
  OPEN,
  OTHER,
  OWNER,
  PAID,
  REFUSED,
  RETURNED,
  rowAfter,
  type Step,
  step,
} from '../movementTable.ts';

const payment: Payment = {
  id: newId('payment', 'payment'),
  version: 2,
  method: 'bank_transfer',
  status: 'settled',
  baseAmount: 200_000,
  fee: 2_000,
  amountReceived: 202_000,
  amountCredited: 200_000,
  amountRefunding: 0,
  amountRefunded: 0,
  targetWalletId: OWNER,
  payerWalletId: null,
  description: null,
  onMismatch: 'hold',
  returnUrl: null,
  reference: null,
  metadata: null,
  expiresAt: new Date(),
  settledAt: new Date(),
  createdAt: new Date(),
};

const toBank = (name: string, amount: number): Refund => ({
  id: newId('refund', name),
  version: 1,
  paymentId: payment.id,
  amount,
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
  rail: 'sandbox',
  sessionId: null,
  createdAt: new Date(),
  completedAt: null,
  returnedAt: null,
  clawedBack: null,
});

const fromWallet: Payment = {
  ...payment,
  id: newId('payment', 'wallet payment'),
  method: 'virtual_wallet',
  fee: 0,
  amountReceived: 200_000,
  payerWalletId: OTHER,
};

const toWallet = (name: string, amount: number): Refund => ({
  ...toBank(name, amount),
  paymentId: fromWallet.id,
  destination: 'wallet',
  status: 'completed',
  accountNumber: null,
  accountName: null,
  bankCode: null,
  rail: null,
  completedAt: new Date(),
});

const paymentAfter = (made: Step) => rowAfter(made, 'payments');
const refundAfter = (made: Step) => rowAfter(made, 'refunds');

const partToWallet = step({
  title: 'a refund of a part to the paying wallet moves it from the target at once',
  given: { payments: [fromWallet] },
  call: call(refundToWallet, BOOK, fromWallet, toWallet('wallet refund', 50_000), OTHER),
  net: { 'wallet:owner': -50_000, 'wallet:other': 50_000 },
  transaction: { key: 'wallet refund/completion', kind: 'refund_completion', rules: 'credit_exempt' },
  rows: [
    'payments: partially_refunded, version 3, received 200000, credited 200000, refunded 50000',
    'refunds: completed, version 1',
  ],
  events: ['refund.completed'],
});

const held = step({
  title: 'an accepted refund to a bank moves the amount from the wallet into transit, and leaves the payment settled',
  given: { payments: [payment] },
  call: call(holdRefund, BOOK, payment, toBank('refund', 50_000)),
  net: { 'wallet:owner': -50_000, 'in_transit:refunds': 50_000 },
  transaction: { key: 'refund/hold', kind: 'refund_hold', rules: 'enforced' },
  rows: [
    'payments: settled, version 3, received 202000, credited 200000, refunding 50000',
    'refunds: processing, version 1',
  ],
});

const completed = step({
  title: 'a refund of a part that the bank has paid leaves through clearing, and the payment is partially refunded',
  after: held,
  call: call(completeRefund, BOOK, paymentAfter(held), refundAfter(held), PAID),
  net: { 'in_transit:refunds': -50_000, 'clearing:sandbox': 50_000 },
  transaction: {
    key: 'refund/completion',
    kind: 'refund_completion',
    rules: 'enforced',
    resolves: 'refund/hold',
  },
  rows: [
    'payments: partially_refunded, version 4, received 202000, credited 200000, refunded 50000',
    'refunds: completed, version 2',
  ],
  events: ['refund.completed'],
});

const secondHeld = step({
  title: 'a second refund of the rest is held while the first is in transit',
  after: held,
  call: call(holdRefund, BOOK, paymentAfter(held), toBank('second refund', 150_000)),
  net: { 'wallet:owner': -150_000, 'in_transit:refunds': 150_000 },
  transaction: { key: 'second refund/hold', kind: 'refund_hold', rules: 'enforced' },
  rows: [
    'payments: settled, version 4, received 202000, credited 200000, refunding 200000',
    'refunds: processing, version 1',
  ],
});

const firstOfTwo = step({
  title: 'the first of two refunds in transit completes without the second',
  after: secondHeld,
  call: call(completeRefund, BOOK, paymentAfter(secondHeld), refundAfter(held), PAID),
  net: { 'in_transit:refunds': -50_000, 'clearing:sandbox': 50_000 },
  transaction: {
    key: 'refund/completion',
    kind: 'refund_completion',
    rules: 'enforced',
    resolves: 'refund/hold',
  },
  rows: [
    'payments: partially_refunded, version 5, received 202000, credited 200000, refunding 150000, refunded 50000',
    'refunds: completed, version 2',
  ],
  events: ['refund.completed'],
});

const lastOfTwo = step({
  title: 'the last of two refunds completes, and the payment is refunded',
  after: firstOfTwo,
  call: call(completeRefund, BOOK, paymentAfter(firstOfTwo), refundAfter(secondHeld), PAID),
  net: { 'in_transit:refunds': -150_000, 'clearing:sandbox': 150_000 },
  transaction: {
    key: 'second refund/completion',
    kind: 'refund_completion',
    rules: 'enforced',
    resolves: 'second refund/hold',
  },
  rows: [
    'payments: refunded, version 6, received 202000, credited 200000, refunded 200000',
    'refunds: completed, version 2',
  ],
  events: ['refund.completed'],
});

const RETURN = {
  key: 'refund/return',
  kind: 'refund_return',
  rules: 'credit_exempt',
  reverses: 'refund/hold',
} as const;
const LATE_RETURN = { ...RETURN, reverses: 'refund/completion' } as const;
const CASE = 'review_cases: open, version 1, wallet_closed of 50000 in suspense:unmatched';
const SETTLED_AGAIN = 'payments: settled, version 4, received 202000, credited 200000';

const callReturn = (after: Step, report: TransferReport, walletIsClosed: boolean) =>
  call(returnRefundFunds, BOOK, paymentAfter(after), refundAfter(after), report, {
    walletIsClosed,
    others: 0,
    decidedBy: 'rail',
  });

const backInWallet = (title: string, report: TransferReport) =>
  step({
    title,
    after: held,
    call: callReturn(held, report, OPEN),
    net: { 'in_transit:refunds': -50_000, 'wallet:owner': 50_000 },
    transaction: RETURN,
    rows: [SETTLED_AGAIN, 'refunds: failed, version 2'],
    events: ['refund.failed'],
  });

const failed = backInWallet('a refund that the bank refuses is back in its wallet', REFUSED);

const CLAWBACK = { key: 'refund/clawback', kind: 'refund_clawback', rules: 'exempt' } as const;

const clawedBack = step({
  title: 'a failed refund that the bank has paid is taken from a wallet with less than its amount',
  after: failed,
  call: call(clawBackRefund, BOOK, paymentAfter(failed), refundAfter(failed), PAID, { balance: 30_000, others: 0 }),
  net: { 'wallet:owner': -30_000, 'receivable:bank': -20_000, 'clearing:sandbox': 50_000 },
  transaction: CLAWBACK,
  rows: [
    'payments: partially_refunded, version 5, received 202000, credited 200000, refunded 50000',
    'refunds: completed, version 3',
    'review_cases: open, version 1, paid_after_failure of 20000 in no account',
  ],
  events: ['wallet.debited', 'refund.completed'],
  outbox: ['reviewCase: start'],
});

export const REFUNDS = [
  partToWallet,
  step({
    title: 'a refund of the rest to the paying wallet makes the payment refunded',
    after: partToWallet,
    call: call(refundToWallet, BOOK, paymentAfter(partToWallet), toWallet('rest to wallet', 150_000), OTHER),
    net: { 'wallet:owner': -150_000, 'wallet:other': 150_000 },
    transaction: { key: 'rest to wallet/completion', kind: 'refund_completion', rules: 'credit_exempt' },
    rows: [
      'payments: refunded, version 4, received 200000, credited 200000, refunded 200000',
      'refunds: completed, version 1',
    ],
    events: ['refund.completed'],
  }),
  held,
  completed,
  secondHeld,
  firstOfTwo,
  lastOfTwo,
  ...[REFUSED, RETURNED].flatMap((report) => [
    backInWallet(`a refund in transit that the bank reports as ${report.status} returns to the wallet`, report),
    step({
      title: `a refund in transit that the bank reports as ${report.status} is in suspense if the wallet was closed`,
      after: held,
      call: callReturn(held, report, CLOSED),
      net: { 'in_transit:refunds': -50_000, 'suspense:unmatched': 50_000 },
      transaction: RETURN,
      rows: [SETTLED_AGAIN, 'refunds: failed, version 2', CASE],
      events: ['refund.failed', 'review_case.opened'],
      outbox: ['reviewCase: start'],
    }),
  ]),
  step({
    title: 'a refund that is returned after its completion returns from clearing, and the payment is settled again',
    after: completed,
    call: callReturn(completed, RETURNED, OPEN),
    net: { 'clearing:sandbox': -50_000, 'wallet:owner': 50_000 },
    transaction: LATE_RETURN,
    rows: ['payments: settled, version 5, received 202000, credited 200000', 'refunds: failed, version 3'],
    events: ['refund.failed'],
  }),
  step({
    title: 'a refund that is returned after its completion is placed in suspense if the wallet was closed',
    after: completed,
    call: callReturn(completed, RETURNED, CLOSED),
    net: { 'clearing:sandbox': -50_000, 'suspense:unmatched': 50_000 },
    transaction: LATE_RETURN,
    rows: ['payments: settled, version 5, received 202000, credited 200000', 'refunds: failed, version 3', CASE],
    events: ['refund.failed', 'review_case.opened'],
    outbox: ['reviewCase: start'],
  }),
  step({
    title: 'one of two completed refunds that is returned leaves the payment partially refunded',
    after: lastOfTwo,
    call: call(returnRefundFunds, BOOK, paymentAfter(lastOfTwo), refundAfter(firstOfTwo), RETURNED, {
      walletIsClosed: OPEN,
      decidedBy: 'rail',
      others: 0,
    }),
    net: { 'clearing:sandbox': -50_000, 'wallet:owner': 50_000 },
    transaction: LATE_RETURN,
    rows: [
      'payments: partially_refunded, version 7, received 202000, credited 200000, refunded 150000',
      'refunds: failed, version 3',
    ],
    events: ['refund.failed'],
  }),
  failed,
  clawedBack,
  step({
    title: 'a clawed back refund that the bank returns gives back what was taken, and the payment is settled again',
    after: clawedBack,
    call: callReturn(clawedBack, RETURNED, OPEN),
    net: { 'clearing:sandbox': -50_000, 'receivable:bank': 20_000, 'wallet:owner': 30_000 },
    transaction: {
      key: 'refund/clawback_return',
      kind: 'refund_clawback_return',
      rules: 'credit_exempt',
      reverses: 'refund/clawback',
    },
    rows: ['payments: settled, version 6, received 202000, credited 200000', 'refunds: failed, version 4'],
    events: ['refund.failed'],
  }),
  step({
    title: 'a payment whose refund was replaced by others never shows more refunds than it was credited',
    after: failed,
    call: call(clawBackRefund, BOOK, paymentAfter(failed), refundAfter(failed), PAID, {
      balance: 50_000,
      others: 180_000,
    }),
    net: { 'wallet:owner': -50_000, 'clearing:sandbox': 50_000 },
    transaction: CLAWBACK,
    rows: [
      'payments: refunded, version 5, received 202000, credited 200000, refunded 200000',
      'refunds: completed, version 3',
      'review_cases: open, version 1, paid_after_failure of 0 in no account',
    ],
    events: ['wallet.debited', 'refund.completed'],
    outbox: ['reviewCase: start'],
  }),
];
