// The plan of a soak is a pure function of its seed. Workers stand still together; the first stack is never stopped.
import { expect, test } from '@jest/globals';
import { type Fault, targetOf } from '../../dev/chaos/plan.ts';
import { makeSoakPlan } from '../../dev/soak/plan.ts';

const MINUTES = 60;
const planOf = (seed: number, minutes: number) => makeSoakPlan({ seed, seconds: minutes * 60, perSecond: 1 });
const faultsOf = (seed: number): Fault[] => planOf(seed, MINUTES).faults.map(({ what }) => what);

test('the same seed makes the same plan, with right clocks', () => {
  expect(planOf(7, 5)).toEqual(planOf(7, 5));
  expect(Object.values(planOf(7, 5).clocks)).toEqual([0, 0, 0, 0]);
});

test('in an hour both workers stand still together for more than a minute, and everything else happens', () => {
  for (const seed of [1, 2, 3]) {
    const { faults } = planOf(seed, MINUTES);
    const isStill = (part: string, at: number): boolean =>
      faults.some(
        ({ atMs, what }) => what.kind === 'freeze' && what.part === part && atMs === at && what.forMs > 60_000,
      );
    expect(faults.some(({ atMs }) => isStill('worker-1', atMs) && isStill('worker-2', atMs))).toBe(true);
    const kinds = new Set(faultsOf(seed).map((fault) => `${fault.kind} ${targetOf(fault)}`));
    const expected = ['freeze api-1', 'freeze api-2', 'stop api-2', 'stop worker-2', 'fillDisk postgres'];
    expect(expected.filter((kind) => !kinds.has(kind))).toEqual([]);
  }
});

test('workers stand still for a quarter of the time at most, so that what piles up can be done', () => {
  for (const seed of [1, 2, 3]) {
    const still = planOf(seed, MINUTES).faults.map(({ what }) =>
      what.kind === 'freeze' && what.part === 'worker-1' ? what.forMs : 0,
    );
    expect(still.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual((MINUTES * 60_000) / 4);
  }
});

test('the processes whose memory is measured are neither stopped nor killed', () => {
  for (const seed of [1, 2, 3]) {
    const ended = faultsOf(seed).filter(({ kind }) => kind === 'stop' || kind === 'kill');
    expect(ended.map(targetOf).filter((part) => part.endsWith('1'))).toEqual([]);
  }
});
