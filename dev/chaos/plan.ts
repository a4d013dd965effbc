// The plan of a chaos run as data: what callers, operators and the bank do, what breaks, and when. A pure function of
// the seed and the length, so that a run can be repeated.
import fc from 'fast-check';
import type { Destination } from './requests.ts';
import { type Command, command, destination } from './workload.ts';

/** Two stacks on one database and one Temporal server: `api-1` and `worker-1`, `api-2` and `worker-2`. */
export const APPLICATIONS = ['api-1', 'api-2', 'worker-1', 'worker-2'] as const;
export type Application = (typeof APPLICATIONS)[number];

export const isWorker = (part: Application): part is 'worker-1' | 'worker-2' => part.startsWith('worker');

export const PARTS = [...APPLICATIONS, 'postgres', 'temporal'] as const;
export type Part = (typeof PARTS)[number];

/** The network connections that can be cut. */
export const LINKS = [
  'callers to api-1',
  'callers to api-2',
  'bank to api-1',
  'bank to api-2',
  'api-1 to postgres',
  'api-2 to postgres',
  'worker-1 to postgres',
  'worker-2 to postgres',
  'worker-1 to temporal',
  'worker-2 to temporal',
] as const;
export type Link = (typeof LINKS)[number];

export type Fault =
  /** SIGKILL; the part is started again. */
  | { kind: 'kill'; part: Part }
  /** SIGTERM, as a deployment sends it; the part is started again. */
  | { kind: 'stop'; part: Application }
  /** SIGSTOP, later SIGCONT. */
  | { kind: 'freeze'; part: Part; forMs: number }
  /** `refuse`: connections are closed. `swallow`: they stay open, and all packets are lost. */
  | { kind: 'cut'; link: Link; how: 'refuse' | 'swallow'; forMs: number }
  /** Every write of Postgres fails. */
  | { kind: 'fillDisk'; forMs: number }
  /** The webhook receiver returns 500, or does not respond. */
  | { kind: 'receiver'; how: 'fail' | 'hang'; forMs: number };

/** What an operator decides, with the command line. Numbers choose among what there is. */
export type Choice =
  | { do: 'freezeWallet'; wallet: number; forMs: number }
  | { do: 'resolveReview'; reviewCase: number; action: 'credit' | 'return_to_sender' | 'move_to_unclaimed' }
  | { do: 'retryParked' }
  | { do: 'pauseRail'; forMs: number }
  | { do: 'sweepFees' };

type CustomerAct = Exclude<Command, { do: 'freeze' | 'repeatCallback' }>;

/** What callers do: the commands of the money model, opening a wallet, and what follows. */
export type Act =
  | CustomerAct
  | { do: 'openWallet' }
  /** A decision about money in review. */
  | { do: 'review'; reviewCase: number; action: 'credit' | 'return_to_sender' | 'move_to_unclaimed' }
  /** The bank takes a credit back. */
  | { do: 'recall'; credit: number }
  /** The bank charges, pays interest, or pays out to our own bank account. */
  | { do: 'bankLine'; kind: 'charge' | 'interest' | 'settlement'; amount: number }
  /** The organisation pays own money in, or takes it out. */
  | { do: 'fund'; amount: number }
  | { do: 'withdrawOwn'; amount: number; destination: Destination };

/** What changes whose money the bank holds, without a customer. */
const OF_OWN_MONEY: ReadonlySet<Act['do']> = new Set(['review', 'recall', 'bankLine', 'fund', 'withdrawOwn']);

/** Without that. */
export const ofCustomers = (traffic: readonly Timed<Act>[]): Timed<Act>[] =>
  traffic.filter(({ what }) => !OF_OWN_MONEY.has(what.do));

export interface Timed<What> {
  atMs: number;
  what: What;
}

export interface Plan {
  seed: number;
  seconds: number;
  /** How far the clock of each application is off, in milliseconds. */
  clocks: Record<Application, number>;
  traffic: Timed<Act>[];
  faults: Timed<Fault>[];
  choices: Timed<Choice>[];
}

