// Movements of holds: of ₦500.00 that a transfer has made, released in two parts, or given back; and of a payment of
// ₦2,000.00 for a target that waits, of which a commission does not.
import { cancelledHold, newHold, releasedHold, releaseHold, takeHeld } from '../../../src/resources/holds/movements.ts';
import type { Hold, HoldOfTransfer } from '../../../src/resources/holds/queries.ts';
import { creditMovement, newPayment, paymentAfter } from '../../../src/resources/payments/movements.ts';
import type { Payment } from '../../../src/resources/payments/queries.ts';
import { recallFromWallet } from '../../../src/resources/recalls/movements.ts';
import { clawBackRefund, holdRefund, returnRefundFunds } from '../../../src/resources/refunds/movements.ts';
import type { Refund } from '../../../src/resources/refunds/queries.ts';
import { cancelHold, transferMovement } from '../../../src/resources/transfers/movements.ts';
import { decideCredit } from '../../../src/workflows/payment/decide.ts';
import {
  BOOK,
  CREDIT_KEY,
  call,
  newId,
  OTHER,
  OWNER,
  PAID,
  REFUSED,
  RETURN_CASES,
  RETURNED,
  receivedCredit,
  rowAfter,
  step,
} from '../movementTable.ts';

const transferId = newId('transfer', 'transfer');
const wallets = { sourceWalletId: OWNER, walletId: OTHER };
const HOLD: Hold = {
  ...newHold({ ...wallets, transferId, paymentId: null, amount: 50_000, releaseAt: null, createdAt: new Date() }),
  id: newId('hold', 'hold'),
};

const HELD = step({
  title: 'a transfer with a hold credits the account beside the destination, and starts the flow of the hold',
  call: call(
    transferMovement,
    BOOK,
    {
      id: transferId,
      sourceWalletId: OWNER,
      destinationWalletId: OTHER,
      holdId: HOLD.id,
      amount: 50_000,
      fee: 0,
      status: 'completed',
      description: null,
      reference: null,
      metadata: null,
      createdAt: new Date(),
    },
    HOLD,
  ),
  net: { 'wallet:owner': -50_000, 'held:wallet:other': 50_000 },
  transaction: 'transfer transfer/transfer, enforced',
  rows: ['transfers: completed', 'holds: held, version 1, released 0, cancelled 0'],
  events: ['transfer.completed', 'hold.created'],
  outbox: ['hold: start'],
});

const release = (hold: Hold, amount: number) => call(releaseHold, BOOK, hold, releasedHold(hold, amount));

const RELEASED_IN_PART = step({
  title: 'a part of a hold is released',
  after: HELD,
  call: release(rowAfter(HELD, 'holds'), 20_000),
  net: { 'held:wallet:other': -20_000, 'wallet:other': 20_000 },
  transaction: 'hold_release hold/release/2, enforced',
  rows: ['holds: held, version 2, released 20000, cancelled 0'],
  events: ['hold.released'],
});

const paymentId = newId('payment', 'held payment');
const payment: Payment = {
  ...newPayment({
    method: 'bank_transfer',
    baseAmount: 200_000,
    fee: 2_000,
    feeBearer: 'payer',
    targetWalletId: OWNER,
    splits: [
      {
        walletId: OTHER,
        amount: 50_000,
        basisPoints: null,
        reference: null,
        description: null,
        amountCredited: 0,
        amountRefunded: 0,
      },
    ],
    hold: { releaseAt: null },
    description: null,
    onMismatch: 'hold',
    returnUrl: null,
    reference: null,
    metadata: null,
    expiresAt: new Date(Date.now() + 3_600_000),
    createdAt: new Date(),
  }),
  id: paymentId,
};
const withAccount = (row: Payment) => ({ ...row, account: null });
const credit = receivedCredit(202_000, { ownerKind: 'payment', ownerId: paymentId });
const decision = decideCredit(payment, credit, 'all');
if (decision.kind === 'to_suspense') throw new Error(decision.reason);

