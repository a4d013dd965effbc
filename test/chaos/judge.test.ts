// The judge of chaos runs names each kind of damage, and nothing where all is well.
import { expect, test } from '@jest/globals';
import type { Answer, BankCredit, BankReference, Facts, Operation } from '../../dev/chaos/facts.ts';
import { judge } from '../../dev/chaos/judge.ts';

const answer = (status: number, body: Record<string, unknown>, replayed = false): Answer => ({
  status,
  body,
  replayed,
});

const operation = (number: number, more: Partial<Operation>): Operation => ({
  number,
  kind: 'transfer',
  path: '/wallets/w/transfer',
  body: {},
  key: `key-${number}`,
  attempts: 1,
  sentAt: Date.parse('2026-01-01T12:00:00Z'),
  answeredAt: Date.parse('2026-01-01T12:00:01Z'),
  answer: null,
  replay: null,
  now: null,
  ...more,
});

const accepted = (number: number, body: Record<string, unknown>, more: Partial<Operation> = {}): Operation =>
  operation(number, { answer: answer(201, body), replay: answer(201, body, true), now: body, ...more });

const TRANSFER = { id: 'trf-1', amount: 10, status: 'completed', createdAt: '2026-01-01T12:00:00.500Z' };
const WITHDRAWAL = { id: 'wth-1', amount: 50, status: 'processing', completedAt: null };
const REFUSAL = { code: 'WALLET_INSUFFICIENT_FUNDS', details: {} };
const PAID: BankReference = {
  reference: 'wth-1',
  own: { status: 'completed', amount: 50 },
  bank: { status: 'completed', amount: 50 },
  sent: [50],
  returned: [],
};
const NEVER_SENT: BankReference = {
  ...PAID,
  reference: 'poi-1',
  own: { status: 'failed', amount: 5 },
  bank: null,
  sent: [],
};
const SENT_BACK: BankReference = {
  ...PAID,
  reference: 'wth-2',
  own: { status: 'returned', amount: 50 },
  bank: { status: 'returned', amount: 50 },
  returned: [50],
};

const CREDIT: BankCredit = { sessionId: 's-1', amount: 7, recalled: false, own: [7], posted: 1, takenBack: 0 };

/** A run in which all is well. */
const WELL: Facts = {
  operations: [
    accepted(1, TRANSFER),
    accepted(2, WITHDRAWAL, { kind: 'withdrawal', now: { ...WITHDRAWAL, status: 'completed', completedAt: 'now' } }),
    operation(3, { answer: answer(422, REFUSAL), replay: answer(422, REFUSAL, true) }),
    accepted(4, { sessionId: 's-1', amount: 7 }, { kind: 'credit', key: null, replay: null }),
  ],
  resources: [
    { kind: 'transfer', id: 'trf-1', status: 'completed' },
    { kind: 'withdrawal', id: 'wth-1', status: 'completed' },
    { kind: 'payment', id: 'pay-1', status: 'failed' },
  ],
  events: [{ id: 'evt-1', type: 'transfer.completed' }],
  // At least once: the same event again, with the same body.
  received: [1, 2].map(() => ({ id: 'evt-1', body: '{}', isSigned: true })),
  references: [PAID, NEVER_SENT, SENT_BACK],
  credits: [CREDIT, { ...CREDIT, sessionId: 's-2', recalled: true, takenBack: 1 }],
  unfinished: [],
  findings: [],
  violations: [],
};

test('nothing is wrong when all is well', () => {
  expect(judge(WELL)).toEqual([]);
});

/** The response to a request with one field that is not valid. */
const invalid = (field: string, message: string, minimum: unknown) =>
  answer(400, { code: 'VALIDATION_FAILED', details: { fields: [{ field, message, constraint: { minimum } }] } });

test.each([
  ['the same field, with another bound', invalid('expiresAt', 'must be later', 2), true],
  ['another field', invalid('amount', 'must be later', 1), false],
  ['a time that has passed since', invalid('hold.releaseAt', 'must be in the future', 3), true],
])('an invalid request is invalid again by %s: %s', (_what, replay, isWell) => {
  const first = invalid('expiresAt', 'must be later', 1);
  const operations = [...WELL.operations, operation(5, { answer: first, replay })];
  const wrong = judge({ ...WELL, operations });
  expect(wrong.map((one) => one.includes('its replay 400'))).toEqual(isWell ? [] : [true]);
});

const CANCELLED = { id: 'hld-1', status: 'cancelled', paymentId: 'pay-2' };
const [CANCEL, REFUND] = [
  { kind: 'hold', path: '/holds/hld-1/cancel' },
  { kind: 'refund', status: 'completed' },
] as const;

test('the cancellation of what a payment held explains one refund', () => {
  const operations = [...WELL.operations, accepted(5, CANCELLED, CANCEL)];
  const refunds = ['rfd-1', 'rfd-2'].map((id) => ({ ...REFUND, id }));
  const wrongWith = (count: number) => judge({ ...WELL, operations, resources: refunds.slice(0, count) });
  expect(wrongWith(1)).toEqual([]);
  expect(wrongWith(2)).toEqual(['refund rfd-2 (completed) exists, and no response named it']);
});

const instead = <Item>(items: readonly Item[], index: number, change: Partial<Item>): Item[] =>
  items.map((item, other) => (other === index ? { ...item, ...change } : item));
const replayed = (status: number, body: Record<string, unknown>) => ({ replay: answer(status, body, true) });

