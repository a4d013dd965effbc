// The rules of review cases, as tables: which decision is refused and in what words, and when money may be sent back by a
// fresh reference.
import { describe, expect, test } from '@jest/globals';
import { attentionOf, choicesOf, decideAfterAttempt, refuseDecision } from '../../src/workflows/reviewCase/decide.ts';
import { describeCase } from '../../src/workflows/reviewCase/details.ts';
import type { ReviewCaseSnapshot } from '../../src/workflows/reviewCase/messages.ts';

const SAID = { reason: 'the customer called', operator: 'ngozi' };
const OPEN = { isOpen: true, reason: 'late_credit' };
const UNCONFIRMED = { isOpen: true, reason: 'credit_unconfirmed' };
const BREAK = { isOpen: true, reason: 'reconciliation_break' };

test.each([
  [OPEN, { action: 'credit' }, null],
  [OPEN, { action: 'credit', walletId: 'svc_x_wlt' }, null],
  [OPEN, { action: 'return_to_sender' }, null],
  [OPEN, { action: 'move_to_unclaimed', evidence: 'ticket 7' }, null],
  [OPEN, { action: 'closed', evidence: 'ticket 7' }, /one of credit, return_to_sender, move_to_unclaimed/],
  [OPEN, { action: 'burn' }, /one of credit, return_to_sender, move_to_unclaimed/],
  [OPEN, {}, /one of credit, return_to_sender, move_to_unclaimed/],
  [OPEN, { action: 'move_to_unclaimed', walletId: 'svc_x_wlt' }, /walletId/],
  [OPEN, { action: 'move_to_unclaimed', reason: ' ' }, /reason/],
  [OPEN, { action: 'move_to_unclaimed', operator: '' }, /operator/],
  [OPEN, { action: 'move_to_unclaimed', evidence: 7 }, /evidence/],
  [{ ...OPEN, isOpen: false }, { action: 'move_to_unclaimed' }, /not open/],
  [BREAK, { action: 'closed', evidence: 'ticket 7' }, null],
  [BREAK, { action: 'closed' }, /evidence must say/],
  [BREAK, { action: 'closed', evidence: ' ' }, /evidence must say/],
  [BREAK, { action: 'credit', evidence: 'ticket 7' }, /must be close.*holds no money/],
  [BREAK, { action: 'return_to_sender', evidence: 'ticket 7' }, /must be close.*holds no money/],
  [BREAK, { action: 'move_to_unclaimed', evidence: 'ticket 7' }, /must be close.*holds no money/],
  [UNCONFIRMED, { action: 'retry' }, null],
  [UNCONFIRMED, { action: 'closed', evidence: 'ticket 7' }, null],
  [UNCONFIRMED, { action: 'closed' }, /evidence must say/],
  [UNCONFIRMED, { action: 'credit', evidence: 'ticket 7' }, /one of retry, close.*holds no money/],
  [UNCONFIRMED, { action: 'return_to_sender', evidence: 'ticket 7' }, /one of retry, close.*holds no money/],
  [OPEN, { action: 'retry' }, /one of credit, return_to_sender, move_to_unclaimed/],
])('%j and %j', (reviewed, decision, words) => {
  const refusal = refuseDecision(reviewed, { ...SAID, ...decision } as Parameters<typeof refuseDecision>[1]);
  expect(refusal ?? 'allowed').toMatch(words ?? /^allowed$/);
});

test.each([null, 'closed', 7])('%j is no decision', (decision) => {
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
] as const)('after an attempt of which the rail says %s, money may be out: %s', (word, means) => {
  expect(decideAfterAttempt(word)).toBe(means);
});

test('a break asks for attention under its own name, and money under another', () => {
  expect([attentionOf('reconciliation_break'), attentionOf('late_credit')]).toEqual(['reconciliation_break', 'review']);
});

describe('the details tell an operator', () => {
  const input = {
    organisationId: '01890000-0000-7000-8000-000000000000',
    environment: 'test' as const,
    transferId: 'svc_case_rev',
    amount: 5_000,
  };
  const standing: ReviewCaseSnapshot = {
    status: 'open',
    reference: 'svc_case_rev_2',
    attempts: 2,
    failure: 'refused',
    break: null,
  };

  test.each(['late_credit', 'reconciliation_break', 'credit_unconfirmed'])(
    'every choice about a %s, and no other',
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
      const text = describeCase({ ...input, reason }, { ...standing, break: isBreak ? about : null }, false);
      const listed = [...text.matchAll(/^\| (credit|return_to_sender|move_to_unclaimed|close|retry) \|/gm)].map(
        ([, action]) => action,
      );
      expect(listed).toEqual(choicesOf(reason));
    },
  );

  test('why the last attempt to send it back failed, and where the bank’s words are', () => {
    const text = describeCase({ ...input, reason: 'late_credit' }, standing, false);
    expect(text).toContain('Attempt 2 to send it back (reference svc_case_rev_2) failed: the bank refused it');
    expect(text).toContain('npm run cli -- reviews show svc_case_rev');
    expect(text).not.toContain('after all');
  });

  test('that the bank says it was paid after all', () => {
    expect(describeCase({ ...input, reason: 'late_credit' }, standing, true)).toContain(
      'paid svc_case_rev_2 after all',
    );
  });

  test('that a break is no longer seen', () => {
    const gone = {
      ...standing,
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
    expect(describeCase({ ...input, reason: 'reconciliation_break' }, gone, false)).toContain(
      'no longer, since the run of 2026-01-02T01:00:00.000Z',
    );
  });
});
