// The rules of adjustments as tables: which postings may be requested, which decisions are refused and with which
// message, and what operators read about a refusal of the ledger.
import { expect, test } from '@jest/globals';
import type { Posting } from '../../src/ledger/postings.ts';
import { AMOUNT_MAX } from '../../src/money.ts';
import { POSTINGS_MAX, refusePostings, reversedPostings } from '../../src/resources/adjustments/postings.ts';
import { ACTIONS, describeRefusal, refuseDecision } from '../../src/workflows/adjustment/decide.ts';
import { describeAdjustment } from '../../src/workflows/adjustment/details.ts';

const OWNER = 'wallet:svc_owner_wlt';
const EXISTING = new Set([
  OWNER,
  'clearing:sandbox',
  'suspense:unmatched',
  'in_transit:withdrawals',
  'reserve:payout:x',
  `held:${OWNER}`,
]);
const posting = (debit: string, credit: string, amount = 5_000): Posting => ({ debit, credit, amount });

test.each<[Posting[], RegExp | null]>([
  [[posting('clearing:sandbox', OWNER)], null],
  [[posting('loss:operations', OWNER), posting('expense:rail', 'clearing:sandbox', AMOUNT_MAX)], null],
  [[posting('receivable:bank', 'unclaimed:credits'), posting('income:fees', OWNER, 1)], null],
  [Array.from({ length: POSTINGS_MAX }, () => posting('clearing:sandbox', OWNER)), null],
  [Array.from({ length: POSTINGS_MAX + 1 }, () => posting('clearing:sandbox', OWNER)), /1 to 20 postings, not 21/],
  [[], /1 to 20 postings, not 0/],
  [[posting(OWNER, OWNER)], /two accounts/],
  [[posting('clearing:sandbox', OWNER, 0)], /whole number of kobo/],
  [[posting('clearing:sandbox', OWNER, 1.5)], /whole number of kobo/],
  [[posting('clearing:sandbox', OWNER, AMOUNT_MAX + 1)], /whole number of kobo/],
  [[posting('clearing:sandbox', 'wallet:svc_nobody_wlt')], /no account wallet:svc_nobody_wlt/],
  [[posting('clearing:other_bank', OWNER)], /no account clearing:other_bank/],
  [[posting('expense:rial', OWNER)], /no account expense:rial/],
  [[posting('anything', OWNER)], /no account anything/],
  [[posting('suspense:unmatched', OWNER)], /suspense:unmatched holds the money of/],
  [[posting(OWNER, 'in_transit:withdrawals')], /in_transit:withdrawals holds the money of/],
  [[posting('reserve:payout:x', OWNER)], /reserve:payout:x holds the money of/],
  [[posting(`held:${OWNER}`, OWNER)], /held:wallet:svc_owner_wlt holds the money of/],
])('the postings %j are refused with %p (null: allowed)', (postings, words) => {
  expect(refusePostings(postings, EXISTING) ?? 'allowed').toMatch(words ?? /^allowed$/);
});

test('the postings of a reversal undo the last one first', () => {
  expect(reversedPostings([posting('a', 'b', 1), posting('b', 'c', 2)])).toEqual([
    posting('c', 'b', 2),
    posting('b', 'a', 1),
  ]);
});

const DECISION = { action: 'approve', reason: "agrees with the bank's letter", code: 'ABCD' };

test.each([
  [true, {}, null],
  [true, { action: 'reject' }, null],
  [false, {}, /decided already/],
  [true, { action: 'post' }, /one of approve, reject/],
  [true, { action: undefined }, /one of approve, reject/],
  [true, { reason: ' ' }, /reason/],
  [true, { code: '' }, /code/],
  [true, { code: 7 }, /code/],
])('when it is open is %p, the decision %j is refused with %p (null: allowed)', (isOpen, change, words) => {
  const decision = { ...DECISION, ...change } as Parameters<typeof refuseDecision>[1];
  expect(refuseDecision(isOpen, decision) ?? 'allowed').toMatch(words ?? /^allowed$/);
});

test.each([null, 'approve', 7])('%j is refused as a decision', (decision) => {
  expect(refuseDecision(true, decision as never)).toMatch(/Send one object/);
});

test('a refusal of the ledger names the code, the account and what to do', () => {
  expect(describeRefusal('WALLET_INSUFFICIENT_FUNDS', OWNER)).toBe(
    `The ledger refused it: WALLET_INSUFFICIENT_FUNDS, at ${OWNER}: it holds less than that. Reject the adjustment and ` +
      'request one for what it holds.',
  );
  expect(describeRefusal('SOMETHING', null)).toMatch(/SOMETHING, at no account: Find the cause/);
});

test('the details list postings, actions and the last refusal', () => {
  const input = {
    organisationId: '01890000-0000-7000-8000-000000000000',
    environment: 'test' as const,
    adjustmentId: 'svc_one_adj',
    amount: 5_000,
  };
  const snapshot = {
    status: 'requested',
    postings: [posting('clearing:sandbox', OWNER)],
    reverses: 'svc_other_adj',
    requestedBy: 'svc_ada_opr',
  };
  const text = describeAdjustment(input, snapshot, 'The ledger refused it.');
  expect(text).toContain(`| clearing:sandbox | ${OWNER} | ₦50.00 |`);
  expect(text).toContain('Requested by svc_ada_opr, to reverse svc_other_adj.');
  expect(text).toContain('**The last approval failed.** The ledger refused it.');
  expect([...text.matchAll(/^\| (approve|reject) \|/gm)].map(([, action]) => action)).toEqual(Object.keys(ACTIONS));
  expect(describeAdjustment(input, { ...snapshot, reverses: null }, null)).not.toMatch(/reverse|failed/);
});
