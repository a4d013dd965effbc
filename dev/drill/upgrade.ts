// The drill of an upgrade from an earlier release: its processes serve traffic while the migrations of this release are
// applied, processes of both releases serve it side by side, and those of this release end what the earlier accepted.
import { setTimeout as wait } from 'node:timers/promises';
import type { Application } from '../chaos/plan.ts';
import { type ChaosRun, type DrillOptions, startChaosRun, type Verdict } from '../chaos/run.ts';
import type { ChaosStack } from '../chaos/stack.ts';

/** In this order: the processes of the earlier release run on the new tables, then beside this release, then end. */
const FIRST: readonly Application[] = ['api-1', 'worker-1'];
const LAST: readonly Application[] = ['worker-2', 'api-2'];
const SIDE_BY_SIDE_MS = 5_000;
/** The migration is this share of the run after its start. */
const AT = 0.25;

export interface UpgradeOptions extends DrillOptions {
  /** The folder of the earlier release, with its packages. */
  from: string;
}

export interface UpgradeResult {
  verdict: Verdict;
  migratedMs: number;
  /** The answers that said that the service was not available. */
  outages: readonly string[];
}

export async function upgrade({ from, say, ...options }: UpgradeOptions): Promise<UpgradeResult> {
  let run: ChaosRun | undefined;
  let migratedMs = 0;
  const happen = async (stack: ChaosStack): Promise<void> => {
    const startedAt = Date.now();
    await stack.migrate();
    migratedMs = Date.now() - startedAt;
    say(`          the migrations of this release are applied, in ${(migratedMs / 1000).toFixed(1)} s`);
    await wait(SIDE_BY_SIDE_MS);
    for (const parts of [FIRST, LAST]) {
      for (const part of parts) {
        await stack.upgrade(part);
        say(`          ${part} is of this release`);
      }
      await wait(SIDE_BY_SIDE_MS);
    }
  };
  try {
    run = await startChaosRun({ ...options, say, drill: { release: from, atMs: options.seconds * 1000 * AT, happen } });
    await run.play();
    return { verdict: await run.judge(), migratedMs, outages: run.outages() };
  } finally {
    await run?.stop();
  }
}
