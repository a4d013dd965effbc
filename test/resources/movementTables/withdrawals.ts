// Movements of a withdrawal of ₦1,000.00 with a fee of ₦30.00.
import { bankTransferFee, DEFAULT_FEES } from '../../../src/ledger/fees.ts';
import {
  clawBackWithdrawal,
  completeWithdrawal,
  holdWithdrawal,
  returnWithdrawalFunds,
} from '../../../src/resources/withdrawals/movements.ts';
import type { Withdrawal } from '../../../src/resources/withdrawals/queries.ts';
import {
  BOOK,
  CLOSED,
  call,
  newId,
  OPEN,
  OWNER,
  PAID,
  REFUSED,
  RETURNED,
  rowAfter,
  type Step,
  step,
} from '../movementTable.ts';

const byRail = (walletIsClosed: boolean) => ({ walletIsClosed, decidedBy: 'rail' as const });

const accepted: Withdrawal = {
  id: newId('withdrawal', 'withdrawal'),
  version: 1,
  sourceWalletId: OWNER,
  amount: 100_000,
  fee: bankTransferFee(DEFAULT_FEES, 100_000),
  status: 'processing',
  accountNumber: '0123456789',
  accountName: 'ADA OBI',
  bankCode: '058',
  bankName: 'GTBank',
  narration: null,
  reference: null,
  metadata: null,
  failureCode: null,
  failureReason: null,
  rail: 'sandbox',
  sessionId: null,
  createdAt: new Date(),
  completedAt: null,
  clawedBack: null,
};

const held = step({
  title: 'an accepted withdrawal moves amount and fee from the wallet into transit',
  call: call(holdWithdrawal, accepted),
  alsoWritten: { withdrawals: [accepted] },
  net: { 'wallet:owner': -103_000, 'in_transit:withdrawals': 103_000 },
  transaction: { key: 'withdrawal/hold', kind: 'withdrawal_hold', rules: 'enforced' },
  rows: ['withdrawals: processing, version 1'],
});
const inTransit = rowAfter(held, 'withdrawals');

const completed = step({
  title: 'a withdrawal that the bank has paid leaves through clearing, and its fee is income',
  after: held,
  call: call(completeWithdrawal, BOOK, inTransit, PAID),
  net: { 'in_transit:withdrawals': -103_000, 'clearing:sandbox': 100_000, 'income:fees': 3_000 },
  transaction: {
    key: 'withdrawal/completion',
    kind: 'withdrawal_completion',
    rules: 'enforced',
    resolves: 'withdrawal/hold',
  },
  rows: ['withdrawals: completed, version 2'],
  events: ['withdrawal.completed'],
});
const paid = rowAfter(completed, 'withdrawals');

const FAILURE = {
  key: 'withdrawal/return',
  kind: 'withdrawal_failure',
  rules: 'credit_exempt',
  reverses: 'withdrawal/hold',
} as const;
const RETURN = { ...FAILURE, kind: 'withdrawal_return' } as const;
const LATE_RETURN = { ...RETURN, reverses: 'withdrawal/completion' } as const;
const CASE = 'review_cases: open, version 1, wallet_closed of 103000 in suspense:unmatched';

const failed = step({
  title: 'a withdrawal that the bank refuses returns amount and fee from transit to the wallet',
  after: held,
  call: call(returnWithdrawalFunds, BOOK, inTransit, 'fail', REFUSED, byRail(OPEN)),
  net: { 'in_transit:withdrawals': -103_000, 'wallet:owner': 103_000 },
  transaction: FAILURE,
  rows: ['withdrawals: failed, version 2'],
  events: ['withdrawal.failed'],
});

