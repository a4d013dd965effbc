// The rules of a bank transfer as tables: decisions on the rail's status, and when a reference counts as never sent.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  checkPauseMs,
  decideAttention,
  decideStep,
  decideTransfer,
  outcomeOpenMaxMs,
  type RailStatus,
  SENDS_MAX,
  type TransferKnowledge,
  type TransferState,
  waitMs,
} from '../../src/workflows/bankTransfer/decide.ts';

const LIMITS = {
  railUnreachableMs: 3_600_000,
  railNotReadyMs: 7_200_000,
  outcomeUnknownMs: 86_400_000,
  probeMs: 900_000,
  pausedLookMs: 3_600_000,
  notVisibleForMs: 900_000,
};

/** A transfer that was sent, and nothing more is known of it. */
const SENT: Omit<TransferKnowledge, 'rail'> = {
  knowsReference: false,
  isRefused: false,
  sends: 1,
  sinceSendMs: 0,
  checks: 0,
  openForMs: 0,
  foundForMs: 0,
  foundSteps: 0,
  retryAfterMs: 0,
};

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
  const limits = { notVisibleForMs: 5_000, unknownIsFinal: true };
  const notFinal = { ...limits, unknownIsFinal: false };

  test.each([
    [
      'is polled again while what was accepted may be unknown',
      { rail: 'unknown', sends: 1, sinceSendMs: 4_999 },
      'check',
    ],
    ['is sent again after that', { rail: 'unknown', sends: 1, sinceSendMs: 5_000 }, 'send'],
    ['is marked unsent after the last send', { rail: 'unknown', sends: SENDS_MAX, sinceSendMs: 5_000 }, 'mark_unsent'],
    ['is not marked unsent before that', { rail: 'unknown', sends: SENDS_MAX, sinceSendMs: 4_999 }, 'check'],
    ['that was refused is polled first', { rail: 'unknown', sends: 1, isRefused: true, sinceSendMs: 4_999 }, 'check'],
    [
      'that was refused is marked unsent after that, and never sent again',
      { rail: 'unknown', sends: 1, isRefused: true, sinceSendMs: 5_000 },
      'mark_unsent',
    ],
    [
      'is polled again if the rail was unreachable',
      { rail: 'unreachable', sends: 3, sinceSendMs: 90_000_000 },
      'check',
    ],
    ['is polled again while the rail is processing it', { rail: 'known', sends: 1, sinceSendMs: 90_000_000 }, 'check'],
    ['that was never sent is still to be sent', { rail: 'unreachable', sends: 0, sinceSendMs: 9e12 }, 'send'],
  ] as const)('a reference %s', (_name, knowledge, expected) => {
    expect(decideStep('check', { ...SENT, ...knowledge, knowsReference: knowledge.rail === 'known' }, limits)).toBe(
      expected,
    );
  });

  test.each(['send', 'check', 'mark_unsent'] as const)(
    'a step %s that found the rail paused or not ready is repeated',
    (step) => {
      for (const rail of ['paused', 'not_ready'] as const) {
        const known = { ...SENT, rail, sends: SENDS_MAX, sinceSendMs: 90_000_000 };
        expect(decideStep(step, known, limits)).toBe(step);
      }
    },
  );

  test('a reference is sent again for ever where the silence of the rail is never final, unless it was refused', () => {
    const silent = { ...SENT, rail: 'unknown', sinceSendMs: 9e12 } as const;
    for (const sends of [1, SENDS_MAX, 100]) {
      expect(decideStep('check', { ...silent, sends }, notFinal)).toBe('send');
      expect(decideStep('check', { ...silent, sends, isRefused: true }, notFinal)).toBe('mark_unsent');
    }
  });

  test('a reference that the rail has known is neither sent again nor marked unsent, however long it is unknown', () => {
    const lost = { ...SENT, rail: 'unknown', sinceSendMs: 9e12, knowsReference: true } as const;
    for (const step of ['send', 'check', 'mark_unsent'] as const)
      for (const sends of [0, 1, SENDS_MAX]) expect(decideStep(step, { ...lost, sends }, limits)).toBe('check');
  });

  test('such a reference is queried as soon as something may be decided about it', () => {
    const unknown = { ...SENT, rail: 'unknown', checks: 9, sinceSendMs: 4_000 } as const;
    expect(waitMs(unknown, { ...LIMITS, ...limits }, false)).toBe(1_000);
  });
});

