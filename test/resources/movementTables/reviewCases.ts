// Movements of review cases: ₦700.00 of an unknown sender in suspense, a part of ₦500.00 that an expired payment
// holds, and cases that hold no money.
import type { Kobo } from '../../../src/money.ts';
import { startInboundCredit } from '../../../src/resources/flows.ts';
import { creditToSuspense, depositMovement } from '../../../src/resources/inboundCredits/movements.ts';
import type { PaymentWithAccount } from '../../../src/resources/payments/queries.ts';
import {
  closeCase,
  completeReturn,
  creditCase,
  creditCaseToPayment,
  holdReturn,
  moveCaseToUnclaimed,
  receiveAfterAll,
  returnToSuspense,
} from '../../../src/resources/reviewCases/movements.ts';
import type { ReturnFailure } from '../../../src/resources/reviewCases/queries.ts';
import { decideReviewedCredit } from '../../../src/workflows/payment/decide.ts';
import { BOOK, CREDIT_KEY, call, inSuspense, OTHER, OWNER, rowAfter, type Step, step } from '../movementTable.ts';
import { DEPOSIT_SET_ASIDE, PAYMENT_SET_ASIDE, STRAY_IN_SUSPENSE, STRAY_SET_ASIDE } from './inboundCredits.ts';
import { EXPIRED_WITH_PART, LATE, REST_IN_REVIEW } from './payments.ts';
import { BREAK_OPENED } from './reconciliation.ts';
import { WITHDRAWALS } from './withdrawals.ts';

const caseOf = (made: Step) => rowAfter(made, 'review_cases');

const TRANSIT = 'in_transit:returns';
const UNCLAIMED = 'unclaimed:credits';
/** The events of a case that is not resolved. */
const EVENTS: Record<string, string[]> = { returning: [], open: ['review_case.opened'] };

