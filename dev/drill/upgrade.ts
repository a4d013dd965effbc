// The drills of an upgrade to a made-up next release, and of going back: the processes of one release serve traffic
// while the other migrates, processes of both serve side by side, and those of the other end what the first accepted.
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type Application, secondsText } from '../chaos/plan.ts';
import { type ChaosRun, type DrillOptions, startChaosRun, type Verdict } from '../chaos/run.ts';
import type { ChaosStack } from '../chaos/stack.ts';
import { MIGRATIONS, THIS_RELEASE, writeNextRelease } from './nextRelease.ts';

/** In this order: the processes of one release run on the tables of the other, then beside the other, then end. */
const FIRST: readonly Application[] = ['api-1', 'worker-1'];
const LAST: readonly Application[] = ['worker-2', 'api-2'];
const SIDE_BY_SIDE_MS = 5_000;
/** Of the whole run, or of a fourth of it when it goes back and up again. */
const AT = 0.25;

export interface UpgradeResult {
  verdict: Verdict;
  migratedMs: number;
  /** The responses of 500 or above, and what a migration did not say. */
  outages: readonly string[];
}

/** `back`: then back to this release, and up again. */
export async function upgrade({ say, ...options }: DrillOptions, { back = false } = {}): Promise<UpgradeResult> {
  let run: ChaosRun | undefined;
  let migratedMs = 0;
  const unsaid: string[] = [];
  const change = async (stack: ChaosStack, release: string, name: string, applies: string[] = []): Promise<void> => {
    const startedAt = Date.now();
    const lines = await migrateTo(release, stack.ownerUrl);
    const missing = applies.filter((file) => !lines.includes(`applied ${file}`));
    if (missing.length > 0)
      throw new Error(`the migration did not apply ${missing.join(', ')}: the drill shows nothing`);
    migratedMs = Math.max(migratedMs, Date.now() - startedAt);
    say(`          ${name} has migrated, in ${secondsText(Date.now() - startedAt)}`);
    if (release === THIS_RELEASE) unsaid.push(...laterMigrationsUnsaid(lines));
    await wait(SIDE_BY_SIDE_MS);
    for (const parts of [FIRST, LAST]) {
      for (const part of parts) {
        await stack.replace(part, release);
        say(`          ${part} is of ${name}`);
      }
      await wait(SIDE_BY_SIDE_MS);
    }
  };
  const happen = async (stack: ChaosStack): Promise<void> => {
    const next = path.join(stack.folder, 'next');
    await change(stack, next, 'the next release', writeNextRelease(next));
    if (!back) return;
    await change(stack, THIS_RELEASE, 'this release');
    await change(stack, next, 'the next release');
  };
  try {
    const atMs = options.seconds * 1000 * (back ? AT / 4 : AT);
    run = await startChaosRun({ ...options, say, drill: { atMs, happen } });
    await run.play();
    return { verdict: await run.judge(), migratedMs, outages: [...unsaid, ...run.outages()] };
  } finally {
    await run?.stop();
  }
}

/** The release's own code migrates: it finds its files beside itself. Returns what it said. */
export async function migrateTo(release: string, ownerUrl: string): Promise<string[]> {
  const file = pathToFileURL(path.join(release, 'src/database/migrate.ts')).href;
  const { migrate } = (await import(file)) as typeof import('../../src/database/migrate.ts');
  const lines: string[] = [];
  await migrate(ownerUrl, { log: (line) => lines.push(line) });
  return lines;
}

const laterMigrationsUnsaid = (lines: readonly string[]): string[] =>
  Object.keys(MIGRATIONS)
    .filter((name) => !lines.some((line) => line.startsWith(`${name} is of a later release`)))
    .map((name) => `migrate did not say that ${name} is of a later release`);
