// Movements of refunds of a payment that credited ₦2,000.00: first ₦500.00, then the other ₦1,500.00.
import type { Payment } from '../../../src/resources/payments/queries.ts';
import {
  clawBackRefund,
  completeRefund,
  holdRefund,
  refundToWallet,
  returnRefundFunds,
} from '../../../src/resources/refunds/movements.ts';
import type { Refund } from '../../../src/resources/refunds/queries.ts';
import type { ReturnRefusal } from '../../../src/resources/reviewCases/movements.ts';
import {
  BOOK,
  call,
  goesBack,
  newId,
  OTHER,
  OWNER,
  PAID,
  REFUSED,
  RETURN_CASES,
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
  feeBearer: 'payer',
  amountReceived: 202_000,
  amountCredited: 200_000,
  amountRefunding: 0,
  amountRefunded: 0,
  amountInReview: 0,
  amountRecalled: 0,
  feeCharged: 2_000,
  targetWalletId: OWNER,
  splits: [],
  hold: null,
  payerWalletId: null,
  referenceIsFree: false,
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
  sources: [],
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

const fromWallet: Payment = {
  ...payment,
  id: newId('payment', 'wallet payment'),
  method: 'virtual_wallet',
  fee: 0,
  feeCharged: 0,
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
  transaction: 'refund_completion wallet refund/completion, credit_exempt',
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
  transaction: 'refund_hold refund/hold, enforced',
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
  transaction: 'refund_completion refund/completion, enforced, resolves refund/hold',
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
  transaction: 'refund_hold second refund/hold, enforced',
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
  transaction: 'refund_completion refund/completion, enforced, resolves refund/hold',
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
  transaction: 'refund_completion second refund/completion, enforced, resolves second refund/hold',
  rows: [
    'payments: refunded, version 6, received 202000, credited 200000, refunded 200000',
    'refunds: completed, version 2',
  ],
  events: ['refund.completed'],
});

const returnOf = (reversed: string) => `refund_return refund/return, credit_exempt, reverses refund/${reversed}`;

type Ended = typeof REFUSED | typeof RETURNED;

const callReturn = (after: Step, { change, failure }: Ended, refusal: ReturnRefusal) =>
  call(returnRefundFunds, BOOK, paymentAfter(after), refundAfter(after), change, failure, {
    refusalOf: () => refusal,
    owedBy: () => 0,
    others: 0,
  });

/** The money of a refund goes back from transit, or from clearing after its completion. */
const returned = (after: Step, ended: Ended) =>
  RETURN_CASES.map(([wallet, refusal]) => {
    const back = goesBack(refusal, 50_000);
    const { version } = paymentAfter(after);
    return step({
      title: `a refund that is ${ended.change === 'fail' ? 'failed' : 'returned'} ${after === held ? 'in transit' : 'after its completion'} goes back ${refusal === null ? 'to the wallet' : `to suspense, because the wallet is ${wallet}`}`,
      after,
      call: callReturn(after, ended, refusal),
      net: { [after === held ? 'in_transit:refunds' : 'clearing:sandbox']: -50_000, ...back.net },
      transaction: returnOf(after === held ? 'hold' : 'completion'),
      rows: [
        `payments: settled, version ${version + 1}, received 202000, credited 200000`,
        `refunds: failed, version ${version - 1}`,
        ...back.rows,
      ],
      events: ['refund.failed', ...back.events],
      outbox: back.outbox,
    });
  });

const refused = returned(held, REFUSED);
const [failed] = refused as [Step, Step];

const CLAWBACK = 'refund_clawback refund/clawback, exempt';

const clawedBack = step({
  title: 'a failed refund that the bank has paid is taken from a wallet with less than its amount',
  after: failed,
  call: call(clawBackRefund, BOOK, paymentAfter(failed), refundAfter(failed), PAID, {
    balanceOf: () => 30_000,
    others: 0,
  }),
  net: { 'wallet:owner': -30_000, 'receivable:bank': -20_000, 'clearing:sandbox': 50_000 },
  transaction: CLAWBACK,
  rows: [
    'payments: partially_refunded, version 5, received 202000, credited 200000, refunded 50000',
    'refunds: completed, version 3',
    'review_cases: open, version 1, paid_after_failure of 20000 in no account',
  ],
  events: ['refund.completed', 'wallet.debited'],
  outbox: ['reviewCase: start'],
});

export const REFUNDS = [
  partToWallet,
  step({
    title: 'a refund of the rest to the paying wallet makes the payment refunded',
    after: partToWallet,
    call: call(refundToWallet, BOOK, paymentAfter(partToWallet), toWallet('rest to wallet', 150_000), OTHER),
    net: { 'wallet:owner': -150_000, 'wallet:other': 150_000 },
    transaction: 'refund_completion rest to wallet/completion, credit_exempt',
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
  ...refused,
  ...returned(held, RETURNED),
  ...returned(completed, RETURNED),
  step({
    title: 'one of two completed refunds that is returned leaves the payment partially refunded',
    after: lastOfTwo,
    call: call(
      returnRefundFunds,
      BOOK,
      paymentAfter(lastOfTwo),
      refundAfter(firstOfTwo),
      RETURNED.change,
      RETURNED.failure,
      {
        refusalOf: () => null,
        owedBy: () => 0,
        others: 150_000,
      },
    ),
    net: { 'clearing:sandbox': -50_000, 'wallet:owner': 50_000 },
    transaction: returnOf('completion'),
    rows: [
      'payments: partially_refunded, version 7, received 202000, credited 200000, refunded 150000',
      'refunds: failed, version 3',
    ],
    events: ['refund.failed'],
  }),
  clawedBack,
  step({
    title: 'a clawed back refund that the bank returns gives back what was taken, and the payment is settled again',
    after: clawedBack,
    call: callReturn(clawedBack, RETURNED, null),
    net: { 'clearing:sandbox': -50_000, 'receivable:bank': 20_000, 'wallet:owner': 30_000 },
    transaction: 'refund_clawback_return refund/clawback_return, credit_exempt, reverses refund/clawback',
    rows: ['payments: settled, version 6, received 202000, credited 200000', 'refunds: failed, version 4'],
    events: ['refund.failed'],
  }),
  step({
    title: 'a payment whose refund was replaced by others never shows more refunds than it was credited',
    after: failed,
    call: call(clawBackRefund, BOOK, paymentAfter(failed), refundAfter(failed), PAID, {
      balanceOf: () => 50_000,
      others: 180_000,
    }),
    net: { 'wallet:owner': -50_000, 'clearing:sandbox': 50_000 },
    transaction: CLAWBACK,
    rows: [
      'payments: refunded, version 5, received 202000, credited 200000, refunded 200000',
      'refunds: completed, version 3',
      'review_cases: open, version 1, paid_after_failure of 0 in no account',
    ],
    events: ['refund.completed', 'wallet.debited'],
    outbox: ['reviewCase: start'],
  }),
];
