// Movements of review cases: ₦700.00 of an unknown sender in suspense, a part of ₦500.00 that an expired payment
// holds, and cases that hold no money.
import type { Kobo } from '../../../src/money.ts';
import { startInboundCredit } from '../../../src/resources/flows.ts';
import { creditToSuspense, depositMovement } from '../../../src/resources/inboundCredits/movements.ts';
import {
  closeCase,
  completeReturn,
  creditCase,
  holdReturn,
  moveCaseToUnclaimed,
  receiveAfterAll,
  returnToSuspense,
} from '../../../src/resources/reviewCases/movements.ts';
import type { ReturnFailure } from '../../../src/resources/reviewCases/queries.ts';
import { BOOK, call, OTHER, OWNER, REFUSED, RETURNED, rowAfter, type Step, step } from '../movementTable.ts';
import { DEPOSIT_SET_ASIDE, PAYMENT_SET_ASIDE, STRAY_IN_SUSPENSE, STRAY_SET_ASIDE } from './inboundCredits.ts';
import { EXPIRED_WITH_PART } from './payments.ts';
import { BREAK_OPENED } from './reconciliation.ts';

const caseOf = (made: Step) => rowAfter(made, 'review_cases');

const transactionOf = (key: string, kind: string) => ({ key, kind, rules: 'enforced' as const });

/** All movements of a case that holds money. `opened`: the movement that opened it. */
function withMoney(opened: Step, about: string, reason: string, amount: Kobo, suspense: string): Step[] {
  const row = (status: string, version: number, more = '') =>
    `review_cases: ${status}, version ${version}, ${reason} of ${amount} in ${suspense}${more}`;

  const hold = (
    title: string,
    after: Step,
    attempts: number,
    expected: { key: string; version: number; more: string },
  ) =>
    step({
      title: `${about} ${title}`,
      after,
      call: call(holdReturn, BOOK, caseOf(after), 'sandbox', attempts),
      net: { [suspense]: -amount, 'in_transit:returns': amount },
      transaction: transactionOf(expected.key, 'review_hold'),
      rows: [row('returning', expected.version, expected.more)],
    });

  const complete = (
    title: string,
    after: Step,
    expected: { key: string; resolves: string; version: number; more: string },
  ) =>
    step({
      title: `${about} ${title}`,
      after,
      call: call(completeReturn, BOOK, caseOf(after)),
      net: { 'in_transit:returns': -amount, 'clearing:sandbox': amount },
      transaction: { ...transactionOf(expected.key, 'review_completion'), resolves: expected.resolves },
      rows: [row('returned_to_sender', expected.version, expected.more)],
      events: ['review_case.resolved'],
    });

  const held = hold('moves into transit to be returned to its sender', opened, 1, {
    key: 'reviewCase/hold/1',
    version: 2,
    more: ', attempts 1',
  });

  const completed = complete('leaves through clearing when the bank has returned it', held, {
    key: 'reviewCase/completion',
    resolves: 'reviewCase/hold/1',
    version: 3,
    more: ', attempts 1',
  });

  const backInSuspense = (title: string, after: Step, from: string, failure: ReturnFailure, version: number) =>
    step({
      title: `${about} ${title}`,
      after,
      call: call(returnToSuspense, BOOK, caseOf(after), failure, failure === 'returned' ? RETURNED : REFUSED),
      net: { [from]: -amount, [suspense]: amount },
      transaction: {
        ...transactionOf(`reviewCase/return/${version - 1}`, 'review_return'),
        reverses: after === completed ? 'reviewCase/completion' : 'reviewCase/hold/1',
      },
      rows: [row('open', version, `, attempts 1, last one ${failure}`)],
      events: ['review_case.opened'],
    });

  const failed = (['refused', 'returned', 'never_received', 'decided'] as const).map((failure) =>
    backInSuspense(`moves from transit to suspense after a return ${failure}`, held, 'in_transit:returns', failure, 3),
  );
  const [refused, , neverReceived] = failed as [Step, Step, Step, Step];

  const cameBack = backInSuspense(
    'moves from clearing to suspense when it comes back after the completion',
    completed,
    'clearing:sandbox',
    'returned',
    4,
  );

  const heldUnderSecond = hold('is returned under a second reference after a refusal', refused, 2, {
    key: 'reviewCase/hold/3',
    version: 4,
    more: ', attempts 2, last one refused',
  });
  const heldUnderSame = hold('is returned under the same reference that the bank never received', neverReceived, 1, {
    key: 'reviewCase/hold/3',
    version: 4,
    more: ', attempts 1, last one never_received',
  });
  const heldAfterCompletion = hold('is returned under a second reference after it came back', cameBack, 2, {
    key: 'reviewCase/hold/4',
    version: 5,
    more: ', attempts 2, last one returned',
  });

  const unclaimed = step({
    title: `${about} is moved to unclaimed`,
    after: opened,
    call: call(moveCaseToUnclaimed, BOOK, caseOf(opened)),
    net: { [suspense]: -amount, 'unclaimed:credits': amount },
    transaction: transactionOf('reviewCase/unclaimed/1', 'review_unclaimed'),
    rows: [row('unclaimed', 2)],
    events: ['review_case.resolved'],
  });
  const heldFromUnclaimed = step({
    title: `${about} moves from unclaimed into transit when its sender appears`,
    after: unclaimed,
    call: call(holdReturn, BOOK, caseOf(unclaimed), 'sandbox', 1),
    net: { 'unclaimed:credits': -amount, 'in_transit:returns': amount },
    transaction: transactionOf('reviewCase/hold/2', 'review_hold'),
    rows: [row('returning', 3, ', attempts 1')],
  });
  const refusedFromUnclaimed = step({
    title: `${about} moves from transit to suspense when the bank refuses the return of unclaimed money`,
    after: heldFromUnclaimed,
    call: call(returnToSuspense, BOOK, caseOf(heldFromUnclaimed), 'refused', REFUSED),
    net: { 'in_transit:returns': -amount, [suspense]: amount },
    transaction: { ...transactionOf('reviewCase/return/3', 'review_return'), reverses: 'reviewCase/hold/2' },
    rows: [row('open', 4, ', attempts 1, last one refused')],
    events: ['review_case.opened'],
  });

  return [
    unclaimed,
    heldFromUnclaimed,
    refusedFromUnclaimed,
    step({
      title: `${about} is moved to unclaimed a second time`,
      after: refusedFromUnclaimed,
      call: call(moveCaseToUnclaimed, BOOK, caseOf(refusedFromUnclaimed)),
      net: { [suspense]: -amount, 'unclaimed:credits': amount },
      transaction: transactionOf('reviewCase/unclaimed/4', 'review_unclaimed'),
      rows: [row('unclaimed', 5, ', attempts 1, last one refused')],
      events: ['review_case.resolved'],
    }),
    step({
      title: `${about} is credited from unclaimed when its owner appears`,
      after: unclaimed,
      call: call(creditCase, BOOK, caseOf(unclaimed), OTHER),
      net: { 'unclaimed:credits': -amount, 'wallet:other': amount },
      transaction: transactionOf('reviewCase/credit', 'review_credit'),
      rows: [row('credited', 3)],
      events: ['review_case.resolved'],
    }),
    step({
      title: `${about} is credited to the wallet that an operator names`,
      after: opened,
      call: call(creditCase, BOOK, caseOf(opened), OTHER),
      net: { [suspense]: -amount, 'wallet:other': amount },
      transaction: transactionOf('reviewCase/credit', 'review_credit'),
      rows: [row('credited', 2)],
      events: ['review_case.resolved'],
    }),
    held,
    completed,
    ...failed,
    cameBack,
    step({
      title: `${about} is credited to a wallet after a return failed`,
      after: refused,
      call: call(creditCase, BOOK, caseOf(refused), OTHER),
      net: { [suspense]: -amount, 'wallet:other': amount },
      transaction: transactionOf('reviewCase/credit', 'review_credit'),
      rows: [row('credited', 4, ', attempts 1, last one refused')],
      events: ['review_case.resolved'],
    }),
    step({
      title: `${about} is moved to unclaimed after its return came back`,
      after: cameBack,
      call: call(moveCaseToUnclaimed, BOOK, caseOf(cameBack)),
      net: { [suspense]: -amount, 'unclaimed:credits': amount },
      transaction: transactionOf('reviewCase/unclaimed/4', 'review_unclaimed'),
      rows: [row('unclaimed', 5, ', attempts 1, last one returned')],
      events: ['review_case.resolved'],
    }),
    heldUnderSecond,
    complete('leaves through clearing under the second reference', heldUnderSecond, {
      key: 'reviewCase_2/completion',
      resolves: 'reviewCase/hold/3',
      version: 5,
      more: ', attempts 2',
    }),
    heldUnderSame,
    complete('leaves through clearing under the reference that was sent again', heldUnderSame, {
      key: 'reviewCase/completion',
      resolves: 'reviewCase/hold/3',
      version: 5,
      more: ', attempts 1',
    }),
    heldAfterCompletion,
    complete('leaves through clearing a second time, under a key of its own', heldAfterCompletion, {
      key: 'reviewCase_2/completion',
      resolves: 'reviewCase/hold/4',
      version: 6,
      more: ', attempts 2',
    }),
  ];
}

