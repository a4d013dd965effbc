// The drill of a Temporal that is restored to an earlier time, or starts empty, while the database is whole. The
// database is the truth: the sweep starts the flows that are missing, and a flow that begins again asks the bank before
// it sends.
import { cpSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { secondsText } from '../chaos/plan.ts';
import { DESTINATIONS } from '../chaos/requests.ts';
import type { ChaosStack } from '../chaos/stack.ts';
import { listBankTransfers } from './bankBook.ts';
import { commandLineOf } from './commandLine.ts';
import {
  judge,
  type RestoreOptions,
  type RestoreResult,
  startStack,
  untilAgreed,
  workAfter,
  workBefore,
} from './restore.ts';
import { DrillServers } from './servers.ts';
import { World } from './world.ts';

export async function restoreTemporal({
  say,
  logFolder,
  isEmpty,
}: RestoreOptions & { isEmpty: boolean }): Promise<RestoreResult> {
  const wrong: string[] = [];
  const servers = new DrillServers(say, logFolder);
  let stack: ChaosStack | undefined;
  try {
    stack = await startStack(await servers.start('primary'), { say, logFolder }, wrong);
    const world = await World.enter(stack);
    const kept = await workBefore(world);
    await stack.whileTemporalIsDown(keep);
    await stack.untilHealthy();
    say('a copy of the files of Temporal is kept');

    const later = await workAfter(world, kept);
    const transfers = await listBankTransfers(stack.sql);
    const lostAt = Date.now();
    await stack.whileTemporalIsDown(isEmpty ? remove : putBack);
    await stack.untilHealthy();
    say(isEmpty ? 'Temporal has started empty' : 'Temporal has started from the copy');

    await world.callers.ask('PUT', `/simulations/bank-accounts/${DESTINATIONS.unavailable}`, { behaviour: 'complete' });
    await world.endHeld(later.held);
    const next = await world.withdraw('completes', 2);
    const withdrawals = [...later.held, ...later.unsent, ...next].map((id) => `/withdrawals/${id}`);
    await world.untilStatus('completed', withdrawals);
    await untilAgreed(stack, world);
    const tookMs = Date.now() - lostAt;
    await judge(stack, transfers, commandLineOf(stack, world.participants), wrong);
    const summary =
      `Temporal ${isEmpty ? 'empty' : 'restored to an earlier time'}: ${withdrawals.length} withdrawals in progress or new ended; none of the ` +
      `${transfers.length} transfers before was sent again; ${secondsText(tookMs)} after the loss`;
    return { wrong, summary };
  } finally {
    await stack?.stop();
    await servers.stop();
  }
}

/** The files of a SQLite database: its name, and its name with a suffix. */
const filesOf = (file: string): string[] =>
  readdirSync(path.dirname(file))
    .filter((name) => name.startsWith(path.basename(file)) && !name.endsWith(KEPT))
    .map((name) => path.join(path.dirname(file), name));

const KEPT = '.kept';

function keep(databaseFile: string): void {
  for (const file of filesOf(databaseFile)) cpSync(file, `${file}${KEPT}`);
}

function remove(databaseFile: string): void {
  for (const file of filesOf(databaseFile)) rmSync(file);
}

function putBack(databaseFile: string): void {
  remove(databaseFile);
  for (const name of readdirSync(path.dirname(databaseFile)).filter((one) => one.endsWith(KEPT))) {
    const kept = path.join(path.dirname(databaseFile), name);
    cpSync(kept, kept.slice(0, -KEPT.length));
  }
}
