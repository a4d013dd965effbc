// The rules of a bank transfer as tables: what the rail's word makes of it, and when a reference counts as never sent.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  checkPauseMs,
  decideStep,
  decideTransfer,
  type RailStatus,
  SENDS_MAX,
  type TransferState,
} from '../../src/workflows/bankTransfer/decide.ts';

const STATES: TransferState[] = ['processing', 'completed', 'failed', 'returned'];
const WORDS: RailStatus[] = ['processing', 'completed', 'failed', 'returned', 'unknown'];

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
  ['failed', 'completed', 'contradiction'],
  ['failed', 'failed', 'none'],
  ['failed', 'returned', 'none'],
  ['failed', 'processing', 'none'],
  ['failed', 'unknown', 'none'],
  ['returned', 'completed', 'none'],
  ['returned', 'failed', 'none'],
  ['returned', 'returned', 'none'],
  ['returned', 'processing', 'none'],
  ['returned', 'unknown', 'none'],
] as const)('a %s transfer of which the rail says %s: %s', (state, word, expected) => {
  expect(decideTransfer(state, word)).toBe(expected);
});

test('whatever the rail says and in whatever order, money goes back at most once and never after it is paid for good', () => {
  const after = { complete: 'completed', fail: 'failed', return: 'returned' } as const;
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...WORDS), { maxLength: 12 }), (words) => {
      let state: TransferState = 'processing';
      let backs = 0;
      for (const word of words) {
        const decision = decideTransfer(state, word);
        if (decision === 'none' || decision === 'contradiction') continue;
        if (decision !== 'complete') backs += 1;
        expect(STATES).toContain(state);
        state = after[decision];
      }
      expect(backs).toBeLessThanOrEqual(1);
      expect(backs === 1).toBe(state === 'failed' || state === 'returned');
    }),
  );
});

describe('a reference that the rail does not know', () => {
  const known = { unknownIsFinalAfterMs: 5_000 };
  test.each([
    [
      'is asked about again before the waiting time is over',
      { rail: 'unknown', sends: 1, sinceSendMs: 4_999 },
      'check',
    ],
    ['is sent again after it', { rail: 'unknown', sends: 1, sinceSendMs: 5_000 }, 'send'],
    ['is given up after the last send', { rail: 'unknown', sends: SENDS_MAX, sinceSendMs: 5_000 }, 'mark_unsent'],
    ['is not given up early', { rail: 'unknown', sends: SENDS_MAX, sinceSendMs: 4_999 }, 'check'],
    ['is no verdict when the rail did not answer', { rail: 'unreachable', sends: 3, sinceSendMs: 90_000_000 }, 'check'],
    ['is no verdict when the rail has it under way', { rail: 'known', sends: 1, sinceSendMs: 90_000_000 }, 'check'],
  ] as const)('%s', (_name, knowledge, expected) => {
    expect(decideStep({ ...known, ...knowledge })).toBe(expected);
  });
});

test('status queries grow apart, to four an hour', () => {
  const pauses = Array.from({ length: 20 }, (_, check) => checkPauseMs(check));
  expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
  expect(pauses.at(-1)).toBe(900_000);
});