/** All movements of a case that holds money. `opened`: the movement that opened it. `fee`: as its row says it. */
function withMoney(opened: Step, about: string, reason: string, amount: Kobo, suspense: string, fee = ''): Step[] {
  /** Moves the money; `more`: what the row says of attempts to return it. */
  const move = (
    title: string,
    after: Step,
    made: Step['call'],
    money: { from: string; to: string; transaction: string; status: string; more?: string },
  ) =>
    step({
      title: `${about} ${title}`,
      after,
      call: made,
      net: { [money.from]: -amount, [money.to]: amount },
      transaction: money.transaction,
      rows: [
        `review_cases: ${money.status}, version ${caseOf(after).version + 1}, ${reason} of ${amount} in ${suspense}${money.status === 'credited' ? '' : fee}${money.more ?? ''}`,
      ],
      events: EVENTS[money.status] ?? ['review_case.resolved'],
    });

  const hold = (title: string, after: Step, attempts: number, more: string, from = suspense) =>
    move(title, after, call(holdReturn, BOOK, caseOf(after), { rail: 'sandbox', attempts }), {
      from,
      to: TRANSIT,
      transaction: `review_hold reviewCase/hold/${caseOf(after).version}, enforced`,
      status: 'returning',
      more,
    });

  const complete = (title: string, after: Step, reference: string, resolves: number, more: string) =>
    move(title, after, call(completeReturn, BOOK, caseOf(after)), {
      from: TRANSIT,
      to: 'clearing:sandbox',
      transaction: `review_completion ${reference}/completion/${resolves + 1}, enforced, resolves reviewCase/hold/${resolves}`,
      status: 'returned_to_sender',
      more,
    });

  const back = (title: string, after: Step, failure: ReturnFailure, reverses = 'hold/1', from = TRANSIT) =>
    move(
      title,
      after,
      call(returnToSuspense, BOOK, caseOf(after), {
        failure,
        failureCode: 'account_dormant',
        failureReason: 'The account is dormant',
      }),
      {
        from,
        to: suspense,
        transaction: `review_return reviewCase/return/${caseOf(after).version}, enforced, reverses reviewCase/${reverses}`,
        status: 'open',
        more: `, attempts 1, last one ${failure}`,
      },
    );

  const unclaim = (title: string, after: Step, more = '') =>
    move(title, after, call(moveCaseToUnclaimed, BOOK, caseOf(after)), {
      from: suspense,
      to: UNCLAIMED,
      transaction: `review_unclaimed reviewCase/unclaimed/${caseOf(after).version}, enforced`,
      status: 'unclaimed',
      more,
    });

  const credit = (title: string, after: Step, more = '', from = suspense) =>
    move(title, after, call(creditCase, BOOK, caseOf(after), OTHER), {
      from,
      to: 'wallet:other',
      transaction: 'review_credit reviewCase/credit, enforced',
      status: 'credited',
      more,
    });

  const held = hold('moves into transit to be returned to its sender', opened, 1, ', attempts 1');
  const completed = complete(
    'leaves through clearing when the bank has returned it',
    held,
    'reviewCase',
    1,
    ', attempts 1',
  );
  const failed = (['refused', 'returned', 'never_received', 'decided'] as const).map((failure) =>
    back(`moves from transit to suspense after a return ${failure}`, held, failure),
  );
  const [refused, , neverReceived] = failed as [Step, Step, Step, Step];
  const cameBack = back(
    'moves from clearing to suspense when it comes back after the completion',
    completed,
    'returned',
    'completion/2',
    'clearing:sandbox',
  );
  const heldUnderSecond = hold(
    'is returned under a second reference after a refusal',
    refused,
    2,
    ', attempts 2, last one refused',
  );
  const heldUnderSame = hold(
    'is returned under the same reference that the bank never received',
    neverReceived,
    1,
    ', attempts 1, last one never_received',
  );
  const heldAfterCompletion = hold(
    'is returned under a second reference after it came back',
    cameBack,
    2,
    ', attempts 2, last one returned',
  );

  const heldAfterUndone = hold(
    'is returned under the same reference, which the bank denied and then has again',
    cameBack,
    1,
    ', attempts 1, last one returned',
  );

  const unclaimed = unclaim('is moved to unclaimed', opened);
  const heldFromUnclaimed = hold(
    'moves from unclaimed into transit when its sender appears',
    unclaimed,
    1,
    ', attempts 1',
    UNCLAIMED,
  );
  const refusedFromUnclaimed = back(
    'moves from transit to suspense when the bank refuses the return of unclaimed money',
    heldFromUnclaimed,
    'refused',
    'hold/2',
  );

  return [
    unclaimed,
    heldFromUnclaimed,
    refusedFromUnclaimed,
    unclaim('is moved to unclaimed a second time', refusedFromUnclaimed, ', attempts 1, last one refused'),
    credit('is credited from unclaimed when its owner appears', unclaimed, '', UNCLAIMED),
    credit('is credited to the wallet that an operator names', opened),
    held,
    completed,
    ...failed,
    cameBack,
    credit('is credited to a wallet after a return failed', refused, ', attempts 1, last one refused'),
    unclaim('is moved to unclaimed after its return came back', cameBack, ', attempts 1, last one returned'),
    heldUnderSecond,
    complete('leaves through clearing under the second reference', heldUnderSecond, 'reviewCase_2', 3, ', attempts 2'),
    heldUnderSame,
    complete(
      'leaves through clearing under the reference that was sent again',
      heldUnderSame,
      'reviewCase',
      3,
      ', attempts 1',
    ),
    heldAfterCompletion,
    complete(
      'leaves through clearing a second time, under a key of its own',
      heldAfterCompletion,
      'reviewCase_2',
      4,
      ', attempts 2',
    ),
    heldAfterUndone,
    complete(
      'leaves through clearing again under the same reference',
      heldAfterUndone,
      'reviewCase',
      4,
      ', attempts 1',
    ),
  ];
}

/** A case whose money was received for a payment, with the payment after the movement that opened the case. */
const about = (opened: Step) => {
  const payment: PaymentWithAccount = { ...rowAfter(opened, 'payments'), account: null };
  return { row: caseOf(opened), payment };
};

/** The credit of a case to the wallet of its payment. `row`: what the payment is then. */
function creditedToPayment(
  title: string,
  after: Step,
  { isCounted = false, waivesFee = false },
  { rows, ...more }: Pick<Step, 'net' | 'rows' | 'events'> & Partial<Pick<Step, 'outbox'>>,
): Step {
  const { row, payment } = about(after);
  const decision = decideReviewedCredit(payment, { amount: row.amount, isCounted, waivesFee });
  if (decision === 'incomplete') throw new Error('the payment would not be settled');
  return step({
    title,
    after,
    call: call(creditCaseToPayment, BOOK, row, payment, decision),
    transaction: 'review_credit reviewCase/credit, enforced',
    rows,
    ...more,
  });
}