const changed = (index: number, change: Partial<Operation>): Partial<Facts> => ({
  operations: instead(WELL.operations, index, change),
});
const added = (...more: Parameters<typeof accepted>): Partial<Facts> => ({
  operations: [...WELL.operations, accepted(...more)],
});
const receivedEvent = (change: Partial<Facts['received'][number]>): Partial<Facts> => ({
  received: instead(WELL.received, 1, change),
});
const atBank = (change: Partial<BankReference>, of = PAID): Partial<Facts> => ({ references: [{ ...of, ...change }] });
const credit = (change: object): Partial<Facts> => ({
  credits: [{ ...CREDIT, ...change }],
});
const LATE = { ...TRANSFER, id: 'trf-2', createdAt: '2026-01-01T12:05:00Z' };
const SHORT = { ...TRANSFER, id: 'trf-2', expiresAt: '2026-01-01T12:00:59.500Z' };

const DAMAGES: [string, Partial<Facts>, RegExp][] = [
  ['a request without an answer', { operations: [operation(5, { attempts: 9 })] }, /5 .*no definite answer after 9/],
  ['an accepted transfer that is gone', changed(0, { now: null }), /1 .*accepted as trf-1, which does not exist/],
  ['another amount', changed(0, { now: { ...TRANSFER, amount: 11 } }), /got amount 10; trf-1 has 11/],
  ['a processing withdrawal', changed(1, { now: WITHDRAWAL }), /got processing; wth-1 is processing/],
  ['a failed transfer', changed(0, { now: { ...TRANSFER, status: 'failed' } }), /got completed; trf-1 is failed/],
  ['an API whose clock is wrong', added(5, LATE), /5 .*sent at .*T12:00:00.000Z, got createdAt .*T12:05/],
  ['another window', added(5, SHORT, { body: { expiresIn: 60 } }), /5 .*open for 59000 ms, not for 60 s/],
  ['another replay', changed(0, replayed(201, { ...TRANSFER, id: 'trf-2' })), /1 .*its replay 201 .*trf-2/],
  ['a refusal that is later accepted', changed(2, replayed(201, TRANSFER)), /3 .*answered 422 .*its replay 201/],
  ['a new request', changed(0, { replay: answer(201, TRANSFER) }), /replay of operation 1 .*as a new request/],
  ['a replay without an answer', changed(0, { replay: null }), /1 .*no answer to its replay/],
  ['two keys for one resource', added(5, TRANSFER), /operation 1 .* and operation 5 .*both transfer trf-1/],
  [
    'a resource without a response to a caller',
    { resources: [...WELL.resources, { kind: 'transfer', id: 'trf-2', status: 'completed' }] },
    /trf-2 \(completed\) exists, and no response/,
  ],
  ['an event that never arrived', { received: [] }, /evt-1 \(transfer.completed\) never arrived/],
  ['a delivered event that does not exist', { events: [] }, /evt-1 arrived, and does not exist/],
  ['an event with two bodies', receivedEvent({ body: '{"a":1}' }), /evt-1 arrived with different bodies/],
  ['an event without a signature', receivedEvent({ isSigned: false }), /evt-1 arrived without a valid signature/],
  ['a bank line doubled', atBank({ sent: [50, 50] }), /paid wth-1 2 times/],
  ['a return doubled', atBank({ returned: [50, 50] }, SENT_BACK), /returned wth-2 2 times/],
  ['another amount at the bank', atBank({ sent: [49] }), /line of wth-1 is 49; the resource is 50/],
  ['a transfer without a request', atBank({ own: null }), /wth-1 that no resource asked for/],
  ['a transfer unknown at the bank', atBank({ bank: null, sent: [] }), /wth-1 is completed, and unknown at the bank/],
  [
    'a failed transfer that the bank paid',
    atBank({ own: { status: 'failed', amount: 50 } }),
    /wth-1 is failed, and completed at the bank/,
  ],
  ['a bank line deleted', atBank({ sent: [] }), /wth-1 is completed, and the bank's book has 0 out/],
  ['a credit that is missing', credit({ own: [], posted: 0 }), /s-1 is 0 times in our book/],
  ['a credit posted twice', credit({ posted: 2 }), /s-1 is posted 2 times/],
  ['a credit of another amount', credit({ own: [8] }), /s-1 is 7; in our book it is 8/],
  ['a recall that was missed', credit({ recalled: true }), /s-1 is taken back; in our book, 0 times/],
  ['a credit taken back by us alone', credit({ takenBack: 1 }), /s-1 is not taken back; in our book, 1 times/],
  ['a recalled credit posted twice', credit({ recalled: true, posted: 2, takenBack: 2 }), /s-1 is posted 2 times/],
  ['an open withdrawal', { unfinished: [{ what: 'the withdrawal', id: 'wth-9' }] }, /withdrawal wth-9 has not ended/],
  ['a finding of ledger verify', { findings: [{ code: 'UNBALANCED' }] }, /ledger verify finds .*UNBALANCED/],
  ['a violated invariant', { violations: ['the balances add up'] }, /invariant is violated: the balances add up/],
];

test.each(DAMAGES)('%s is named', (_, damage, named) => {
  expect(judge({ ...WELL, ...damage })[0]).toMatch(named);
});

test('what a response promised is reported before what only the books show', () => {
  const wrong = judge({
    ...WELL,
    operations: instead(WELL.operations, 0, { now: null }),
    unfinished: [{ what: 'the withdrawal', id: 'wth-9' }],
  });
  expect(wrong).toEqual([expect.stringMatching(/does not exist/), expect.stringMatching(/has not ended/)]);
});