/** The age at which a callback is rejected, so that a bank and an API whose clocks differ this much do not agree. */
const CLOCK_OFF_MS = 300_000;

const FAULT_GAP_MS = { min: 1_000, max: 4_000 };
const CHOICE_GAP_MS = { min: 4_000, max: 9_000 };
/** How long a fault lasts. */
const LASTS_MS = { min: 300, max: 6_000 };
/** Shorter, because Postgres ends several times meanwhile and is started again after growing pauses. */
const DISK_FULL_MS = { min: 500, max: 3_000 };
/** After a kill nothing else happens to the part for this long, so that it works in between. */
const RECOVERY_MS = 15_000;
/** Faults start in this share of the run: the rest shows that traffic goes on. */
const FAULTY_SHARE = 0.9;

const forMs = fc.integer(LASTS_MS);
const position = fc.nat(99);
const ownAmount = fc.integer({ min: 1_000, max: 60_000 });

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('kill' as const), part: fc.constantFrom(...PARTS) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('freeze' as const), part: fc.constantFrom(...PARTS), forMs }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('cut' as const),
      link: fc.constantFrom(...LINKS),
      how: fc.constantFrom('refuse' as const, 'swallow' as const),
      forMs,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('fillDisk' as const), forMs: fc.integer(DISK_FULL_MS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('receiver' as const),
      how: fc.constantFrom('fail' as const, 'hang' as const),
      forMs,
    }),
  },
);

const choice: fc.Arbitrary<Choice> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('freezeWallet' as const), wallet: position, forMs }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('resolveReview' as const),
      reviewCase: position,
      action: fc.constantFrom('credit' as const, 'return_to_sender' as const, 'move_to_unclaimed' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'retryParked' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pauseRail' as const), forMs }) },
  { weight: 1, arbitrary: fc.constant({ do: 'sweepFees' as const }) },
);