const DECIDED_LATER = ['review_case.resolved', 'payment.reviewed'];
const LATE_CASE = 'late_credit of 202000 in suspense:unmatched';

/** The return of late money to its sender, which the payment shows as in review until the bank has paid it. */
const lateHeld = step({
  title: 'late money is in review while it is on its way back',
  after: LATE,
  call: call(holdReturn, BOOK, caseOf(LATE), { rail: 'sandbox', attempts: 1 }, about(LATE).payment),
  net: { 'suspense:unmatched': -202_000, [TRANSIT]: 202_000 },
  transaction: 'review_hold reviewCase/hold/1, enforced',
  rows: [`review_cases: returning, version 2, ${LATE_CASE}, fee 2000, attempts 1`],
});

const OF_PAYMENTS = [
  creditedToPayment(
    'late money that is credited is received by its payment, and charged as on time',
    LATE,
    {},
    {
      net: { 'suspense:unmatched': -202_000, 'wallet:owner': 200_000, 'income:fees': 2_000 },
      rows: [
        'payments: expired, version 4, received 202000, credited 200000',
        `review_cases: credited, version 2, ${LATE_CASE}, fee 2000`,
      ],
      events: DECIDED_LATER,
    },
  ),
  creditedToPayment(
    'an operator may waive the fee of late money',
    LATE,
    { waivesFee: true },
    {
      net: { 'suspense:unmatched': -202_000, 'wallet:owner': 202_000 },
      rows: [
        'payments: expired, version 4, received 202000, credited 202000',
        `review_cases: credited, version 2, ${LATE_CASE}`,
      ],
      events: DECIDED_LATER,
    },
  ),
  creditedToPayment(
    'a part of an expired payment is charged its share of the fee',
    EXPIRED_WITH_PART,
    { isCounted: true },
    {
      net: { 'suspense:payment:payment': -50_000, 'wallet:owner': 49_505, 'income:fees': 495 },
      rows: [
        'payments: expired, version 4, received 50000, credited 49505',
        'review_cases: credited, version 2, partial_expired of 50000 in suspense:payment:payment, fee 495',
      ],
      events: DECIDED_LATER,
    },
  ),
  creditedToPayment(
    'a last part that is credited settles the payment with the part that was held',
    REST_IN_REVIEW,
    {},
    {
      net: {
        'suspense:unmatched': -202_000,
        'suspense:payment:payment': -50_000,
        'wallet:owner': 250_000,
        'income:fees': 2_000,
      },
      rows: [
        'payments: settled, version 4, received 252000, credited 250000',
        'review_cases: credited, version 2, wallet_frozen of 202000 in suspense:unmatched, fee 2000',
      ],
      events: ['review_case.resolved', 'payment.settled', 'payment.completed'],
      outbox: ['payment: start or signal creditReceived'],
    },
  ),
  step({
    title: 'late money that is credited to another wallet is not received by its payment',
    after: LATE,
    call: call(creditCase, BOOK, caseOf(LATE), OTHER, about(LATE).payment),
    net: { 'suspense:unmatched': -202_000, 'wallet:other': 202_000 },
    transaction: 'review_credit reviewCase/credit, enforced',
    rows: ['payments: expired, version 4', `review_cases: credited, version 2, ${LATE_CASE}`],
    events: DECIDED_LATER,
  }),
  step({
    title: 'late money that is moved to unclaimed is no longer in review',
    after: LATE,
    call: call(moveCaseToUnclaimed, BOOK, caseOf(LATE), about(LATE).payment),
    net: { 'suspense:unmatched': -202_000, [UNCLAIMED]: 202_000 },
    transaction: 'review_unclaimed reviewCase/unclaimed/1, enforced',
    rows: ['payments: expired, version 4', `review_cases: unclaimed, version 2, ${LATE_CASE}, fee 2000`],
    events: DECIDED_LATER,
  }),
  lateHeld,
  step({
    title: 'late money is no longer in review when the bank has returned it',
    after: lateHeld,
    call: call(completeReturn, BOOK, caseOf(lateHeld), about(LATE).payment),
    net: { [TRANSIT]: -202_000, 'clearing:sandbox': 202_000 },
    transaction: 'review_completion reviewCase/completion/2, enforced, resolves reviewCase/hold/1',
    rows: [
      'payments: expired, version 4',
      `review_cases: returned_to_sender, version 3, ${LATE_CASE}, fee 2000, attempts 1`,
    ],
    events: DECIDED_LATER,
  }),
];

