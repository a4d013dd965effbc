// Movements of a withdrawal of ₦1,000.00 with a fee of ₦30.00.
import {
  clawBackWithdrawal,
  completeWithdrawal,
  holdWithdrawal,
  returnWithdrawalFunds,
} from '../../../src/resources/withdrawals/movements.ts';
import type { Withdrawal } from '../../../src/resources/withdrawals/queries.ts';
import { contractFee } from '../../support/contractFee.ts';
import {
  BOOK,
  call,
  goesBack,
  newId,
  OWNER,
  PAID,
  REFUSED,
  RETURN_CASES,
  RETURNED,
  rowAfter,
  type Step,
  step,
} from '../movementTable.ts';

const accepted: Withdrawal = {
  id: newId('withdrawal', 'withdrawal'),
  version: 1,
  sourceWalletId: OWNER,
  amount: 100_000,
  fee: contractFee('withdrawal', 100_000),
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
  failureDetail: null,
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
  transaction: 'withdrawal_hold withdrawal/hold, enforced',
  rows: ['withdrawals: processing, version 1'],
});

const completed = step({
  title: 'a withdrawal that the bank has paid leaves through clearing, and its fee is income',
  after: held,
  call: call(completeWithdrawal, BOOK, rowAfter(held, 'withdrawals'), PAID),
  net: { 'in_transit:withdrawals': -103_000, 'clearing:sandbox': 100_000, 'income:fees': 3_000 },
  transaction: 'withdrawal_completion withdrawal/completion, enforced, resolves withdrawal/hold',
  rows: ['withdrawals: completed, version 2'],
  events: ['withdrawal.completed'],
});
/** Amount and fee of a withdrawal go back, from `leaves`. */
const returned = (
  title: string,
  after: Step,
  kind: 'fail' | 'return',
  leaves: Record<string, number>,
  [status, reverses]: [status: string, reverses: string],
) =>
  RETURN_CASES.map(([wallet, refusal]) => {
    const back = goesBack(refusal, 103_000);
    return step({
      title: `a withdrawal that is ${title} goes back ${refusal === null ? 'to the wallet' : `to suspense, because the wallet is ${wallet}`}`,
      after,
      call: call(
        returnWithdrawalFunds,
        BOOK,
        rowAfter(after, 'withdrawals'),
        kind,
        (kind === 'fail' ? REFUSED : RETURNED).failure,
        refusal,
      ),
      net: { ...leaves, ...back.net },
      transaction: `withdrawal_${kind === 'fail' ? 'failure' : 'return'} withdrawal/return, credit_exempt, reverses withdrawal/${reverses}`,
      rows: [`withdrawals: ${status}, version ${after === held ? 2 : 3}`, ...back.rows],
      events: [`withdrawal.${status}`, ...back.events],
      outbox: back.outbox,
    });
  });

const IN_TRANSIT = { 'in_transit:withdrawals': -103_000 };
const PAID_OUT = { 'clearing:sandbox': -100_000, 'income:fees': -3_000 };
const refused = returned('refused by the bank', held, 'fail', IN_TRANSIT, ['failed', 'hold']);
const [failed] = refused as [Step, Step];

/** What a clawback takes from a wallet with this balance, and what a later return gives back. */
function clawbacks(balance: number, from: Record<string, number>, missing: number): Step[] {
  const net: Record<string, number> = { ...from, 'clearing:sandbox': 100_000 };
  const clawedBack = step({
    title: `a failed withdrawal that the bank has paid is taken from a wallet with ${balance} kobo`,
    after: failed,
    call: call(clawBackWithdrawal, BOOK, rowAfter(failed, 'withdrawals'), PAID, balance),
    net,
    transaction: 'withdrawal_clawback withdrawal/clawback, exempt',
    rows: [
      'withdrawals: completed, version 3',
      `review_cases: open, version 1, paid_after_failure of ${missing} in no account`,
    ],
    events: ['withdrawal.completed', 'wallet.debited'],
    outbox: ['reviewCase: start'],
  });
  const { 'wallet:owner': taken = 0, ...others } = net;
  const back = ([wallet, refusal]: (typeof RETURN_CASES)[number]) => {
    const destination = taken === 0 ? goesBack(null, 0) : goesBack(refusal, -taken);
    const amounts = {
      ...Object.fromEntries(Object.entries(others).map(([code, amount]) => [code, -amount])),
      ...destination.net,
    };
    return step({
      title: `what a clawback took of ${balance} kobo goes back ${refusal === null ? 'to the wallet' : `to suspense, because the wallet is ${wallet}`} when the bank returns the withdrawal`,
      after: clawedBack,
      call: call(returnWithdrawalFunds, BOOK, rowAfter(clawedBack, 'withdrawals'), 'return', RETURNED.failure, refusal),
      net: Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== 0)),
      transaction: 'withdrawal_return withdrawal/clawback_return, credit_exempt, reverses withdrawal/clawback',
      rows: ['withdrawals: returned, version 4', ...destination.rows],
      events: ['withdrawal.returned', ...destination.events],
      outbox: destination.outbox,
    });
  };
  return [clawedBack, ...RETURN_CASES.map(back)];
}

export const WITHDRAWALS = [
  held,
  completed,
  ...refused,
  ...clawbacks(500_000, { 'wallet:owner': -103_000, 'income:fees': 3_000 }, 0),
  ...clawbacks(101_000, { 'wallet:owner': -101_000, 'income:fees': 1_000 }, 0),
  ...clawbacks(40_000, { 'wallet:owner': -40_000, 'receivable:bank': -60_000 }, 60_000),
  ...clawbacks(0, { 'receivable:bank': -100_000 }, 100_000),
  ...returned('returned before its completion', held, 'return', IN_TRANSIT, ['returned', 'hold']),
  ...returned('returned after its completion', completed, 'return', PAID_OUT, ['returned', 'completion']),
];
