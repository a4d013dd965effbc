// The drill of an upgrade to a made-up next release: the processes of this release serve traffic while its migrations
// are applied, processes of both serve side by side, and those of the next release end what this one accepted.
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type Application, secondsText } from '../chaos/plan.ts';
import { type ChaosRun, type DrillOptions, startChaosRun, type Verdict } from '../chaos/run.ts';
import type { ChaosStack } from '../chaos/stack.ts';
import { writeNextRelease } from './nextRelease.ts';

/** In this order: the processes of this release run on the new tables, then beside the next one, then end. */
const FIRST: readonly Application[] = ['api-1', 'worker-1'];
const LAST: readonly Application[] = ['worker-2', 'api-2'];
const SIDE_BY_SIDE_MS = 5_000;
/** The migration is this share of the run after its start. */
const AT = 0.25;

export interface UpgradeResult {
  verdict: Verdict;
  migratedMs: number;
  /** The responses of 500 or above. */
  outages: readonly string[];
}

export async function upgrade({ say, ...options }: DrillOptions): Promise<UpgradeResult> {
  let run: ChaosRun | undefined;
  let migratedMs = 0;
  const happen = async (stack: ChaosStack): Promise<void> => {
    const release = path.join(stack.folder, 'next');
    writeNextRelease(release);
    const startedAt = Date.now();
    await migrateTo(release, stack.ownerUrl);
    migratedMs = Date.now() - startedAt;
    say(`          the migrations of the next release are applied, in ${secondsText(migratedMs)}`);
    await wait(SIDE_BY_SIDE_MS);
    for (const parts of [FIRST, LAST]) {
      for (const part of parts) {
        await stack.replace(part, release);
        say(`          ${part} is of the next release`);
      }
      await wait(SIDE_BY_SIDE_MS);
    }
  };
  try {
    run = await startChaosRun({ ...options, say, drill: { atMs: options.seconds * 1000 * AT, happen } });
    await run.play();
    return { verdict: await run.judge(), migratedMs, outages: run.outages() };
  } finally {
    await run?.stop();
  }
}

/** The release's own code migrates: it finds its files beside itself. */
async function migrateTo(release: string, ownerUrl: string): Promise<void> {
  const file = pathToFileURL(path.join(release, 'src/database/migrate.ts')).href;
  const { migrate } = (await import(file)) as typeof import('../../src/database/migrate.ts');
  await migrate(ownerUrl);
}
