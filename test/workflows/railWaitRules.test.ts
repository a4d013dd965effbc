// The rules of work that waits for the rail, as tables: when the rail is asked again, when an operator is needed, which
// resolutions are valid, and what the flow of a payment does next.
import { describe, expect, test } from '@jest/globals';
import { decideNext, type PaymentFlowState } from '../../src/workflows/payment/decide.ts';
import {
  afterDecision,
  causeOf,
  type IncompleteWork,
  type RailWait,
  requestOf,
  retried,
  waitAfter,
} from '../../src/workflows/railWait/decide.ts';
import { describeWaits, requestView } from '../../src/workflows/railWait/details.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOW = Date.parse('2026-01-01T12:00:00Z');

const DENIED: IncompleteWork = {
  id: 'svc_a_inc',
  what: 'credit',
  rail: 'unconfirmed',
  why: 'not_known',
  amount: 5_000,
  limits: { railUnreachableMs: HOUR, creditUnconfirmedMs: HOUR },
};
const UNREACHABLE: IncompleteWork = { ...DENIED, id: 'svc_b_inc', rail: 'unreachable' };
const ACCOUNT: IncompleteWork = { ...UNREACHABLE, id: 'svc_p_pay', what: 'account', amount: 0 };

/** The wait after these results, the first one at `since`, and each further one when it was due. */
function waitOf(answers: readonly IncompleteWork[], since: number): RailWait {
  let wait: RailWait | null = null;
  for (const answer of answers) wait = waitAfter(wait, answer, wait?.nextAt ?? since);
  return wait as RailWait;
}

describe('retries of incomplete work', () => {
  test('the pauses between retries grow to one hour', () => {
    const never = { ...DENIED, limits: { railUnreachableMs: 1e12, creditUnconfirmedMs: 1e12 } };
    const pauses: number[] = [];
    let wait = waitAfter(null, never, NOW);
    for (let count = 0; count < 11; count += 1) {
      const askedAt = wait.nextAt;
      wait = waitAfter(wait, never, askedAt);
      pauses.push((wait.nextAt - askedAt) / SECOND);
    }
    expect(pauses).toEqual([5, 15, 60, 300, 900, 900, 900, 900, 3_600, 3_600, 3_600]);
  });

  test.each([
    ['a credit that the rail denies', DENIED],
    ['a rail that is unreachable', UNREACHABLE],
  ])('the last retry before the attention limit is exactly at the limit for %s', (_what, answer) => {
    const times: number[] = [];
    let wait = waitAfter(null, answer, NOW);
    while (causeOf(wait, wait.nextAt) === null) {
      times.push(wait.nextAt);
      wait = waitAfter(wait, answer, wait.nextAt);
    }
    expect(wait.nextAt).toBe(NOW + HOUR);
    expect(times.length).toBeGreaterThan(3);
  });
});

describe('attention causes of waiting work', () => {
  const wait = (change: Partial<RailWait>): RailWait => ({ ...waitAfter(null, DENIED, NOW), ...change });
  const silentSince = (unreachableSince: number) => wait({ denied: false, unreachableSince });
  test.each([
    ['a credit denied for less than the limit', wait({}), HOUR - 1, null],
    ['a credit denied for the limit', wait({}), HOUR, 'credit_unconfirmed'],
    ['a rail unreachable for less than the limit', silentSince(NOW), HOUR - 1, null],
    ['a rail unreachable for the limit', silentSince(NOW), HOUR, 'rail_unreachable'],
    ['a rail that has responded meanwhile', silentSince(NOW + MINUTE), HOUR, null],
    ['a denied credit whose rail is unreachable now', wait({ unreachableSince: NOW }), HOUR, 'credit_unconfirmed'],
  ] as const)('the cause of %s', (_what, waiting, afterMs, cause) => {
    expect(causeOf(waiting, NOW + afterMs)).toBe(cause);
  });

  test('a response of the rail restarts the time for which it counts as unreachable', () => {
    const flapping = waitOf([UNREACHABLE, { ...DENIED, id: UNREACHABLE.id }, UNREACHABLE], NOW);
    expect(flapping).toMatchObject({ denied: true, since: NOW, unreachableSince: NOW + 7 * SECOND, queries: 3 });
  });

  test('a retry restarts the limits, and the work is due immediately', () => {
    const later = NOW + 2 * HOUR;
    const again = retried(waitOf([DENIED], NOW), later);
    expect([again.nextAt, causeOf(again, later), causeOf(again, later + HOUR)]).toEqual([
      later,
      null,
      'credit_unconfirmed',
    ]);
  });
});

