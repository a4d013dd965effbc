// The rules of parked flows as tables: when a flow parks, what may be asked of it, and when it is done.
import { describe, expect, test } from '@jest/globals';
import { decideAttention, decideResolution, refuseResolution } from '../../src/workflows/attention/decide.ts';

const LIMITS = { railUnreachableMs: 3_600_000, outcomeUnknownMs: 86_400_000, creditUnconfirmedMs: 3_600_000 };

test.each([
  ['an answer within its time', { rail: 'known', unreachableForMs: 0, openForMs: 86_399_999 }, null],
  ['no outcome within a day', { rail: 'known', unreachableForMs: 0, openForMs: 86_400_000 }, 'outcome_unknown'],
  ['a reference unknown for a day', { rail: 'unknown', unreachableForMs: 0, openForMs: 86_400_000 }, 'outcome_unknown'],
  [
    'a rail away for less than the limit',
    { rail: 'unreachable', unreachableForMs: 3_599_999, openForMs: 90_000_000 },
    null,
  ],
  ['a rail away for the limit', { rail: 'unreachable', unreachableForMs: 3_600_000, openForMs: 1 }, 'rail_unreachable'],
  ['a paused rail, however long', { rail: 'paused', unreachableForMs: 9e9, openForMs: 9e9 }, null],
  ['a contradiction, at once', { rail: 'contradiction', unreachableForMs: 0, openForMs: 0 }, 'rail_contradiction'],
] as const)('%s', (_name, waiting, expected) => {
  expect(decideAttention(waiting, LIMITS)).toBe(expected);
});

describe('a resolution', () => {
  const asked = { action: 'retry', reason: 'the bank is back', operator: 'ngozi' } as const;
  test.each([
    ['of a flow that is not parked', null, asked, /not parked/],
    ['that is no object', 'rail_unreachable', null, /one object/],
    ['with an unknown action', 'rail_unreachable', { ...asked, action: 'refund' as never }, /retry, complete, fail/],
    ['with an action of another cause', 'rail_contradiction', { ...asked, action: 'fail' }, /retry, dismiss/],
    ['of a flow that waits for a paused rail', 'rail_paused', asked, /after `rail resume`/],
    ['that decides what the ledger must', 'posting_refused', { ...asked, action: 'complete' }, /one of retry:/],
    ['that decides what the bank must', 'credit_unconfirmed', { ...asked, action: 'complete' }, /retry, set_aside/],
    ['without a reason', 'rail_unreachable', { ...asked, reason: ' ' }, /reason/],
    ['without an operator', 'rail_unreachable', { action: 'retry', reason: 'x' }, /operator/],
  ] as const)('%s is refused in words', (_name, cause, resolution, message) => {
    expect(refuseResolution(cause, resolution)).toMatch(message);
  });

  test('is held to the choices of the flow, where it has its own', () => {
    const choices = { retry: 'ask again' };
    expect(refuseResolution('rail_unreachable', { ...asked, action: 'fail' }, choices)).toMatch(/one of retry:/);
    expect(refuseResolution('rail_unreachable', asked, choices)).toBeNull();
  });

  test('that is complete is allowed', () => {
    expect(refuseResolution('rail_unreachable', asked)).toBeNull();
  });

  const fail = { action: 'fail', reason: 'the bank says so', operator: 'ngozi' } as const;
  test.each([
    ['retry needs one person', null, asked, 'accepted'],
    ['set_aside needs one person', null, { ...asked, action: 'set_aside' }, 'accepted'],
    ['dismiss needs one operator', null, { ...asked, action: 'dismiss' }, 'accepted'],
    ['fail by one person is a proposal', null, fail, 'proposed'],
    ['the same person twice is still a proposal', fail, fail, 'proposed'],
    ['a second person confirms', fail, { ...fail, operator: 'tunde' }, 'accepted'],
    [
      'a second person who asks for something else proposes that',
      fail,
      { ...fail, action: 'complete', operator: 'tunde' },
      'proposed',
    ],
    ['retry overrules a proposal', fail, asked, 'accepted'],
  ] as const)('%s', (_name, proposal, resolution, expected) => {
    expect(decideResolution(proposal, resolution)).toBe(expected);
  });
});
