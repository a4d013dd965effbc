// The rules of review cases as tables: which decisions are refused and with which message, and when a return may use a
// new reference.
import { describe, expect, test } from '@jest/globals';
import { attentionOf, choicesOf, decideAfterAttempt, refuseDecision } from '../../src/workflows/reviewCase/decide.ts';
import { describeCase } from '../../src/workflows/reviewCase/details.ts';
import type { ReviewCaseSnapshot } from '../../src/workflows/reviewCase/messages.ts';

const AUDIT_FIELDS = { reason: 'the customer called', code: 'abcd-efgh-jkmn' };
const OPEN = { isOpen: true, reason: 'late_credit' };
const UNCONFIRMED = { isOpen: true, reason: 'credit_unconfirmed' };
const BREAK = { isOpen: true, reason: 'reconciliation_break' };

test.each([
  [OPEN, { action: 'credit' }, null],
  [OPEN, { action: 'credit', walletId: 'svc_x_wlt' }, null],
  [OPEN, { action: 'return_to_sender' }, null],
  [OPEN, { action: 'move_to_unclaimed', evidence: 'ticket 7' }, null],
  [OPEN, { action: 'close', evidence: 'ticket 7' }, /one of credit, return_to_sender, move_to_unclaimed/],
  [OPEN, { action: 'burn' }, /one of credit, return_to_sender, move_to_unclaimed/],
  [OPEN, {}, /one of credit, return_to_sender, move_to_unclaimed/],
  [OPEN, { action: 'move_to_unclaimed', walletId: 'svc_x_wlt' }, /walletId/],
  [OPEN, { action: 'move_to_unclaimed', reason: ' ' }, /reason/],
  [OPEN, { action: 'move_to_unclaimed', code: ' ' }, /operators code WORKFLOW_ID/],
  [OPEN, { action: 'move_to_unclaimed', evidence: 7 }, /evidence/],
  [{ ...OPEN, isOpen: false }, { action: 'move_to_unclaimed' }, /not open/],
  [BREAK, { action: 'close', evidence: 'ticket 7' }, null],
  [BREAK, { action: 'close' }, /evidence must say/],
  [BREAK, { action: 'close', evidence: ' ' }, /evidence must say/],
  [BREAK, { action: 'credit', evidence: 'ticket 7' }, /must be close.*holds no money/],
  [BREAK, { action: 'return_to_sender', evidence: 'ticket 7' }, /must be close.*holds no money/],
  [BREAK, { action: 'move_to_unclaimed', evidence: 'ticket 7' }, /must be close.*holds no money/],
  [UNCONFIRMED, { action: 'retry' }, null],
  [UNCONFIRMED, { action: 'close', evidence: 'ticket 7' }, null],
  [UNCONFIRMED, { action: 'close' }, /evidence must say/],
  [UNCONFIRMED, { action: 'credit', evidence: 'ticket 7' }, /one of retry, close.*holds no money/],
  [UNCONFIRMED, { action: 'return_to_sender', evidence: 'ticket 7' }, /one of retry, close.*holds no money/],
  [OPEN, { action: 'retry' }, /one of credit, return_to_sender, move_to_unclaimed/],
])('for the case %j the decision %j is refused with %p (null: allowed)', (reviewed, decision, words) => {
  const refusal = refuseDecision(reviewed, { ...AUDIT_FIELDS, ...decision } as Parameters<typeof refuseDecision>[1]);
  expect(refusal ?? 'allowed').toMatch(words ?? /^allowed$/);
});

test.each([null, 'closed', 7])('refuseDecision rejects %j as a decision', (decision) => {
  expect(refuseDecision(OPEN, decision as never)).not.toBeNull();
});

test.each([
  [null, 'over'],
  ['failed', 'over'],
  ['returned', 'over'],
  ['completed', 'paid'],
  ['processing', 'paid'],
  ['unknown', 'open'],
  ['unreachable', 'open'],
] as const)('after an attempt with the rail status %s, decideAfterAttempt is %s', (status, expected) => {
  expect(decideAfterAttempt(status)).toBe(expected);
});

test('the attention cause of a break is reconciliation_break, and that of money is review', () => {
  expect([attentionOf('reconciliation_break'), attentionOf('late_credit')]).toEqual(['reconciliation_break', 'review']);
});

describe('details of a review case', () => {
  const input = {
    organisationId: '01890000-0000-7000-8000-000000000000',
    environment: 'test' as const,
    transferId: 'svc_case_rev',
    amount: 5_000,
  };
  const snapshot: ReviewCaseSnapshot = {
    status: 'open',
    reference: 'svc_case_rev_2',
    attempts: 2,
    failure: 'refused',
    fee: 0,
    transfer: null,
    break: null,
    returnsUnasked: false,
  };

  test.each(['late_credit', 'reconciliation_break', 'credit_unconfirmed', 'paid_after_failure', 'credit_recalled'])(
    'the details of a %s case list exactly its choices',
    (reason) => {
      const facts = {
        kind: 'unmatched_statement',
        line: 'sent',
        rail: 'sandbox',
        reference: 'x',
        ledgerAmount: null,
        statementAmount: 5_000,
      };
      const about = { ...facts, at: '2026-01-01T12:00:00.000Z', clearedAt: null };
      const isBreak = reason === 'reconciliation_break';
      const text = describeCase({ ...input, reason }, { ...snapshot, break: isBreak ? about : null }, false);
      const listed = [...text.matchAll(/^\| (credit|return_to_sender|move_to_unclaimed|close|retry) \|/gm)].map(
        ([, action]) => action,
      );
      expect(listed).toEqual(choicesOf(reason));
    },
  );

  test("the details have the reason why the last return failed, and where to find the bank's response", () => {
    const text = describeCase({ ...input, reason: 'late_credit' }, snapshot, false);
    expect(text).toContain('Attempt 2 to send it back (reference svc_case_rev_2) failed: the bank refused it');
    expect(text).toContain('npm run cli -- reviews show svc_case_rev');
    expect(text).not.toContain('after all');
  });

  test('the details report that the bank paid a failed return', () => {
    expect(describeCase({ ...input, reason: 'late_credit' }, snapshot, true)).toContain(
      'paid svc_case_rev_2 after all',
    );
  });

  test('the details report that a break has cleared', () => {
    const cleared = {
      ...snapshot,
      break: {
        kind: 'unmatched_ledger',
        line: 'credit',
        rail: 'sandbox',
        reference: 'x',
        ledgerAmount: 5_000,
        statementAmount: null,
        at: '2026-01-01T12:00:00.000Z',
        clearedAt: '2026-01-02T01:00:00.000Z',
      },
    };
    expect(describeCase({ ...input, reason: 'reconciliation_break' }, cleared, false)).toContain(
      'no longer, since the run of 2026-01-02T01:00:00.000Z',
    );
  });
});