/** In every run, after this share of it: a wallet is frozen while it is paid, and income is swept. */
const ALWAYS: readonly { share: number; what: (seed: number) => Choice }[] = [
  { share: 0.1, what: (seed) => ({ do: 'freezeWallet', wallet: seed, forMs: LASTS_MS.max }) },
  { share: 0.6, what: () => ({ do: 'sweepFees' }) },
];

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 33,
    arbitrary: command.filter((one): one is CustomerAct => {
      return one.do !== 'freeze' && one.do !== 'repeatCallback';
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'openWallet' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('review' as const),
      reviewCase: position,
      action: fc.constantFrom(
        'credit' as const,
        'credit' as const,
        'return_to_sender' as const,
        'move_to_unclaimed' as const,
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('recall' as const), credit: position }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('bankLine' as const),
      kind: fc.constantFrom('charge' as const, 'charge' as const, 'settlement' as const, 'interest' as const),
      amount: fc.integer({ min: 1, max: 20_000 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fund' as const), amount: ownAmount }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('withdrawOwn' as const), amount: ownAmount, destination }) },
);

/** One whole stack has a wrong clock, as a machine has; its worker and its API may differ. */
const clocks: fc.Arbitrary<Plan['clocks']> = fc
  .tuple(
    fc.constantFrom(1, 2),
    fc.constantFrom(0, CLOCK_OFF_MS, -CLOCK_OFF_MS),
    fc.constantFrom(0, CLOCK_OFF_MS, -CLOCK_OFF_MS),
  )
  .map(([stack, api, worker]) => ({
    'api-1': stack === 1 ? api : 0,
    'api-2': stack === 2 ? api : 0,
    'worker-1': stack === 1 ? worker : 0,
    'worker-2': stack === 2 ? worker : 0,
  }));

export interface PlanOptions {
  seed: number;
  seconds: number;
  /** Commands of callers a second. */
  perSecond: number;
}

/** The traffic of one more organisation. */
export const makeTraffic = ({ seed, seconds, perSecond }: PlanOptions): Timed<Act>[] => {
  const count = Math.round(seconds * perSecond);
  const acts = fc.sample(fc.noBias(act), { seed, numRuns: count });
  return acts.map((what, index) => ({ atMs: Math.round((index * seconds * 1000) / count), what }));
};

export function makePlan({ seed, seconds, perSecond }: PlanOptions): Plan {
  const lengthMs = seconds * 1000;
  const pick = <What>(arbitrary: fc.Arbitrary<What>, numRuns: number): What[] =>
    fc.sample(fc.noBias(arbitrary), { seed, numRuns });
  const timed = <What>(arbitrary: fc.Arbitrary<What>, gap: { min: number; max: number }): Timed<What>[] => {
    const steps = pick(fc.tuple(fc.integer(gap), arbitrary), Math.ceil(lengthMs / gap.min));
    let atMs = 0;
    return steps.map(([gapMs, what]) => {
      atMs += gapMs;
      return { atMs, what };
    });
  };
  return {
    seed,
    seconds,
    clocks: pick(clocks, 1)[0] as Plan['clocks'],
    traffic: makeTraffic({ seed, seconds, perSecond }),
    faults: apart(timed(fault, FAULT_GAP_MS), lengthMs * FAULTY_SHARE, lengthMs),
    choices: [
      ...ALWAYS.map(({ share, what }) => ({ atMs: Math.round(lengthMs * share), what: what(seed) })),
      ...timed(choice, CHOICE_GAP_MS).filter(({ atMs }) => atMs < lengthMs * FAULTY_SHARE),
    ],
  };
}

/** What a fault affects; two faults of the same do not overlap. */
export function targetOf(one: Fault): string {
  switch (one.kind) {
    case 'kill':
    case 'stop':
    case 'freeze':
      return one.part;
    case 'cut':
      return one.link;
    case 'fillDisk':
      return 'postgres';
    case 'receiver':
      return 'receiver';
  }
}

/** Whether a fault is over at once: what starts the part again heals it. */
export const isSudden = (one: Fault): one is Extract<Fault, { kind: 'kill' | 'stop' }> =>
  one.kind === 'kill' || one.kind === 'stop';

/** For how long a fault occupies its target. */
export function occupiesMs(one: Fault): number {
  if (isSudden(one)) return RECOVERY_MS;
  return one.kind === 'fillDisk' ? one.forMs + RECOVERY_MS : one.forMs;
}

/** Leaves out the faults whose target an earlier one still affects; all end before the run does. */
export function apart(faults: readonly Timed<Fault>[], lastMs: number, endMs: number): Timed<Fault>[] {
  const freeAt = new Map<string, number>();
  const kept: Timed<Fault>[] = [];
  for (const { atMs, what } of faults) {
    const target = targetOf(what);
    if (atMs >= lastMs || atMs < (freeAt.get(target) ?? 0)) continue;
    freeAt.set(target, atMs + occupiesMs(what));
    kept.push({ atMs, what: isSudden(what) ? what : { ...what, forMs: Math.min(what.forMs, endMs - atMs) } });
  }
  return kept;
}

export function describeFault(one: Fault): string {
  switch (one.kind) {
    case 'kill':
      return `kill -9 ${one.part}`;
    case 'stop':
      return `stop ${one.part}`;
    case 'freeze':
      return `freeze ${one.part} for ${secondsText(one.forMs)}`;
    case 'cut':
      return `${one.how === 'refuse' ? 'close connections' : 'swallow packets'} of ${one.link} for ${secondsText(one.forMs)}`;
    case 'fillDisk':
      return `disk of postgres full for ${secondsText(one.forMs)}`;
    case 'receiver':
      return `webhook receiver ${one.how === 'fail' ? 'returns 500' : 'does not respond'} for ${secondsText(one.forMs)}`;
  }
}

export const secondsText = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
