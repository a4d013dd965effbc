// Movements of a recall: the bank takes back a deposit of ₦700.00, a credit of ₦700.00 in suspense or unclaimed,
// or a part of ₦500.00 that a payment holds.
import { paymentSuspenseAccount } from '../../../src/ledger/chart.ts';
import type { PaymentWithAccount } from '../../../src/resources/payments/queries.ts';
import {
  openReversalCase,
  recallFromCase,
  recallFromNowhere,
  recallFromPayment,
  recallFromWallet,
  recallUnposted,
  receiveRecall,
  setAsideRecallMovement,
} from '../../../src/resources/recalls/movements.ts';
import { holdReturn, moveCaseToUnclaimed, returnToSuspense } from '../../../src/resources/reviewCases/movements.ts';
import {
  BOOK,
  call,
  latestRows,
  NO_OWNER,
  OWNER,
  pathOf,
  receivedCredit,
  rowAfter,
  type Step,
  step,
} from '../movementTable.ts';
import { DEPOSITED, STRAY_IN_SUSPENSE } from './inboundCredits.ts';
import { EXPIRED_WITH_PART, EXPIRED_WITH_PARTS, FIRST_PART, LATE, SETTLED, SURPLUS_IN_REVIEW } from './payments.ts';

const RECALL = 'credit_recall recall/sandbox/session of inboundCredit, exempt';

const REFUSED = {
  failure: 'refused',
  failureCode: 'account_dormant',
  failureReason: 'The account is dormant',
} as const;

function creditOf(after: Step) {
  const [credit] = latestRows(pathOf(after), 'inbound_credits').slice(-1);
  if (credit === undefined) throw new Error(`${after.title}: no credit`);
  return credit;
}

function caseOf(after: Step) {
  const row = latestRows(pathOf(after), 'review_cases').at(-1);
  if (row?.accountCode == null) throw new Error(`${after.title}: no case with money`);
  return { ...row, accountCode: row.accountCode };
}

/** The case of the surplus, of several. */
function surplusOf(after: Step) {
  const row = latestRows(pathOf(after), 'review_cases').find(({ reason }) => reason === 'surplus_over_limit');
  if (row === undefined) throw new Error(`${after.title}: no surplus`);
  return row;
}

function paymentOf(after: Step): PaymentWithAccount {
  const payment = latestRows(pathOf(after), 'payments').at(-1);
  if (payment === undefined) throw new Error(`${after.title}: no payment`);
  return { ...payment, account: null };
}

const received = (what: string, after: Step, version: number, status: string) =>
  step({
    title: `the bank reports that it has taken back ${what}, and nothing is posted`,
    after,
    call: call(receiveRecall, BOOK, creditOf(after)),
    rows: [`inbound_credits: ${status}, version ${version}`],
    outbox: ['recall: start'],
  });

const deposit = received('a deposit', DEPOSITED, 3, 'posted');
const stray = received('a credit in suspense', STRAY_IN_SUSPENSE, 3, 'suspense');
const part = received('a part of a payment', FIRST_PART, 3, 'posted');
const expired = received('a part of an expired payment', EXPIRED_WITH_PART, 3, 'posted');
const settled = received('the credit of a settled payment', SETTLED, 3, 'posted');
const surplus = received('a credit whose surplus is in review', SURPLUS_IN_REVIEW, 3, 'posted');
const parts = received('one of two parts of an expired payment', EXPIRED_WITH_PARTS, 3, 'posted');
const late = received('a late credit', LATE, 3, 'suspense');
const partsUnclaimed = step({
  title: 'two parts of an expired payment, of which the recall of one is reported, are moved to unclaimed',
  after: parts,
  call: call(moveCaseToUnclaimed, BOOK, caseOf(parts), paymentOf(parts)),
  net: { 'suspense:payment:payment': -102_000, 'unclaimed:credits': 102_000 },
  transaction: 'review_unclaimed reviewCase/unclaimed/1, enforced',
  rows: [
    'payments: expired, version 5, received 102000',
    'review_cases: unclaimed, version 2, partial_expired of 102000 in suspense:payment:payment, fee 1009',
  ],
  events: ['review_case.resolved', 'payment.reviewed'],
});
const unclaimed = step({
  title: 'a credit whose recall is reported is moved to unclaimed',
  after: stray,
  call: call(moveCaseToUnclaimed, BOOK, caseOf(stray)),
  net: { 'suspense:unmatched': -70_000, 'unclaimed:credits': 70_000 },
  transaction: 'review_unclaimed reviewCase/unclaimed/1, enforced',
  rows: ['review_cases: unclaimed, version 2, unknown_account of 70000 in suspense:unmatched'],
  events: ['review_case.resolved'],
});

