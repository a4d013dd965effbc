// The rules of parked flows as tables: which resolutions are valid, and when one is accepted.
import { describe, expect, test } from '@jest/globals';
import { refuseResolution } from '../../src/workflows/attention/decide.ts';

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
    [
      'that decides for the ledger',
      'posting_refused',
      { ...retryRequest, action: 'complete' },
      /action must be retry:/,
    ],
    ['that decides for the bank', 'credit_unconfirmed', { ...retryRequest, action: 'complete' }, /retry, set_aside/],
    ['without a reason', 'rail_unreachable', { ...retryRequest, reason: ' ' }, /reason/],
    ['without a code', 'rail_unreachable', { action: 'retry', reason: 'x' }, /operators code WORKFLOW_ID/],
  ] as const)('a resolution %s is refused with the reason', (_name, cause, resolution, message) => {
    expect(refuseResolution(cause, resolution)).toMatch(message);
  });

  test("a resolution is limited to the flow's own choices if it has some", () => {
    const choices = { retry: 'ask again' };
    expect(refuseResolution('rail_unreachable', { ...retryRequest, action: 'fail' }, choices)).toMatch(
      /action must be retry:/,
    );
    expect(refuseResolution('rail_unreachable', retryRequest, choices)).toBeNull();
  });

  test('a complete resolution is allowed', () => {
    expect(refuseResolution('rail_unreachable', retryRequest)).toBeNull();
  });
});
