// The plan of a chaos run is a pure function of its seed, and its faults leave the stack a chance.
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import '../ledger/seed.ts';
import { isSudden, LINKS, makePlan, occupiesMs, PARTS, type Plan, targetOf } from '../../dev/chaos/plan.ts';

const options = fc.record({
  seed: fc.integer({ min: 1, max: 2 ** 31 }),
  seconds: fc.integer({ min: 1, max: 120 }),
  perSecond: fc.integer({ min: 1, max: 20 }),
});

const plansOf = (count: number): Plan[] =>
  Array.from({ length: count }, (_, index) => makePlan({ seed: index + 1, seconds: 60, perSecond: 8 }));

test('the same seed makes the same plan', () => {
  fc.assert(
    fc.property(options, (one) => {
      expect(makePlan(one)).toEqual(makePlan(one));
    }),
    { numRuns: 20 },
  );
});

test('different seeds make different plans', () => {
  const plans = plansOf(10).map(({ traffic, faults, choices }) => JSON.stringify({ traffic, faults, choices }));
  expect(new Set(plans).size).toBe(plans.length);
});

test('the plan of a longer run begins like that of a shorter one, with as many commands a second as asked for', () => {
  const [short, long] = [30, 60].map((seconds) => makePlan({ seed: 7, seconds, perSecond: 8 })) as [Plan, Plan];
  expect(long.traffic).toHaveLength(480);
  expect(long.traffic.slice(0, short.traffic.length)).toEqual(short.traffic);
});

test('two faults of one target do not overlap, and all have healed when the run ends', () => {
  fc.assert(
    fc.property(options, (one) => {
      const freeAt = new Map<string, number>();
      for (const { atMs, what } of makePlan(one).faults) {
        expect(atMs).toBeGreaterThanOrEqual(freeAt.get(targetOf(what)) ?? 0);
        freeAt.set(targetOf(what), atMs + occupiesMs(what));
        const endsAt = isSudden(what) ? atMs : atMs + what.forMs;
        expect(endsAt).toBeLessThanOrEqual(one.seconds * 1000);
      }
    }),
    { numRuns: 50 },
  );
});

test('no part is killed more than four times within a minute', () => {
  for (const { faults } of plansOf(50)) {
    for (const part of PARTS) {
      expect(faults.filter(({ what }) => what.kind === 'kill' && what.part === part).length).toBeLessThan(5);
    }
  }
});

test('in every run a wallet is frozen and income is swept', () => {
  for (const { choices } of plansOf(10)) {
    expect(choices.map(({ what }) => what.do)).toEqual(expect.arrayContaining(['freezeWallet', 'sweepFees']));
  }
});

test('at most one of the two stacks has wrong clocks', () => {
  for (const { clocks } of plansOf(50)) {
    const isOff = (stack: 1 | 2) => clocks[`api-${stack}`] !== 0 || clocks[`worker-${stack}`] !== 0;
    expect(isOff(1) && isOff(2)).toBe(false);
  }
});

test('fifty seeds contain every fault of every part and link, wrong clocks, every command and every choice', () => {
  const plans = plansOf(50);
  const faults = plans.flatMap((plan) => plan.faults.map(({ what }) => what));
  const kinds = new Set(faults.map((one) => `${one.kind} ${'how' in one ? one.how : ''} ${targetOf(one)}`));
  const expected = [
    ...PARTS.flatMap((part) => [`kill  ${part}`, `freeze  ${part}`]),
    ...LINKS.flatMap((link) => [`cut refuse ${link}`, `cut swallow ${link}`]),
    'fillDisk  postgres',
    'receiver fail receiver',
    'receiver hang receiver',
  ];
  expect(expected.filter((kind) => !kinds.has(kind))).toEqual([]);
  for (const part of ['api-1', 'api-2', 'worker-1', 'worker-2'] as const) {
    expect(new Set(plans.map(({ clocks }) => clocks[part]))).toEqual(new Set([0, 300_000, -300_000]));
  }
  expect(new Set(plans.flatMap(({ traffic }) => traffic.map(({ what }) => what.do)))).toEqual(
    new Set([
      'openWallet',
      'deposit',
      'depositToUnknownAccount',
      'payment',
      'transfer',
      'pay',
      'withdraw',
      'refund',
      'payout',
      'endTransfer',
      'review',
      'recall',
      'bankLine',
      'fund',
      'withdrawOwn',
    ]),
  );
  expect(new Set(plans.flatMap(({ choices }) => choices.map(({ what }) => what.do)))).toEqual(
    new Set(['freezeWallet', 'resolveReview', 'retryParked', 'pauseRail', 'sweepFees']),
  );
});