const HELD_PAYMENT = step({
  title: 'a payment that is held for its target credits the account beside it, and the splits without a hold',
  given: { payments: [payment], inbound_credits: [credit] },
  call: call(creditMovement, BOOK, payment, paymentAfter(withAccount(payment), decision), credit, decision),
  net: {
    'clearing:sandbox': -202_000,
    'held:wallet:owner': 150_000,
    'wallet:other': 50_000,
    'income:fees': 2_000,
  },
  transaction: `payment_settlement ${CREDIT_KEY}, enforced`,
  rows: [
    'payments: settled, version 2, received 202000, credited 200000',
    'holds: held, version 1, released 0, cancelled 0',
    'inbound_credits: posted, version 2',
  ],
  events: ['payment.settled', 'payment.completed', 'wallet.credited', 'hold.created'],
  outbox: ['hold: start'],
});
const heldPayment = rowAfter(HELD_PAYMENT, 'payments');

const RECALLED = step({
  title: 'the recall of a held payment takes what is held, then the balance of its target',
  after: HELD_PAYMENT,
  call: call(
    recallFromWallet,
    BOOK,
    { ...rowAfter(HELD_PAYMENT, 'inbound_credits'), recall: 'received' },
    OWNER,
    40_000,
    {
      payment: withAccount(heldPayment),
      holds: [rowAfter(HELD_PAYMENT, 'holds')],
    },
  ),
  net: {
    'held:wallet:owner': -150_000,
    'wallet:owner': -40_000,
    'receivable:wallet:owner': -12_000,
    'clearing:sandbox': 202_000,
  },
  transaction: 'credit_recall recall/sandbox/session of inboundCredit, exempt',
  rows: [
    'payments: settled, version 3, received 202000, credited 200000, recalled 202000',
    'holds: cancelled, version 2, released 0, cancelled 150000',
    'inbound_credits: posted, version 3',
    'review_cases: open, version 1, credit_recalled of 12000 in no account',
  ],
  events: ['wallet.debited', 'payment.recalled', 'review_case.opened', 'hold.cancelled'],
  outbox: ['reviewCase: start', 'hold: start or signal holdChanged'],
});

const taken = takeHeld([rowAfter(HELD_PAYMENT, 'holds')], OWNER, 150_000);
const source = { clawedBack: null, suspended: 0, owed: 0, repaid: 0 };
const heldRefund: Refund = {
  id: newId('refund', 'held refund'),
  version: 1,
  paymentId,
  amount: 200_000,
  sources: [
    { ...source, walletId: OWNER, onBehalfOf: OWNER, amount: 150_000, held: taken.taken },
    { ...source, walletId: OTHER, onBehalfOf: OTHER, amount: 50_000 },
  ],
  destination: 'bank',
  status: 'processing',
  reason: null,
  accountNumber: '0123456789',
  accountName: null,
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
};

const HELD_REFUND = step({
  title: 'a refund takes what is held for a wallet before its balance, and ends the hold',
  after: HELD_PAYMENT,
  call: call(holdRefund, BOOK, heldPayment, heldRefund, taken.holds),
  net: { 'held:wallet:owner': -150_000, 'wallet:other': -50_000, 'in_transit:refunds': 200_000 },
  transaction: 'refund_hold held refund/hold, enforced',
  rows: [
    'payments: settled, version 3, received 202000, credited 200000, refunding 200000',
    'holds: cancelled, version 2, released 0, cancelled 150000',
    'refunds: processing, version 1',
  ],
  events: ['hold.cancelled'],
  outbox: ['hold: start or signal holdChanged'],
});

const HELD_FAILURES = RETURN_CASES.map(([wallet, refusal]) =>
  step({
    title: `a refund of held money that fails is held again, for a wallet that is ${wallet}`,
    after: HELD_REFUND,
    call: call(
      returnRefundFunds,
      BOOK,
      rowAfter(HELD_REFUND, 'payments'),
      rowAfter(HELD_REFUND, 'refunds'),
      'fail',
      REFUSED.failure,
      { refusalOf: (walletId) => (walletId === OWNER ? refusal : null), owedBy: () => 0, others: 0 },
    ),
    net: {
      'in_transit:refunds': -200_000,
      'wallet:other': 50_000,
      // A limit counts when it is released.
      [refusal === 'wallet_closed' ? 'suspense:unmatched' : 'held:wallet:owner']: 150_000,
    },
    transaction: 'refund_return held refund/return, credit_exempt, reverses held refund/hold',
    rows: [
      'payments: settled, version 4, received 202000, credited 200000',
      ...(refusal === 'wallet_closed' ? [] : ['holds: held, version 1, released 0, cancelled 0']),
      'refunds: failed, version 2',
      ...(refusal === 'wallet_closed'
        ? [`review_cases: open, version 1, ${refusal} of 150000 in suspense:unmatched`]
        : []),
    ],
    events: ['refund.failed', refusal === 'wallet_closed' ? 'review_case.opened' : 'hold.created'],
    outbox: [refusal === 'wallet_closed' ? 'reviewCase: start' : 'hold: start'],
  }),
);

