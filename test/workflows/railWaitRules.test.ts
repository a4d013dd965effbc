// The rules of what waits for the rail beside the other work of a flow, as tables: when it is asked again, when an operator is asked
// for, what may be decided, and what the flow of a payment does next.
import { describe, expect, test } from '@jest/globals';
import { decideNext, type PaymentAgenda } from '../../src/workflows/payment/decide.ts';
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
const AWAY: IncompleteWork = { ...DENIED, id: 'svc_b_inc', rail: 'unreachable' };
const ACCOUNT: IncompleteWork = { ...AWAY, id: 'svc_p_pay', what: 'account', amount: 0 };

/** Asked for in vain with these answers, the first one so long ago, and each time when it was due. */
function waited(answers: readonly IncompleteWork[], since: number): RailWait {
  let wait: RailWait | null = null;
  for (const answer of answers) wait = waitAfter(wait, answer, wait?.nextAt ?? since);
  return wait as RailWait;
}

describe('what was asked for in vain is asked for again', () => {
  test('ever more seldom, and once an hour at last', () => {
    const never = { ...DENIED, limits: { railUnreachableMs: 1e12, creditUnconfirmedMs: 1e12 } };
    const pauses: number[] = [];
    let wait = waitAfter(null, never, NOW);
    for (let count = 0; count < 11; count += 1) {
      const asked = wait.nextAt;
      wait = waitAfter(wait, never, asked);
      pauses.push((wait.nextAt - asked) / SECOND);
    }
    expect(pauses).toEqual([5, 15, 60, 300, 900, 900, 900, 900, 3_600, 3_600, 3_600]);
  });

  test.each([
    ['a credit that is denied', DENIED],
    ['a rail that is away', AWAY],
  ])('at the limit at the latest: %s', (_what, answer) => {
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

describe('an operator is asked for', () => {
  const wait = (change: Partial<RailWait>): RailWait => ({ ...waitAfter(null, DENIED, NOW), ...change });
  test.each([
    ['not before the limit of a denied credit', wait({}), HOUR - 1, null],
    ['at the limit of a denied credit', wait({}), HOUR, 'credit_unconfirmed'],
    ['not for a rail that is away for less', wait({ denied: false, unreachableSince: NOW }), HOUR - 1, null],
    ['at the limit of a rail that is away', wait({ denied: false, unreachableSince: NOW }), HOUR, 'rail_unreachable'],
    ['not for one that has answered meanwhile', wait({ denied: false, unreachableSince: NOW + MINUTE }), HOUR, null],
    [
      'by the denial, where the rail denied it and is away now',
      wait({ unreachableSince: NOW }),
      HOUR,
      'credit_unconfirmed',
    ],
  ] as const)('%s', (_when, waiting, afterMs, cause) => {
    expect(causeOf(waiting, NOW + afterMs)).toBe(cause);
  });

  test('one answer of the rail breaks the time for which it was away', () => {
    const flapping = waited([AWAY, { ...DENIED, id: AWAY.id }, AWAY], NOW);
    expect(flapping).toMatchObject({ denied: true, since: NOW, unreachableSince: NOW + 7 * SECOND, asks: 3 });
  });

  test('after a retry the limits count anew, and it is asked for at once', () => {
    const later = NOW + 2 * HOUR;
    const again = retried(waited([DENIED], NOW), later);
    expect([again.nextAt, causeOf(again, later), causeOf(again, later + HOUR)]).toEqual([
      later,
      null,
      'credit_unconfirmed',
    ]);
  });
});

describe('of several things that wait', () => {
  const [denied, away, account] = [DENIED, AWAY, ACCOUNT].map((one) => waitAfter(null, one, NOW)) as [
    RailWait,
    RailWait,
    RailWait,
  ];
  const fresh = waitAfter(null, { ...DENIED, id: 'svc_c_inc' }, NOW + HOUR);
  const asked = (waits: RailWait[]) => {
    const request = requestOf(waits, NOW + HOUR);
    return request && [request.cause, request.parked.map(({ last }) => last.id), Object.keys(request.choices)];
  };

  test.each([
    ['nothing', [], null],
    ['one before its limit', [fresh], null],
    [
      'a denied credit goes before a rail that is away',
      [away, account, denied, fresh],
      ['credit_unconfirmed', ['svc_a_inc'], ['retry', 'set_aside']],
    ],
    ['a credit cannot be left as it is', [away], ['rail_unreachable', ['svc_b_inc'], ['retry']]],
    [
      'an account can be left open',
      [account, away],
      ['rail_unreachable', ['svc_p_pay', 'svc_b_inc'], ['retry', 'dismiss']],
    ],
  ])('%s', (_what, waits, expected) => {
    expect(asked(waits)).toEqual(expected);
  });

  const later = NOW + HOUR + MINUTE;
  test.each([
    ['retry', [denied, fresh], { due: ['svc_a_inc'], left: ['svc_a_inc', 'svc_c_inc'], setAside: [] }],
    ['set_aside', [denied, fresh], { due: ['svc_a_inc'], left: ['svc_a_inc', 'svc_c_inc'], setAside: ['svc_a_inc'] }],
    ['dismiss', [account, away], { due: ['svc_b_inc'], left: ['svc_b_inc'], setAside: [] }],
  ] as const)('%s is about everything that was parked, and about nothing else', (action, waits, expected) => {
    const request = requestOf(waits, NOW + HOUR);
    const after = afterDecision(waits, { parked: request?.parked ?? [] }, action, later);
    const ids = (some: readonly RailWait[]) => some.map(({ last }) => last.id);
    expect({
      due: ids(after.waits.filter(({ nextAt }) => nextAt === later)),
      left: ids(after.waits),
      setAside: after.setAside,
    }).toEqual(expected);
  });

  test('the details name each of them, what the rail said, and what can be done', () => {
    const request = requestOf(
      [denied, waitAfter(null, { ...DENIED, id: 'svc_d_inc', why: 'differs' }, NOW)],
      NOW + HOUR,
    );
    if (request === null) throw new Error('nothing is asked for');
    const view = requestView(request);
    expect(view.fundsAtRisk).toBe('credit svc_a_inc of 5000 kobo, credit svc_d_inc of 5000 kobo');
    expect(view.lastResponse.words).toBe(
      'it does not know the credit; it reports another amount or account than its callback',
    );
    expect(Object.keys(view.choices ?? {})).toEqual(['retry', 'set_aside']);
    expect(describeWaits([account])).toEqual([
      '- the account number of svc_p_pay, which stays open. Last response: none (unreachable). Next query at 2026-01-01T12:00:02.000Z.',
    ]);
  });
});

describe('the flow of a payment', () => {
  const due = waitAfter(null, DENIED, NOW - MINUTE);
  const notDue = waitAfter(null, DENIED, NOW);
  const account = waitAfter(null, ACCOUNT, NOW - MINUTE);
  const agenda: PaymentAgenda = { isOpen: true, expiresAt: NOW + HOUR, fresh: [], waits: [] };
  const ended = { isOpen: false };
  const over = { expiresAt: NOW };
  test.each([
    ['waits for money until the end of its window', {}, { do: 'wait', until: NOW + HOUR }],
    [
      'places a fresh credit first',
      { fresh: ['x', 'y'], waits: [due], ...over },
      { do: 'place', inboundCreditId: 'x' },
    ],
    ['expires though a credit is not confirmed', { waits: [due], ...over }, { do: 'expire' }],
    ['asks again for a credit that is due', { waits: [notDue, due] }, { do: 'place', inboundCreditId: 'svc_a_inc' }],
    ['wakes for the question that comes before the end', { waits: [notDue] }, { do: 'wait', until: NOW + 2 * SECOND }],
    [
      'does not expire once it has ended',
      { ...ended, ...over, waits: [notDue] },
      { do: 'wait', until: NOW + 2 * SECOND },
    ],
    ['closes an account that is due', { ...ended, waits: [account] }, { do: 'closeAccount' }],
    ['places what comes after its end', { ...ended, fresh: ['x'] }, { do: 'place', inboundCreditId: 'x' }],
    ['ends when nothing is left', ended, { do: 'end' }],
  ])('%s', (_what, change, expected) => {
    expect(decideNext({ ...agenda, ...change }, NOW)).toEqual(expected);
  });
});
