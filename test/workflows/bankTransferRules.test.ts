// The rules of a bank transfer as tables: decisions on the rail's status, and when a reference counts as never sent.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  checkPauseMs,
  decideStep,
  decideTransfer,
  outcomeOpenMaxMs,
  type RailStatus,
  SENDS_MAX,
  type TransferState,
  waitMs,
} from '../../src/workflows/bankTransfer/decide.ts';

const STATES: TransferState[] = ['processing', 'completed', 'failed', 'returned'];
const STATUSES: RailStatus[] = ['processing', 'completed', 'failed', 'returned', 'unknown'];

test.each([
  ['processing', 'processing', 'none'],
  ['processing', 'unknown', 'none'],
  ['processing', 'completed', 'complete'],
  ['processing', 'failed', 'fail'],
  ['processing', 'returned', 'return'],
  ['completed', 'completed', 'none'],
  ['completed', 'processing', 'none'],
  ['completed', 'returned', 'return'],
  ['completed', 'failed', 'contradiction'],
  ['completed', 'unknown', 'contradiction'],
  ['failed', 'completed', 'claw_back'],
  ['failed', 'failed', 'none'],
  ['failed', 'returned', 'none'],
  ['failed', 'processing', 'none'],
  ['failed', 'unknown', 'none'],
  ['returned', 'completed', 'none'],
  ['returned', 'failed', 'none'],
  ['returned', 'returned', 'none'],
  ['returned', 'processing', 'none'],
  ['returned', 'unknown', 'none'],
] as const)('the decision for a %s transfer with the rail status %s is %s', (state, status, expected) => {
  expect(decideTransfer(state, status)).toBe(expected);
});

test('for random sequences of rail statuses, money is back exactly if the final state is failed or returned, and clawed back at most once', () => {
  const after = { complete: 'completed', fail: 'failed', return: 'returned', claw_back: 'completed' } as const;
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...STATUSES), { maxLength: 12 }), (statuses) => {
      let state: TransferState = 'processing';
      let backs = 0;
      let clawbacks = 0;
      for (const status of statuses) {
        const decision = decideTransfer(state, status);
        if (decision === 'none' || decision === 'contradiction') continue;
        if (decision === 'claw_back') clawbacks += 1;
        else if (decision !== 'complete') backs += 1;
        expect(STATES).toContain(state);
        state = after[decision];
      }
      expect(clawbacks).toBeLessThanOrEqual(1);
      expect(backs - clawbacks).toBe(state === 'failed' || state === 'returned' ? 1 : 0);
    }),
  );
});

describe('references that the rail does not know', () => {
  const known = { unknownIsFinalAfterMs: 5_000, knowsReference: false };
  test.each([
    ['is polled again before its unknown status is final', { rail: 'unknown', sends: 1, sinceSendMs: 4_999 }, 'check'],
    ['is sent again after its unknown status became final', { rail: 'unknown', sends: 1, sinceSendMs: 5_000 }, 'send'],
    ['is marked unsent after the last send', { rail: 'unknown', sends: SENDS_MAX, sinceSendMs: 5_000 }, 'mark_unsent'],
    [
      'is not marked unsent before its unknown status is final',
      { rail: 'unknown', sends: SENDS_MAX, sinceSendMs: 4_999 },
      'check',
    ],
    [
      'is polled again if the rail was unreachable',
      { rail: 'unreachable', sends: 3, sinceSendMs: 90_000_000 },
      'check',
    ],
    ['is polled again while the rail is processing it', { rail: 'known', sends: 1, sinceSendMs: 90_000_000 }, 'check'],
  ] as const)('a reference %s', (_name, knowledge, expected) => {
    expect(decideStep('check', { ...known, ...knowledge })).toBe(expected);
  });

  test.each(['send', 'check', 'mark_unsent'] as const)(
    'a step %s that found the rail paused or not ready is repeated',
    (step) => {
      for (const rail of ['paused', 'not_ready'] as const) {
        expect(decideStep(step, { ...known, rail, sends: SENDS_MAX, sinceSendMs: 90_000_000 })).toBe(step);
      }
    },
  );

  test('a reference is polled for ever where the silence of the rail is never final', () => {
    const silent = { ...known, rail: 'unknown', sinceSendMs: 9e12, unknownIsFinalAfterMs: null } as const;
    for (const sends of [1, SENDS_MAX]) expect(decideStep('check', { ...silent, sends })).toBe('check');
  });

  test('a reference that the rail has known is neither sent again nor marked unsent, however long it is unknown', () => {
    const lost = { ...known, rail: 'unknown', sinceSendMs: 9e12, knowsReference: true } as const;
    for (const step of ['send', 'check', 'mark_unsent'] as const)
      for (const sends of [0, 1, SENDS_MAX]) expect(decideStep(step, { ...lost, sends })).toBe('check');
  });
});