const [, SUSPENDED] = HELD_FAILURES; // of a closed wallet
if (SUSPENDED === undefined) throw new Error('no wallet refuses the money');
const SUSPENDED_PAID = step({
  title: 'a refund of held money that went to suspense, and was paid after all, is taken from the balance',
  after: SUSPENDED,
  call: call(clawBackRefund, BOOK, rowAfter(SUSPENDED, 'payments'), rowAfter(SUSPENDED, 'refunds'), PAID, {
    balanceOf: () => 200_000,
    others: 0,
  }),
  net: { 'wallet:owner': -150_000, 'wallet:other': -50_000, 'clearing:sandbox': 200_000 },
  transaction: 'refund_clawback held refund/clawback, exempt',
  rows: [
    'payments: refunded, version 5, received 202000, credited 200000, refunded 200000',
    'refunds: completed, version 3',
    // What is in suspense is the bank's now.
    'review_cases: open, version 1, paid_after_failure of 0 in no account',
  ],
  events: ['refund.completed', 'wallet.debited', 'wallet.debited'],
  outbox: ['reviewCase: start'],
});

export const HOLDS = [
  HELD,
  RELEASED_IN_PART,
  step({
    title: 'the rest of a hold is released, which ends it',
    after: RELEASED_IN_PART,
    call: release(rowAfter(RELEASED_IN_PART, 'holds'), 30_000),
    net: { 'held:wallet:other': -30_000, 'wallet:other': 30_000 },
    transaction: 'hold_release hold/release/3, enforced',
    rows: ['holds: released, version 3, released 50000, cancelled 0'],
    events: ['hold.released'],
  }),
  ...RETURN_CASES.map(([wallet, refusal]) =>
    step({
      title: `the rest of a hold goes back to a wallet that is ${wallet}`,
      after: RELEASED_IN_PART,
      call: call(cancelHold, BOOK, cancelledHold(rowAfter(RELEASED_IN_PART, 'holds')) as HoldOfTransfer, refusal),
      net: { 'held:wallet:other': -30_000, [refusal === null ? 'wallet:owner' : 'suspense:unmatched']: 30_000 },
      transaction: 'hold_cancellation hold/cancellation, credit_exempt',
      rows: [
        'holds: cancelled, version 3, released 20000, cancelled 30000',
        ...(refusal === null ? [] : [`review_cases: open, version 1, ${refusal} of 30000 in suspense:unmatched`]),
      ],
      events: ['hold.cancelled', ...(refusal === null ? [] : ['review_case.opened'])],
      outbox: refusal === null ? [] : ['reviewCase: start'],
    }),
  ),
  HELD_PAYMENT,
  RECALLED,
  HELD_REFUND,
  ...HELD_FAILURES,
  SUSPENDED_PAID,
  step({
    title:
      'a refund of held money that was paid after all, from the balance, comes back to the balance: nothing was held',
    after: SUSPENDED_PAID,
    call: call(
      returnRefundFunds,
      BOOK,
      rowAfter(SUSPENDED_PAID, 'payments'),
      rowAfter(SUSPENDED_PAID, 'refunds'),
      'return',
      RETURNED.failure,
      { refusalOf: () => null, owedBy: () => 0, others: 0 },
    ),
    net: { 'clearing:sandbox': -200_000, 'wallet:owner': 150_000, 'wallet:other': 50_000 },
    transaction: 'refund_clawback_return held refund/clawback_return, credit_exempt, reverses held refund/clawback',
    rows: ['payments: settled, version 6, received 202000, credited 200000', 'refunds: failed, version 4'],
    events: ['refund.failed'],
  }),
];