const surplusLeaves = step({
  title: 'the surplus of a credit whose recall is reported is on its way to its sender',
  after: surplus,
  call: call(holdReturn, BOOK, caseOf(surplus), { rail: 'sandbox', attempts: 1 }, paymentOf(surplus)),
  net: { 'suspense:unmatched': -700, 'in_transit:returns': 700 },
  transaction: 'review_hold reviewCase/hold/1, enforced',
  rows: ['review_cases: returning, version 2, surplus_over_limit of 700 in suspense:unmatched, attempts 1'],
});
const surplusLeft = step({
  title: 'the recall of a credit whose surplus is on its way to its sender is for that part receivable from the bank',
  after: surplusLeaves,
  call: call(recallFromWallet, BOOK, creditOf(surplusLeaves), OWNER, 900_000, {
    payment: paymentOf(surplusLeaves),
    surplus: caseOf(surplusLeaves),
  }),
  net: { 'receivable:bank': -700, 'wallet:owner': -202_000, 'clearing:sandbox': 202_700 },
  transaction: RECALL,
  rows: [
    'payments: settled, version 3, received 202700, credited 200000, in review 700, recalled 202000',
    'inbound_credits: posted, version 4',
    'review_cases: open, version 1, credit_recalled of 700 in no account',
  ],
  events: ['wallet.debited', 'payment.recalled'],
  outbox: ['reviewCase: start'],
});
const surplusIsBack = step({
  title: 'a surplus that did not reach its sender is in review again, and the flow of its recall takes it',
  after: surplusLeft,
  call: call(returnToSuspense, BOOK, surplusOf(surplusLeft), REFUSED, {
    payment: paymentOf(surplusLeft),
    recalled: [creditOf(surplusLeft)],
  }),
  net: { 'in_transit:returns': -700, 'suspense:unmatched': 700 },
  transaction: 'review_return reviewCase/return/2, enforced, reverses reviewCase/hold/1',
  rows: [
    'review_cases: open, version 3, surplus_over_limit of 700 in suspense:unmatched, attempts 1, last one refused',
  ],
  events: ['review_case.opened'],
  outbox: ['recall: start, again'],
});

const unposted = receivedCredit(70_000, NO_OWNER);

const fromWallet = (balance: number, net: Record<string, number>, missing: number) =>
  step({
    title: `the recall of a deposit is taken from a wallet with ${balance} kobo`,
    after: deposit,
    call: call(recallFromWallet, BOOK, creditOf(deposit), OWNER, balance),
    net: { ...net, 'clearing:sandbox': 70_000 },
    transaction: RECALL,
    rows: [
      'inbound_credits: posted, version 4',
      ...(missing > 0 ? [`review_cases: open, version 1, credit_recalled of ${missing} in no account`] : []),
    ],
    events: ['wallet.debited', ...(missing > 0 ? ['review_case.opened'] : [])],
    outbox: missing > 0 ? ['reviewCase: start'] : [],
  });

const RESOLVED = { events: ['review_case.resolved'], outbox: ['reviewCase: start or signal transferUpdated'] };

const fromCase = (title: string, after: Step, holder: string, version: number) =>
  step({
    title,
    after,
    call: call(recallFromCase, BOOK, creditOf(after), caseOf(after), null),
    net: { [holder]: -70_000, 'clearing:sandbox': 70_000 },
    transaction: RECALL,
    rows: [
      'inbound_credits: suspense, version 4',
      `review_cases: recalled, version ${version}, unknown_account of 70000 in suspense:unmatched`,
    ],
    ...RESOLVED,
  });