test.each([
  ['a rail that has it in progress', { rail: 'known', knowsReference: true }, 86_400_000],
  ['a rail that has never known it', { rail: 'unknown', knowsReference: false }, 86_400_000],
  ['a rail that has known it and no longer does', { rail: 'unknown', knowsReference: true }, 900_000],
  [
    'such a rail whose silence is never final',
    { rail: 'unknown', knowsReference: true, unknownIsFinalAfterMs: null },
    86_400_000,
  ],
  [
    'such a rail whose silence is final late',
    { rail: 'unknown', knowsReference: true, unknownIsFinalAfterMs: 9e9 },
    86_400_000,
  ],
] as const)('the outcome of a transfer may be open so long at %s', (_name, knowledge, expected) => {
  const limits = { outcomeUnknownMs: 86_400_000, unknownIsFinalAfterMs: 900_000, ...knowledge };
  expect(outcomeOpenMaxMs(knowledge, limits)).toBe(expected);
});

test.each([
  ['polls with growing pauses', { rail: 'known', checks: 2 }, 5_000],
  [
    'polls an unreachable rail no later than the limit',
    { rail: 'unreachable', checks: 6, unreachableForMs: 3_500_000 },
    100_000,
  ],
  ['that is parked probes the rail', { rail: 'unreachable', isParked: true, unreachableForMs: 9e9 }, 900_000],
  ['looks at a paused rail after a minute', { rail: 'paused', pausedChecks: 1, isParked: true }, 60_000],
  ['looks at a paused rail rarely after that', { rail: 'paused', pausedChecks: 2, isParked: true }, 3_600_000],
  ['sends soon again what the rail did not accept', { rail: 'not_ready', notReadyAttempts: 1 }, 2_000],
  ['waits as long as the rail wants', { rail: 'not_ready', notReadyAttempts: 1, retryAfterMs: 120_000 }, 120_000],
  ['parks in time', { rail: 'not_ready', notReadyAttempts: 9, notReadyForMs: 7_199_000 }, 1_000],
  [
    'never sends before the rail wants it, parked or not',
    { rail: 'not_ready', notReadyAttempts: 9, notReadyForMs: 7_199_000, retryAfterMs: 120_000 },
    120_000,
  ],
  [
    'that is parked waits as long as the rail wants',
    { rail: 'not_ready', isParked: true, retryAfterMs: 1_000_000 },
    1_000_000,
  ],
] as const)('a flow %s', (_name, wait, expected) => {
  const limits = {
    railUnreachableMs: 3_600_000,
    railNotReadyMs: 7_200_000,
    outcomeUnknownMs: 86_400_000,
    probeMs: 900_000,
    pausedLookMs: 3_600_000,
  };
  const idle = {
    isParked: false,
    checks: 0,
    pausedChecks: 0,
    unreachableForMs: 0,
    notReadyAttempts: 0,
    notReadyForMs: 0,
  };
  expect(waitMs({ ...idle, ...wait }, limits)).toBe(expected);
});

test('the pauses between status polls grow to 15 minutes', () => {
  const pauses = Array.from({ length: 20 }, (_, check) => checkPauseMs(check));
  expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
  expect(pauses.at(-1)).toBe(900_000);
});
