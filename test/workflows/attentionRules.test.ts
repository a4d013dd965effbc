// The rules of parked flows as tables: which resolutions are valid, and when one is accepted.
import { describe, expect, test } from '@jest/globals';
import { newUuid } from '../../src/ids.ts';
import { CHOICES, refuseResolution } from '../../src/workflows/attention/decide.ts';
import type { TransferState } from '../../src/workflows/bankTransfer/decide.ts';
import { parkedView } from '../../src/workflows/bankTransfer/details.ts';

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

describe('a parked transfer', () => {
  const input = { organisationId: newUuid(), environment: 'live', transferId: 'svc_1_wth', amount: 5_000 } as const;
  const NEW = { sends: 0, knowsReference: false };
  const view = (cause: Parameters<typeof parkedView>[1], sends: number, status: TransferState) =>
    parkedView(input, cause, { sends, knowsReference: false }, { status });

  test('that was not sent is at no risk', () => {
    for (const cause of ['rail_not_ready', 'rail_unreachable'] as const)
      expect(view(cause, 0, 'processing').fundsAtRisk).toMatch(/^none: /);
    expect(view('rail_not_ready', 0, 'processing').choices).toBeUndefined();
  });

  test('that was sent may be paid, whatever the rail refuses now: it is completed or failed', () => {
    for (const cause of ['rail_not_ready', 'rail_contradiction', 'outcome_unknown'] as const) {
      const { choices, fundsAtRisk, summary } = view(cause, 1, 'processing');
      expect(choices).toBe(CHOICES.rail_unreachable);
      expect(fundsAtRisk).not.toMatch(/^none/);
      expect(summary).not.toMatch(/Nothing was paid out/);
    }
    const sends = { count: 1, sinceMs: 0, isKnown: false, isRefused: false };
    const notReady = { why: 'rate_limited', retryAfterMs: null } as const;
    const found = { status: 'processing', sends, notReady } as const;
    const { choices, summary, lastResponse } = parkedView(input, 'rail_not_ready', { ...NEW }, found);
    expect(choices).toBe(CHOICES.rail_unreachable);
    expect(summary).toMatch(/^It is unknown .* no more requests .* RAIL_ACTIVITIES_PER_SECOND/);
    expect(lastResponse.text).toBe('not accepted (rate_limited)');
  });

  test.each([
    ['completed', ['retry', 'return', 'dismiss']],
    ['failed', ['retry', 'dismiss']],
    ['returned', ['retry', 'dismiss']],
  ] as const)('that has %s has the choices of its state, whatever hides the next one: %j', (status, choices) => {
    for (const cause of ['rail_contradiction', 'rail_unreachable', 'rail_not_ready', 'outcome_unknown'] as const)
      expect(Object.keys(view(cause, 1, status).choices ?? {})).toEqual(choices);
  });
});