const onItsWay = step({
  title: 'a credit whose recall is reported is on its way back to the sender',
  after: stray,
  call: call(holdReturn, BOOK, caseOf(stray), { rail: 'sandbox', attempts: 1 }),
  net: { 'suspense:unmatched': -70_000, 'in_transit:returns': 70_000 },
  transaction: 'review_hold reviewCase/hold/1, enforced',
  rows: ['review_cases: returning, version 2, unknown_account of 70000 in suspense:unmatched, attempts 1'],
});
const owed = step({
  title: 'the bank owes a credit that it takes back while the money is on its way to the sender',
  after: onItsWay,
  call: call(recallFromNowhere, BOOK, creditOf(onItsWay)),
  net: { 'receivable:bank': -70_000, 'clearing:sandbox': 70_000 },
  transaction: RECALL,
  rows: [
    'inbound_credits: suspense, version 4',
    'review_cases: open, version 1, credit_recalled of 70000 in no account',
  ],
  outbox: ['reviewCase: start'],
});
const cameBack = step({
  title: 'a return that fails after its credit was taken back reopens the case, and starts the recall again',
  after: owed,
  call: call(returnToSuspense, BOOK, rowAfter(onItsWay, 'review_cases'), REFUSED, {
    recalled: [creditOf(owed)],
  }),
  net: { 'in_transit:returns': -70_000, 'suspense:unmatched': 70_000 },
  transaction: 'review_return reviewCase/return/2, enforced, reverses reviewCase/hold/1',
  rows: ['review_cases: open, version 3, unknown_account of 70000 in suspense:unmatched, attempts 1, last one refused'],
  events: ['review_case.opened'],
  outbox: ['recall: start, again'],
});