/** The close of a case that holds no money. */
const closed = (title: string, opened: Step, row: string, events: string[]) =>
  step({
    title,
    after: opened,
    call: call(closeCase, BOOK, caseOf(opened)),
    rows: [`review_cases: closed, version 2, ${row} in no account`],
    events,
  });

const RECEIVED_ROWS = [
  'inbound_credits: received, version 3',
  'review_cases: closed, version 2, credit_unconfirmed of 70000 in no account',
];

/** A credit that was set aside and that the rail confirms later. `workflow`: the message that processes it. */
function received(title: string, setAside: Step, payment: 'of a payment' | null, workflow: string): Step {
  const credit = rowAfter(setAside, 'inbound_credits');
  const target =
    payment === null || credit.ownerId === null
      ? null
      : ({
          id: credit.ownerId,
          targetWalletId: OWNER,
          baseAmount: 200_000,
          fee: 2_000,
          feeBearer: 'payer',
          expiresAt: new Date(),
        } as const);
  return step({
    title,
    after: setAside,
    call: call(receiveAfterAll, BOOK, caseOf(setAside), credit, startInboundCredit(BOOK, credit, target)),
    rows: RECEIVED_ROWS,
    events: ['review_case.resolved'],
    outbox: [workflow],
  });
}

const depositReceived = received(
  'a deposit that the rail confirms after all is received, and its flow is started again',
  DEPOSIT_SET_ASIDE,
  null,
  'inboundCredit: start, again',
);
const strayReceived = received(
  'a credit to an unknown account that the rail confirms after all is received, and its flow is started again',
  STRAY_SET_ASIDE,
  null,
  'inboundCredit: start, again',
);

const overLimit = WITHDRAWALS.find(({ rows }) => rows.some((row) => row.includes('over_limit of 103000')));
if (overLimit === undefined) throw new Error('no withdrawal came back to a wallet over its limit');

export const REVIEW_CASES = [
  step({
    title: 'what a wallet over its limit did not take back is credited to it under the rules of money that comes back',
    after: overLimit,
    call: call(creditCase, BOOK, caseOf(overLimit), OWNER),
    net: { 'suspense:unmatched': -103_000, 'wallet:owner': 103_000 },
    transaction: 'review_credit reviewCase/credit, credit_exempt',
    rows: ['review_cases: credited, version 2, over_limit of 103000 in suspense:unmatched'],
    events: ['review_case.resolved'],
  }),
  ...withMoney(STRAY_IN_SUSPENSE, 'money of an unknown owner', 'unknown_account', 70_000, 'suspense:unmatched'),
  ...withMoney(
    EXPIRED_WITH_PART,
    'a part of an expired payment',
    'partial_expired',
    50_000,
    'suspense:payment:payment',
    ', fee 495',
  ),
  ...OF_PAYMENTS,
  closed('a case of a break is closed without an event', BREAK_OPENED, 'reconciliation_break of 7000', []),
  closed(
    'a case of an unconfirmed credit is closed with an event, and the credit stays set aside',
    STRAY_SET_ASIDE,
    'credit_unconfirmed of 70000',
    ['review_case.resolved'],
  ),
  depositReceived,
  strayReceived,
  received(
    'a credit to a payment that the rail confirms after all is received, and the flow of the payment is signalled',
    PAYMENT_SET_ASIDE,
    'of a payment',
    'payment: start or signal creditReceived, again',
  ),
  step({
    title: 'a deposit that was set aside is credited to its wallet after the rail has confirmed it',
    after: depositReceived,
    call: call(depositMovement, BOOK, rowAfter(depositReceived, 'inbound_credits'), OWNER),
    net: { 'clearing:sandbox': -70_000, 'wallet:owner': 70_000 },
    transaction: `deposit ${CREDIT_KEY}, enforced`,
    rows: ['inbound_credits: posted, version 4'],
    events: ['wallet.credited'],
  }),
  step({
    title: 'a credit to an unknown account that was set aside is placed in suspense, with a second case',
    after: strayReceived,
    call: call(creditToSuspense, BOOK, rowAfter(strayReceived, 'inbound_credits'), 'unknown_account', null),
    ...inSuspense('unknown_account', 70_000, 4),
  }),
];
