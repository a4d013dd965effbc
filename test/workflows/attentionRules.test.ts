// The rules of parked flows as tables: when a flow parks, which resolutions are valid, and when one is accepted.
import { describe, expect, test } from '@jest/globals';
import { decideAttention, needsTwo, refuseResolution, scopeOf } from '../../src/workflows/attention/decide.ts';

const LIMITS = {
  railUnreachableMs: 3_600_000,
  railNotReadyMs: 7_200_000,
  outcomeUnknownMs: 86_400_000,
  creditUnconfirmedMs: 3_600_000,
};

test.each([
  [
    'a known transfer within the limit has no attention cause',
    { rail: 'known', unreachableForMs: 0, openForMs: 86_399_999 },
    null,
  ],
  [
    'a transfer without an outcome for a day has the cause outcome_unknown',
    { rail: 'known', unreachableForMs: 0, openForMs: 86_400_000 },
    'outcome_unknown',
  ],
  [
    'a reference unknown for a day has the cause outcome_unknown',
    { rail: 'unknown', unreachableForMs: 0, openForMs: 86_400_000 },
    'outcome_unknown',
  ],
  [
    'a rail unreachable for less than the limit is no attention cause',
    { rail: 'unreachable', unreachableForMs: 3_599_999, openForMs: 1 },
    null,
  ],
  [
    'a rail unreachable for the limit has the cause rail_unreachable',
    { rail: 'unreachable', unreachableForMs: 3_600_000, openForMs: 1 },
    'rail_unreachable',
  ],
  [
    'a transfer without an outcome for a day keeps its cause when a query finds the rail unreachable',
    { rail: 'unreachable', unreachableForMs: 0, openForMs: 90_000_000 },
    'outcome_unknown',
  ],
  [
    'a rail paused for any time is only shown',
    { rail: 'paused', unreachableForMs: 9e9, openForMs: 9e9 },
    'rail_paused',
  ],
  [
    'a rail that is not ready for less than the limit is no attention cause, whatever else takes long',
    { rail: 'not_ready', unreachableForMs: 0, openForMs: 9e9, notReadyForMs: 7_199_999 },
    null,
  ],
  [
    'a rail that is not ready for the limit has the cause rail_not_ready',
    { rail: 'not_ready', unreachableForMs: 0, openForMs: 0, notReadyForMs: 7_200_000 },
    'rail_not_ready',
  ],
  [
    'a contradiction has the cause rail_contradiction immediately',
    { rail: 'contradiction', unreachableForMs: 0, openForMs: 0 },
    'rail_contradiction',
  ],
] as const)('%s', (_name, waiting, expected) => {
  expect(decideAttention({ notReadyForMs: 0, ...waiting }, LIMITS)).toBe(expected);
});

describe('resolutions', () => {
  const retryRequest = { action: 'retry', reason: 'the bank is back', code: 'abcd-efgh-jkmn' } as const;
  test.each([
    ['of a flow that is not parked', null, retryRequest, /not parked/],
    ['that is not an object', 'rail_unreachable', null, /one object/],
    [
      'with an unknown action',
      'rail_unreachable',
      { ...retryRequest, action: 'refund' as never },
      /retry, complete, fail/,
    ],
    [
      'with an action of another cause',
      'rail_contradiction',
      { ...retryRequest, action: 'fail' },
      /retry, return, dismiss/,
    ],
    ['of a flow that waits for a paused rail', 'rail_paused', retryRequest, /after `rail resume`/],
    ['that decides for the ledger', 'posting_refused', { ...retryRequest, action: 'complete' }, /one of retry:/],
    ['that decides for the bank', 'credit_unconfirmed', { ...retryRequest, action: 'complete' }, /retry, set_aside/],
    ['without a reason', 'rail_unreachable', { ...retryRequest, reason: ' ' }, /reason/],
    ['without a code', 'rail_unreachable', { action: 'retry', reason: 'x' }, /operators code WORKFLOW_ID/],
  ] as const)('a resolution %s is refused with the reason', (_name, cause, resolution, message) => {
    expect(refuseResolution(cause, resolution)).toMatch(message);
  });

  test("a resolution is limited to the flow's own choices if it has some", () => {
    const choices = { retry: 'ask again' };
    expect(refuseResolution('rail_unreachable', { ...retryRequest, action: 'fail' }, choices)).toMatch(/one of retry:/);
    expect(refuseResolution('rail_unreachable', retryRequest, choices)).toBeNull();
  });

  test('a complete resolution is allowed', () => {
    expect(refuseResolution('rail_unreachable', retryRequest)).toBeNull();
  });

  test.each([
    ['retry', false, 'support'],
    ['dismiss', false, 'finance'],
    ['set_aside', false, 'finance'],
    ['complete', true, 'finance'],
    ['fail', true, 'finance'],
    ['return', true, 'finance'],
  ] as const)('%s needs two operators: %s, with the scope %s', (action, two, scope) => {
    expect([needsTwo(action), scopeOf(action)]).toEqual([two, scope]);
  });
});
