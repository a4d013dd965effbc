// Movements of a reconciliation break. A break posts nothing.
import { clearBreak, closeCleared, openBreak, updateBreak } from '../../../src/reconciliation/movements.ts';
import { BOOK, call, rowAfter, step } from '../movementTable.ts';

const found = {
  kind: 'amount',
  line: 'sent',
  reference: 'reference',
  ledgerAmount: 5_000,
  statementAmount: 7_000,
  at: new Date(),
  occurrence: 1,
} as const;

/** The break of an amount; the table of the review cases closes its case. */
export const BREAK_OPENED = step({
  title: 'a break with two amounts opens a review case of the larger one, which holds no money',
  call: call(openBreak, BOOK, 'sandbox', found),
  rows: [
    'review_cases: open, version 1, reconciliation_break of 7000 in no account',
    'reconciliation_breaks: version 1, found',
  ],
  outbox: ['reviewCase: start'],
});
const stored = rowAfter(BREAK_OPENED, 'reconciliation_breaks');

const reviewCase = rowAfter(BREAK_OPENED, 'review_cases');

const clearedAt = new Date();
const cleared = step({
  title: 'a break that a later run no longer finds is cleared',
  after: BREAK_OPENED,
  call: call(clearBreak, BOOK, { ...stored, status: 'open' }, clearedAt),
  rows: ['reconciliation_breaks: version 2, cleared'],
});

const caseClosed = step({
  title: 'the case of a break that has cleared is closed without a decision, and its flow is signalled',
  after: cleared,
  call: call(closeCleared, BOOK, reviewCase, clearedAt),
  rows: ['review_cases: closed, version 2, reconciliation_break of 7000 in no account'],
  outbox: ['reviewCase: start or signal transferUpdated'],
});

const oneSided = (
  [
    ['the ledger', { ...found, kind: 'unmatched_ledger', statementAmount: null }, 5_000],
    ['the statement', { ...found, kind: 'unmatched_statement', ledgerAmount: null }, 7_000],
  ] as const
).map(([side, one, amount]) =>
  step({
    title: `a break that is only on ${side} opens a review case of that amount`,
    call: call(openBreak, BOOK, 'sandbox', one),
    rows: [
      `review_cases: open, version 1, reconciliation_break of ${amount} in no account`,
      'reconciliation_breaks: version 1, found',
    ],
    outbox: ['reviewCase: start'],
  }),
);

export const RECONCILIATION = [
  BREAK_OPENED,
  ...oneSided,
  cleared,
  caseClosed,
  step({
    title: 'a cleared break that is found again opens the case that a run has closed, and signals it',
    after: caseClosed,
    call: call(
      updateBreak,
      BOOK,
      { ...rowAfter(cleared, 'reconciliation_breaks'), status: 'closed' },
      rowAfter(caseClosed, 'review_cases'),
    ),
    rows: [
      'review_cases: open, version 3, reconciliation_break of 7000 in no account',
      'reconciliation_breaks: version 3, found',
    ],
    outbox: ['reviewCase: start or signal transferUpdated'],
  }),
  step({
    title: 'a cleared break that is found again after operators have closed its case is recorded without a message',
    after: cleared,
    call: call(
      updateBreak,
      BOOK,
      { ...rowAfter(cleared, 'reconciliation_breaks'), status: 'closed' },
      { ...reviewCase, status: 'closed', resolvedAt: new Date(0) },
    ),
    rows: ['reconciliation_breaks: version 3, found'],
  }),
];
