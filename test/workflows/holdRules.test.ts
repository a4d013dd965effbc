// The rules of holds as tables: how much is released, which decisions are refused and with which message, and what
// operators read while a hold waits.
import { expect, test } from '@jest/globals';
import { decideRelease, describeRefusal, refuseDecision } from '../../src/workflows/hold/decide.ts';
import { describeHold } from '../../src/workflows/hold/details.ts';
import type { HoldSnapshot } from '../../src/workflows/hold/messages.ts';

test.each([
  ['held', 1_000, undefined, { kind: 'release', amount: 1_000 }],
  ['held', 1_000, 1, { kind: 'release', amount: 1 }],
  ['held', 1_000, 1_000, { kind: 'release', amount: 1_000 }],
  ['held', 1_000, 1_001, { kind: 'too_much', amountHeld: 1_000 }],
  ['released', 0, undefined, { kind: 'ended' }],
  ['cancelled', 0, 1, { kind: 'ended' }],
])('of a hold that is %s with %d, %s is asked for', (status, amountHeld, asked, decision) => {
  expect(decideRelease({ status, amountHeld }, asked)).toEqual(decision);
});

test.each([
  [true, { action: 'release', reason: 'arrived', code: 'x' }, null],
  [true, { action: 'cancel', reason: 'lost', code: 'x' }, null],
  [true, { action: 'retry', reason: 'x', code: 'x' }, expect.stringMatching(/action must be one of release, cancel/)],
  [true, { action: 'release', reason: ' ', code: 'x' }, expect.stringMatching(/reason must say why/)],
  [true, { action: 'release', reason: 'x' }, expect.stringMatching(/code must say who decides/)],
  [true, null, expect.stringMatching(/Send one object/)],
  [false, { action: 'release', reason: 'x', code: 'x' }, expect.stringMatching(/Nothing is held any more/)],
])('open %s: the decision %j', (isOpen, decision, refusal) => {
  expect(refuseDecision(isOpen, decision as never)).toEqual(refusal);
});

const HOLD = { organisationId: 'o', environment: 'test', holdId: 'h', walletId: 'svc_wlt', amount: 5_000 } as const;
const HELD: HoldSnapshot = { status: 'held', amountHeld: 5_000, releaseAt: null, waitMs: null, refusal: null };
const AT = '2026-12-01T09:00:00.000Z';

test.each([
  [{}, 'is held for svc_wlt, until a request releases it'],
  [{ releaseAt: AT, waitMs: 1 }, `is held for svc_wlt, until ${AT}`],
  [
    { releaseAt: AT, waitMs: 1, refusal: 'WALLET_FROZEN' },
    `is held for svc_wlt and is due since ${AT}. The wallet refused it: WALLET_FROZEN`,
  ],
])('operators read what a hold waits for: %j', (change, text) => {
  const details = describeHold(HOLD, { ...HELD, ...change });
  expect(details).toContain(`\u20a650.00 ${text}`);
  expect(details).toContain('| release | release all that is held to the wallet now |');
});

test('a refusal says what to do', () => {
  expect(describeRefusal('WALLET_FROZEN')).toMatch(
    /refused it: WALLET_FROZEN\. Remove the cause .* or cancel the hold/,
  );
});