/** The close of a case that holds no money. */
const closed = (title: string, opened: Step, row: string, events: string[]) =>
  step({
    title,
    after: opened,
    call: call(closeCase, BOOK, caseOf(opened)),
    net: {},
    transaction: null,
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
      : { id: credit.ownerId, targetWalletId: OWNER, baseAmount: 200_000, expiresAt: new Date() };
  return step({
    title,
    after: setAside,
    call: call(receiveAfterAll, BOOK, caseOf(setAside), credit, startInboundCredit(BOOK, credit, target)),
    net: {},
    transaction: null,
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

const LATER = { key: 'credit/sandbox/session of inboundCredit', rules: 'enforced' } as const;

export const REVIEW_CASES = [
  ...withMoney(STRAY_IN_SUSPENSE, 'money of an unknown owner', 'unknown_account', 70_000, 'suspense:unmatched'),
  ...withMoney(
    EXPIRED_WITH_PART,
    'a part of an expired payment',
    'partial_expired',
    50_000,
    'suspense:payment:payment',
  ),
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
    transaction: { ...LATER, kind: 'deposit' },
    rows: ['inbound_credits: posted, version 4'],
    events: ['wallet.credited'],
  }),
  step({
    title: 'a credit to an unknown account that was set aside is placed in suspense, with a second case',
    after: strayReceived,
    call: call(creditToSuspense, BOOK, rowAfter(strayReceived, 'inbound_credits'), 'unknown_account', null),
    net: { 'clearing:sandbox': -70_000, 'suspense:unmatched': 70_000 },
    transaction: { ...LATER, kind: 'credit_to_suspense' },
    rows: [
      'inbound_credits: suspense, version 4',
      'review_cases: open, version 1, unknown_account of 70000 in suspense:unmatched',
    ],
    events: ['review_case.opened'],
    outbox: ['reviewCase: start'],
  }),
];