test.each([
  ['a rail that has it in progress', { rail: 'known', knowsReference: true }, 86_400_000],
  ['a rail that has never known it', { rail: 'unknown', knowsReference: false }, 86_400_000],
  ['a rail that has known it and no longer does', { rail: 'unknown', knowsReference: true }, 900_000],
  [
    'such a rail that may not show it for long',
    { rail: 'unknown', knowsReference: true, notVisibleForMs: 9e9 },
    86_400_000,
  ],
] as const)('the outcome of a transfer may be open so long at %s', (_name, knowledge, expected) => {
  const limits = { ...LIMITS, ...knowledge };
  expect(outcomeOpenMaxMs(knowledge, limits)).toBe(expected);
});

type Wait = Partial<TransferKnowledge> & { rail: TransferKnowledge['rail']; isParked?: boolean };

test.each([
  ['polls with growing pauses', { rail: 'known', checks: 2 }, 5_000],
  [
    'polls an unreachable rail no later than the limit',
    { rail: 'unreachable', checks: 6, foundForMs: 3_500_000 },
    100_000,
  ],
  ['that is parked probes the rail', { rail: 'unreachable', isParked: true, foundForMs: 9e9 }, 900_000],
  ['looks at a paused rail after a minute', { rail: 'paused', foundSteps: 1, isParked: true }, 60_000],
  ['looks at a paused rail rarely after that', { rail: 'paused', foundSteps: 2, isParked: true }, 3_600_000],
  ['sends soon again what the rail did not accept', { rail: 'not_ready', foundSteps: 1 }, 2_000],
  ['waits as long as the rail wants', { rail: 'not_ready', foundSteps: 1, retryAfterMs: 120_000 }, 120_000],
  ['parks in time', { rail: 'not_ready', foundSteps: 9, foundForMs: 7_199_000 }, 1_000],
  [
    'never sends before the rail wants it, parked or not',
    { rail: 'not_ready', foundSteps: 9, foundForMs: 7_199_000, retryAfterMs: 120_000 },
    120_000,
  ],
  [
    'that is parked waits as long as the rail wants',
    { rail: 'not_ready', isParked: true, retryAfterMs: 1_000_000 },
    1_000_000,
  ],
] satisfies [string, Wait, number][])('a flow %s', (_name, { isParked = false, ...known }: Wait, expected) => {
  expect(waitMs({ ...SENT, ...known }, LIMITS, isParked)).toBe(expected);
});

test('the pauses between status polls grow to 15 minutes', () => {
  const pauses = Array.from({ length: 20 }, (_, check) => checkPauseMs(check));
  expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
  expect(pauses.at(-1)).toBe(900_000);
});

test.each([
  [
    'a known transfer within the limit has no attention cause',
    { rail: 'known', foundForMs: 0, openForMs: 86_399_999 },
    null,
  ],
  [
    'a transfer without an outcome for a day has the cause outcome_unknown',
    { rail: 'known', foundForMs: 0, openForMs: 86_400_000 },
    'outcome_unknown',
  ],
  [
    'a reference unknown for a day has the cause outcome_unknown',
    { rail: 'unknown', foundForMs: 0, openForMs: 86_400_000 },
    'outcome_unknown',
  ],
  [
    'a rail unreachable for less than the limit is no attention cause',
    { rail: 'unreachable', foundForMs: 3_599_999, openForMs: 1 },
    null,
  ],
  [
    'a rail unreachable for the limit has the cause rail_unreachable',
    { rail: 'unreachable', foundForMs: 3_600_000, openForMs: 1 },
    'rail_unreachable',
  ],
  [
    'a transfer without an outcome for a day keeps its cause when a query finds the rail unreachable',
    { rail: 'unreachable', foundForMs: 0, openForMs: 90_000_000 },
    'outcome_unknown',
  ],
  ['a rail paused for any time is only shown', { rail: 'paused', foundForMs: 9e9, openForMs: 9e9 }, 'rail_paused'],
  [
    'a rail that is not ready for less than the limit is no attention cause, whatever else takes long',
    { rail: 'not_ready', foundForMs: 7_199_999, openForMs: 9e9 },
    null,
  ],
  [
    'a rail that is not ready for the limit has the cause rail_not_ready',
    { rail: 'not_ready', foundForMs: 7_200_000, openForMs: 0 },
    'rail_not_ready',
  ],
  [
    'a contradiction has the cause rail_contradiction immediately',
    { rail: 'contradiction', foundForMs: 0, openForMs: 0 },
    'rail_contradiction',
  ],
] as const)('%s', (_name, waiting, expected) => {
  expect(decideAttention({ ...SENT, ...waiting }, LIMITS)).toBe(expected);
});