/** What a clawback takes from a wallet with this balance, and what a later return gives back. */
function clawbacks(balance: number, taken: Record<string, number>, missing: number): Step[] {
  const net: Record<string, number> = { ...taken, 'clearing:sandbox': 100_000 };
  const clawedBack = step({
    title: `a failed withdrawal that the bank has paid is taken from a wallet with ${balance} kobo`,
    after: failed,
    call: call(clawBackWithdrawal, BOOK, rowAfter(failed, 'withdrawals'), PAID, balance),
    net,
    transaction: { key: 'withdrawal/clawback', kind: 'withdrawal_clawback', rules: 'exempt' },
    rows: [
      'withdrawals: completed, version 3',
      `review_cases: open, version 1, paid_after_failure of ${missing} in no account`,
    ],
    events: ['wallet.debited', 'withdrawal.completed'],
    outbox: ['reviewCase: start'],
  });
  const back = (walletIsClosed: boolean) => {
    const { 'wallet:owner': fromWallet = 0, ...others } = net;
    const destination = walletIsClosed ? 'suspense:unmatched' : 'wallet:owner';
    const opensCase = walletIsClosed && fromWallet !== 0;
    return step({
      title: `what a clawback took of ${balance} kobo goes back ${walletIsClosed ? 'to suspense' : 'to the wallet'} when the bank returns the withdrawal`,
      after: clawedBack,
      call: call(
        returnWithdrawalFunds,
        BOOK,
        rowAfter(clawedBack, 'withdrawals'),
        'return',
        RETURNED,
        byRail(walletIsClosed),
      ),
      net: Object.fromEntries(
        [...Object.entries(others), [destination, fromWallet] as const]
          .filter(([, amount]) => amount !== 0)
          .map(([account, amount]) => [account, -amount]),
      ),
      transaction: {
        key: 'withdrawal/clawback_return',
        kind: 'withdrawal_return',
        rules: 'credit_exempt',
        reverses: 'withdrawal/clawback',
      },
      rows: [
        'withdrawals: returned, version 4',
        ...(opensCase ? [`review_cases: open, version 1, wallet_closed of ${-fromWallet} in suspense:unmatched`] : []),
      ],
      events: ['withdrawal.returned', ...(opensCase ? ['review_case.opened'] : [])],
      outbox: opensCase ? ['reviewCase: start'] : [],
    });
  };
  return [clawedBack, back(OPEN), back(CLOSED)];
}

export const WITHDRAWALS = [
  held,
  completed,
  failed,
  ...clawbacks(500_000, { 'wallet:owner': -103_000, 'income:fees': 3_000 }, 0),
  ...clawbacks(101_000, { 'wallet:owner': -101_000, 'income:fees': 1_000 }, 0),
  ...clawbacks(40_000, { 'wallet:owner': -40_000, 'receivable:bank': -60_000 }, 60_000),
  ...clawbacks(0, { 'receivable:bank': -100_000 }, 100_000),
  step({
    title: 'a withdrawal that the bank refuses is placed in suspense if the wallet was closed',
    after: held,
    call: call(returnWithdrawalFunds, BOOK, inTransit, 'fail', REFUSED, byRail(CLOSED)),
    net: { 'in_transit:withdrawals': -103_000, 'suspense:unmatched': 103_000 },
    transaction: FAILURE,
    rows: ['withdrawals: failed, version 2', CASE],
    events: ['withdrawal.failed', 'review_case.opened'],
    outbox: ['reviewCase: start'],
  }),
  step({
    title: 'a withdrawal that is returned before its completion returns amount and fee from transit to the wallet',
    after: held,
    call: call(returnWithdrawalFunds, BOOK, inTransit, 'return', RETURNED, byRail(OPEN)),
    net: { 'in_transit:withdrawals': -103_000, 'wallet:owner': 103_000 },
    transaction: RETURN,
    rows: ['withdrawals: returned, version 2'],
    events: ['withdrawal.returned'],
  }),
  step({
    title: 'a withdrawal that is returned before its completion is placed in suspense if the wallet was closed',
    after: held,
    call: call(returnWithdrawalFunds, BOOK, inTransit, 'return', RETURNED, byRail(CLOSED)),
    net: { 'in_transit:withdrawals': -103_000, 'suspense:unmatched': 103_000 },
    transaction: RETURN,
    rows: ['withdrawals: returned, version 2', CASE],
    events: ['withdrawal.returned', 'review_case.opened'],
    outbox: ['reviewCase: start'],
  }),
  step({
    title:
      'a withdrawal that is returned after its completion returns the amount from clearing and the fee from income',
    after: completed,
    call: call(returnWithdrawalFunds, BOOK, paid, 'return', RETURNED, byRail(OPEN)),
    net: { 'clearing:sandbox': -100_000, 'income:fees': -3_000, 'wallet:owner': 103_000 },
    transaction: LATE_RETURN,
    rows: ['withdrawals: returned, version 3'],
    events: ['withdrawal.returned'],
  }),
  step({
    title: 'a withdrawal that is returned after its completion is placed in suspense if the wallet was closed',
    after: completed,
    call: call(returnWithdrawalFunds, BOOK, paid, 'return', RETURNED, byRail(CLOSED)),
    net: { 'clearing:sandbox': -100_000, 'income:fees': -3_000, 'suspense:unmatched': 103_000 },
    transaction: LATE_RETURN,
    rows: ['withdrawals: returned, version 3', CASE],
    events: ['withdrawal.returned', 'review_case.opened'],
    outbox: ['reviewCase: start'],
  }),
];