describe('several pieces of waiting work', () => {
  const [denied, unreachable, account] = [DENIED, UNREACHABLE, ACCOUNT].map((one) => waitAfter(null, one, NOW)) as [
    RailWait,
    RailWait,
    RailWait,
  ];
  const fresh = waitAfter(null, { ...DENIED, id: 'svc_c_inc' }, NOW + HOUR);
  const summaryOf = (waits: RailWait[]) => {
    const request = requestOf(waits, NOW + HOUR);
    return request && [request.cause, request.parked.map(({ last }) => last.id), Object.keys(request.choices)];
  };

  test.each([
    ['no waiting work requests no attention', [], null],
    ['work before its limit requests no attention', [fresh], null],
    [
      'a denied credit takes precedence over an unreachable rail',
      [unreachable, account, denied, fresh],
      ['credit_unconfirmed', ['svc_a_inc'], ['retry', 'set_aside']],
    ],
    [
      'a credit on an unreachable rail cannot be dismissed',
      [unreachable],
      ['rail_unreachable', ['svc_b_inc'], ['retry']],
    ],
    [
      'an account on an unreachable rail can be dismissed',
      [account, unreachable],
      ['rail_unreachable', ['svc_p_pay', 'svc_b_inc'], ['retry', 'dismiss']],
    ],
  ])('%s', (_what, waits, expected) => {
    expect(summaryOf(waits)).toEqual(expected);
  });

  const later = NOW + HOUR + MINUTE;
  test.each([
    ['retry', [denied, fresh], { due: ['svc_a_inc'], left: ['svc_a_inc', 'svc_c_inc'], setAside: [] }],
    ['set_aside', [denied, fresh], { due: ['svc_a_inc'], left: ['svc_a_inc', 'svc_c_inc'], setAside: ['svc_a_inc'] }],
    ['dismiss', [account, unreachable], { due: ['svc_b_inc'], left: ['svc_b_inc'], setAside: [] }],
  ] as const)('%s applies to all parked work and to nothing else', (action, waits, expected) => {
    const request = requestOf(waits, NOW + HOUR);
    const after = afterDecision(waits, { parked: request?.parked ?? [] }, action, later);
    const ids = (some: readonly RailWait[]) => some.map(({ last }) => last.id);
    expect({
      due: ids(after.waits.filter(({ nextAt }) => nextAt === later)),
      left: ids(after.waits),
      setAside: after.setAside,
    }).toEqual(expected);
  });

  test("the details list each parked work, the rail's responses, and the choices", () => {
    const request = requestOf(
      [denied, waitAfter(null, { ...DENIED, id: 'svc_d_inc', why: 'failed' }, NOW)],
      NOW + HOUR,
    );
    if (request === null) throw new Error('nothing is asked for');
    const view = requestView(request);
    expect(view.fundsAtRisk).toBe('credit svc_a_inc of ₦50.00, credit svc_d_inc of ₦50.00');
    expect(view.lastResponse.text).toBe('it does not know the credit; it says that the credit never arrived');
    expect(Object.keys(view.choices ?? {})).toEqual(['retry', 'set_aside']);
    expect(describeWaits([account])).toEqual([
      '- the account number of svc_p_pay, which stays open. Last response: none (unreachable). Next query at 2026-01-01T12:00:02.000Z.',
    ]);
  });
});

describe('the next action of a payment flow', () => {
  const due = waitAfter(null, DENIED, NOW - MINUTE);
  const notDue = waitAfter(null, DENIED, NOW);
  const overdue = waitAfter(null, DENIED, NOW - HOUR);
  const account = waitAfter(null, ACCOUNT, NOW - MINUTE);
  const agenda: PaymentFlowState = {
    isOpen: true,
    isCancelled: false,
    expiresAt: NOW + HOUR,
    fresh: [],
    waits: [],
  };
  const ended = { isOpen: false };
  const over = { expiresAt: NOW };
  const until = (at: number) => ({ do: 'wait', until: at });
  const apply = (inboundCreditId: string) => ({ do: 'applyCredit', inboundCreditId });
  test.each([
    ['waits for credits until its expiry', {}, until(NOW + HOUR)],
    ['applies a new credit first', { fresh: ['x', 'y'], waits: [due], ...over }, apply('x')],
    ['asks about an unconfirmed credit before it expires', { waits: [due], ...over }, apply('svc_a_inc')],
    ['waits after its expiry for an unconfirmed credit', { waits: [notDue], ...over }, until(NOW + 2 * SECOND)],
    ['expires when an unconfirmed credit needs an operator', { waits: [overdue], ...over }, { do: 'expire' }],
    ['expires although its account waits to be closed', { waits: [account], ...over }, { do: 'expire' }],
    ['retries a credit that is due', { waits: [notDue, due] }, apply('svc_a_inc')],
    ['waits for a retry that is due before its expiry', { waits: [notDue] }, until(NOW + 2 * SECOND)],
    ['does not expire after it has ended', { ...ended, ...over, waits: [notDue] }, until(NOW + 2 * SECOND)],
    ['closes an account that is due', { ...ended, waits: [account] }, { do: 'closeAccount' }],
    ['applies a credit that arrives after its end', { ...ended, fresh: ['x'] }, apply('x')],
    ['closes the account after its cancellation', { ...ended, isCancelled: true }, { do: 'closeAccount' }],
    ['ends when no work remains', ended, { do: 'end' }],
  ])('a payment flow %s', (_what, change, expected) => {
    expect(decideNext({ ...agenda, ...change }, NOW)).toEqual(expected);
  });
});
