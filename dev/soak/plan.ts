// The plan of a soak: the traffic of a chaos run with the same seed, and what happens to a service within days. Workers
// stand still together, so that work piles up; the applications of the second stack are stopped and started; those of
// the first run from beginning to end, so that their memory can be measured; the disk of Postgres is full at times.
import fc from 'fast-check';
import { apart, type Fault, makePlan, ofCustomers, type Plan, type PlanOptions, type Timed } from '../chaos/plan.ts';

const GAP_MS = { min: 4_000, max: 16_000 };
/** A worker that stood still for 150 s once led to breaks that were none. In a short soak it is a share of the run. */
const STILL_MS = { min: 2_000, max: 150_000 };
const STILL_MAX_SHARE = 0.15;
/** Workers then run so many times as long as they stood still: a service must be able to do what has piled up. */
const RUNS_AFTER_STILL = 3;
const API_STILL_MS = { min: 300, max: 6_000 };
const DISK_FULL_MS = { min: 500, max: 3_000 };
/** The end is free of faults, so that what has piled up is done. */
const CALM = { share: 0.25, maxMs: 180_000 };
/** Each choice is a process of the command line, and those of chaos come every few seconds. */
const CHOICES_KEPT_OF = 5;

const freeze = (part: 'api-1' | 'api-2' | 'worker-1' | 'worker-2', forMs: number): Fault => ({
  kind: 'freeze',
  part,
  forMs,
});

const isWorker = (part: string): boolean => part.startsWith('worker-');

export function makeSoakPlan(options: PlanOptions): Plan {
  const { seed, seconds } = options;
  const lengthMs = seconds * 1000;
  const calmMs = lengthMs - Math.min(CALM.maxMs, CALM.share * lengthMs);
  const still = fc.integer({ min: STILL_MS.min, max: Math.min(STILL_MS.max, lengthMs * STILL_MAX_SHARE) });
  const happening: fc.Arbitrary<Fault[]> = fc.oneof(
    { weight: 8, arbitrary: still.map((forMs) => [freeze('worker-1', forMs), freeze('worker-2', forMs)]) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(fc.constantFrom('api-1' as const, 'api-2' as const), fc.integer(API_STILL_MS))
        .map(([part, forMs]) => [freeze(part, forMs)]),
    },
    {
      weight: 6,
      arbitrary: fc
        .constantFrom('api-2' as const, 'worker-2' as const)
        .map((part): Fault[] => [{ kind: 'stop', part }]),
    },
    { weight: 1, arbitrary: fc.integer(DISK_FULL_MS).map((forMs): Fault[] => [{ kind: 'fillDisk', forMs }]) },
  );
  const steps = fc.sample(fc.noBias(fc.tuple(fc.integer(GAP_MS), happening)), {
    seed,
    numRuns: Math.ceil(lengthMs / GAP_MS.min),
  });
  let atMs = 0;
  let stillAgainAtMs = 0;
  const faults: Timed<Fault>[] = steps.flatMap(([gapMs, each]) => {
    atMs += gapMs;
    const stillMs = Math.max(...each.map((what) => (what.kind === 'freeze' && isWorker(what.part) ? what.forMs : 0)));
    if (stillMs > 0 && atMs < stillAgainAtMs) return [];
    if (stillMs > 0) stillAgainAtMs = atMs + (1 + RUNS_AFTER_STILL) * stillMs;
    return each.map((what) => ({ atMs, what }));
  });
  const plan = makePlan(options);
  const clocks = Object.fromEntries(Object.keys(plan.clocks).map((part) => [part, 0])) as Plan['clocks'];
  return {
    ...plan,
    traffic: ofCustomers(plan.traffic),
    clocks,
    faults: apart(faults, calmMs, calmMs),
    choices: plan.choices.filter((_, index) => index % CHOICES_KEPT_OF === 0),
  };
}
