// One soak: a chaos run with the plan of a soak, while its processes, tables and queues are sampled and every check of
// the service runs in a loop.
import { Client, Connection } from '@temporalio/client';
import type { FakeName } from '../chaos/fakeBank.ts';
import { isAccepted } from '../chaos/judge.ts';
import { type ChaosRun, startChaosRun } from '../chaos/run.ts';
import { Checks, listFalseCases } from './checks.ts';
import { type Growth, growthOf } from './growth.ts';
import { makeSoakPlan } from './plan.ts';
import { readBytesOfRows, Sampler } from './sampler.ts';

const SETTINGS = {
  // The first attempts follow each other quickly, so that the endpoint that fails at random gets everything soon; those
  // at the dead one become as rare as in production.
  WEBHOOK_RETRY_GAPS_SECONDS: '1,2,3,5,300,1800,7200,18000,36000,50400',
  // Full before memory is judged, as the usual cache is only after a day.
  WORKER_FLOWS_CACHED_MAX: '100',
  WORKER_PAYOUTS_CACHED_MAX: '50',
  // So that V8 collects garbage often: on a large machine it lets a heap grow for an hour first.
  NODE_OPTIONS: '--max-old-space-size=384',
};
/** Before that, caches still fill. */
const GROWTH_JUDGED_FROM_MS = 20 * 60_000;
/** A minute, and what the backlog of the dead endpoint takes, which is as long as the run was. */
const ENDED_WITHIN = { leastMs: 150_000, shareOfRun: 0.5 };

export interface SoakOptions {
  seconds: number;
  seed: number;
  /** Commands a second of the callers of each organisation. */
  perSecond: number;
  rails: readonly FakeName[];
  say: (line: string) => void;
  logFolder?: string | undefined;
}

export interface Soak {
  /** What is lost or was reported in error, the first first. */
  wrong: string[];
  /** What should level and grows; nothing in a run of less than twenty minutes. */
  grown: string[];
  growth: Growth[];
  bytesOfRows: Awaited<ReturnType<typeof readBytesOfRows>>;
  counts: Checks['counts'] & { operations: number; accepted: number; events: number; faults: number };
}

export async function soak({ seconds, ...options }: SoakOptions): Promise<Soak> {
  const lengthMs = seconds * 1000;
  const run: ChaosRun = await startChaosRun({
    ...options,
    seconds,
    soak: {
      plan: makeSoakPlan({ ...options, seconds }),
      settings: SETTINGS,
      endedWithinMs: ENDED_WITHIN.leastMs + ENDED_WITHIN.shareOfRun * lengthMs,
    },
  });
  const connection = Connection.lazy({ address: run.stack.temporalAddress });
  const sampler = new Sampler(run.stack, new Client({ connection }));
  const checks = new Checks(run.stack);
  try {
    const endMs = Date.now() + lengthMs;
    await run.play();
    await checks.stop();
    options.say('          the checks have ended');
    const { facts, wrong } = await run.judge();
    const growth = sampler.seriesUntil(endMs).map(growthOf);
    const grown = growth.filter(({ growsTooMuch }) => growsTooMuch && lengthMs >= GROWTH_JUDGED_FROM_MS);
    return {
      wrong: [
        ...wrong,
        ...checks.alarms,
        ...checks.listUnchecked(run.plan.faults),
        ...(await listFalseCases(run.stack.sql)),
      ],
      grown: grown.map(({ of, name, late }) => `the ${of} ${name} grows: by ${Math.round(late)} late in the run`),
      growth,
      bytesOfRows: await readBytesOfRows(run.stack.sql),
      counts: {
        ...checks.counts,
        operations: facts.operations.length,
        accepted: facts.operations.filter(isAccepted).length,
        events: facts.events.length,
        faults: run.counts().faults,
      },
    };
  } finally {
    sampler.stop();
    await checks.stop();
    await connection.close();
    await run.stop();
  }
}