export const RECALLS = [
  onItsWay,
  owed,
  cameBack,
  step({
    title: 'what came back after the bank had taken it is what the bank owed',
    after: cameBack,
    call: call(recallFromCase, BOOK, creditOf(cameBack), rowAfter(cameBack, 'review_cases'), null),
    net: { 'suspense:unmatched': -70_000, 'receivable:bank': 70_000 },
    transaction: 'credit_recall recall/sandbox/session of inboundCredit/return, exempt',
    rows: [
      'inbound_credits: suspense, version 5',
      'review_cases: recalled, version 4, unknown_account of 70000 in suspense:unmatched, attempts 1, last one refused',
    ],
    ...RESOLVED,
  }),
  deposit,
  stray,
  part,
  expired,
  unclaimed,
  settled,
  surplus,
  parts,
  late,
  partsUnclaimed,
  step({
    title: 'the recall of the credit of a settled payment leaves nothing to refund',
    after: settled,
    call: call(recallFromWallet, BOOK, creditOf(settled), OWNER, 200_000, { payment: paymentOf(settled) }),
    net: { 'wallet:owner': -200_000, 'receivable:wallet:owner': -2_000, 'clearing:sandbox': 202_000 },
    transaction: RECALL,
    rows: [
      'payments: settled, version 3, received 202000, credited 200000, recalled 202000',
      'inbound_credits: posted, version 4',
      'review_cases: open, version 1, credit_recalled of 2000 in no account',
    ],
    events: ['wallet.debited', 'payment.recalled', 'review_case.opened'],
    outbox: ['reviewCase: start'],
  }),
  step({
    title: 'the recall of a credit whose surplus is in review takes the surplus from there',
    after: surplus,
    call: call(recallFromWallet, BOOK, creditOf(surplus), OWNER, 900_000, {
      payment: paymentOf(surplus),
      surplus: caseOf(surplus),
    }),
    net: { 'suspense:unmatched': -700, 'wallet:owner': -202_000, 'clearing:sandbox': 202_700 },
    transaction: RECALL,
    rows: [
      'payments: settled, version 3, received 202700, credited 200000, recalled 202000',
      'inbound_credits: posted, version 4',
      'review_cases: recalled, version 2, surplus_over_limit of 700 in suspense:unmatched',
    ],
    ...RESOLVED,
    events: ['wallet.debited', 'payment.recalled', 'review_case.resolved'],
  }),
  surplusLeaves,
  surplusLeft,
  surplusIsBack,
  step({
    title: 'the surplus of a recalled credit that is in review again is what the bank owed',
    after: surplusIsBack,
    call: call(recallFromCase, BOOK, creditOf(surplusIsBack), surplusOf(surplusIsBack), paymentOf(surplusIsBack)),
    net: { 'suspense:unmatched': -700, 'receivable:bank': 700 },
    transaction: 'credit_recall recall/sandbox/session of inboundCredit/return, exempt',
    rows: [
      'payments: settled, version 4, received 202700, credited 200000, recalled 202000',
      'inbound_credits: posted, version 5',
      'review_cases: recalled, version 4, surplus_over_limit of 700 in suspense:unmatched, attempts 1, last one refused',
    ],
    ...RESOLVED,
    events: ['review_case.resolved', 'payment.recalled'],
  }),
  ...(
    [
      [parts, 'suspense:payment:payment', 'open, version 2', 'expired, version 5, received 50000, in review 50000'],
      [partsUnclaimed, 'unclaimed:credits', 'unclaimed, version 3', 'expired, version 6, received 50000'],
    ] as const
  ).map(([after, holder, row, payment]) =>
    step({
      title: `the recall of one of two parts leaves the other in ${holder}`,
      after,
      call: call(recallFromCase, BOOK, creditOf(after), caseOf(after), paymentOf(after)),
      net: { [holder]: -52_000, 'clearing:sandbox': 52_000 },
      transaction: RECALL,
      rows: [
        `payments: ${payment}`,
        'inbound_credits: posted, version 4',
        `review_cases: ${row}, partial_expired of 50000 in suspense:payment:payment, fee 1009`,
      ],
      events: ['payment.recalled'],
    }),
  ),
  step({
    title: 'the recall of late money in review ends its case, and the payment has received nothing',
    after: late,
    call: call(recallFromCase, BOOK, creditOf(late), caseOf(late), paymentOf(late)),
    net: { 'suspense:unmatched': -202_000, 'clearing:sandbox': 202_000 },
    transaction: RECALL,
    rows: [
      'payments: expired, version 4',
      'inbound_credits: suspense, version 4',
      'review_cases: recalled, version 2, late_credit of 202000 in suspense:unmatched, fee 2000',
    ],
    ...RESOLVED,
    events: ['review_case.resolved', 'payment.recalled'],
  }),
  fromWallet(90_000, { 'wallet:owner': -70_000 }, 0),
  fromWallet(30_000, { 'wallet:owner': -30_000, 'receivable:wallet:owner': -40_000 }, 40_000),
  fromWallet(0, { 'receivable:wallet:owner': -70_000 }, 70_000),
  step({
    title: 'the recall of a credit that was not posted posts nothing',
    given: { inbound_credits: [unposted] },
    call: call(recallUnposted, BOOK, unposted),
    rows: ['inbound_credits: recalled, version 2'],
  }),
  step({
    title: 'the recall of a part is taken from the suspense account of its payment, which waits for money again',
    after: part,
    call: call(
      recallFromPayment,
      BOOK,
      creditOf(part),
      { ...rowAfter(FIRST_PART, 'payments'), account: null },
      paymentSuspenseAccount(rowAfter(FIRST_PART, 'payments').id),
    ),
    net: { 'suspense:payment:payment': -50_000, 'clearing:sandbox': 50_000 },
    transaction: RECALL,
    rows: ['payments: pending, version 3', 'inbound_credits: posted, version 4'],
    events: ['payment.recalled'],
  }),
  fromCase('the recall of a credit in suspense ends its case', stray, 'suspense:unmatched', 2),
  fromCase('the recall of unclaimed money is taken from unclaimed', unclaimed, 'unclaimed:credits', 3),
  step({
    title: 'the recall of the only part of an expired payment ends its case',
    after: expired,
    call: call(recallFromCase, BOOK, creditOf(expired), caseOf(expired), paymentOf(expired)),
    net: { 'suspense:payment:payment': -50_000, 'clearing:sandbox': 50_000 },
    transaction: RECALL,
    rows: [
      'payments: expired, version 4',
      'inbound_credits: posted, version 4',
      'review_cases: recalled, version 2, partial_expired of 50000 in suspense:payment:payment, fee 495',
    ],
    ...RESOLVED,
    events: ['review_case.resolved', 'payment.recalled'],
  }),
  step({
    title: 'the recall of money that has left again is receivable from the bank',
    after: deposit,
    call: call(recallFromNowhere, BOOK, creditOf(deposit)),
    net: { 'receivable:bank': -70_000, 'clearing:sandbox': 70_000 },
    transaction: RECALL,
    rows: [
      'inbound_credits: posted, version 4',
      'review_cases: open, version 1, credit_recalled of 70000 in no account',
    ],
    outbox: ['reviewCase: start'],
  }),
  step({
    title: 'a recall that the bank does not confirm is set aside with a review case',
    after: deposit,
    call: call(setAsideRecallMovement, BOOK, creditOf(deposit)),
    rows: [
      'inbound_credits: posted, version 4',
      'review_cases: open, version 1, credit_recalled of 70000 in no account',
    ],
    outbox: ['reviewCase: start'],
  }),
  step({
    title: 'the reversal of a credit that we do not know is a break, with a review case that holds no money',
    call: call(openReversalCase, BOOK, 'sandbox', { reference: 'reference', amount: 70_000, at: null }),
    rows: [
      'review_cases: open, version 1, reconciliation_break of 70000 in no account',
      'reconciliation_breaks: version 1, found',
    ],
    outbox: ['reviewCase: start'],
  }),
];
