// `npm run drill -- failover`, `… restore`, `… clock`, `… upgrade`, `… rollback`, `… stop`: rehearses the loss of the
// primary of the database, restores, wrong clocks, an upgrade, going back and a rolling restart under traffic, each on
// a stack of its own (docs/reliability.md). Prints what happens, and the first thing that is wrong.

import { Command, Option } from 'commander';
import { VERSION } from '../../src/release.ts';
import { isAccepted } from '../chaos/judge.ts';
import { secondsText } from '../chaos/plan.ts';
import type { DrillOptions, Verdict } from '../chaos/run.ts';
import { randomSeed, wholeNumber } from '../commandOptions.ts';
import { wrongClocks } from './clock.ts';
import { failover } from './failover.ts';
import { restoreDatabase } from './restore.ts';
import { restoreTemporal } from './restoreTemporal.ts';
import { rollingRestart } from './stop.ts';
import { upgrade } from './upgrade.ts';

const WRONG_SHOWN = 10;

const program = new Command('npm run drill --')
  .description('Rehearses the loss and the restore of a database, wrong clocks, an upgrade, and a rolling restart.')
  .version(VERSION);

onTraffic(
  program
    .command('failover')
    .description('kills the primary, promotes its synchronous standby, and lets the former primary come back'),
  40,
).action(async (flags: TrafficFlags) => {
  const { seconds, seed } = flags;
  console.log(`Seed ${seed}, ${seconds} s. To repeat: npm run drill -- failover --seconds ${seconds} --seed ${seed}`);
  const result = await failover(optionsOf(flags));
  report(
    [...(result.answeredAlone ? ['the former primary answered a commit'] : []), ...result.verdict.wrong],
    [
      answersOf(seed, result.verdict),
      `promoted ${secondsText(result.promotedAfterMs)} after the kill`,
      `the longest wait for an answer ${secondsText(result.waitedMaxMs)}, otherwise ${secondsText(result.waitedOtherwiseMaxMs)}`,
    ].join('; '),
  );
});

program
  .command('restore')
  .description('restores the database to a point in time while Temporal is newer, or loses what Temporal has')
  .addOption(
    new Option('--of <what>', 'what is restored: the database, or Temporal to an earlier time or to nothing')
      .choices(['database', 'temporal', 'empty-temporal'])
      .default('database'),
  )
  .option('--logs <folder>', 'keep the logs of the processes there')
  .action(async ({ of, logs }: { of: string; logs?: string }) => {
    const options = { say: console.log, logFolder: logs };
    const { wrong, summary } =
      of === 'database'
        ? await restoreDatabase(options)
        : await restoreTemporal({ ...options, isEmpty: of !== 'temporal' });
    report(wrong, summary);
  });

program
  .command('clock')
  .description('sets the clock of the database back and forward, and promotes a standby whose clock lags')
  .option('--logs <folder>', 'keep the logs of the processes there')
  .action(async ({ logs }: { logs?: string }) => {
    const { wrong, summary } = await wrongClocks({ say: console.log, logFolder: logs });
    report(wrong, summary);
  });

onTraffic(
  program.command('upgrade').description('upgrades this release to a made-up next one, while both serve'),
  60,
).action(async (flags: TrafficFlags) => {
  const { verdict, outages, migratedMs } = await upgrade(optionsOf(flags));
  report([...outages, ...verdict.wrong], `${answersOf(flags.seed, verdict)}; migrated in ${secondsText(migratedMs)}`);
});

onTraffic(
  program.command('stop').description('stops and starts each API and worker, one after the other, under load'),
  40,
).action(async (flags: TrafficFlags) => {
  const { verdict, wrong, requests, slowestMs } = await rollingRestart(optionsOf(flags));
  const { api, worker } = slowestMs;
  report(
    wrong,
    `${answersOf(flags.seed, verdict)}, and ${requests} other requests; the slowest stop of an API took ${secondsText(api)}, of a worker ${secondsText(worker)}`,
  );
});

onTraffic(
  program
    .command('rollback')
    .description('upgrades this release to a made-up next one, goes back, and upgrades again, while both serve'),
  150,
).action(async (flags: TrafficFlags) => {
  const { verdict, outages } = await upgrade(optionsOf(flags), { back: true });
  report([...outages, ...verdict.wrong], answersOf(flags.seed, verdict));
});

interface TrafficFlags {
  seconds: number;
  seed: number;
  rate: number;
  logs?: string;
}

/** Adds the options of a drill under traffic. */
function onTraffic(command: Command, seconds: number): Command {
  return command
    .option('--seconds <seconds>', 'how long callers send requests', wholeNumber, seconds)
    .option('--seed <seed>', 'the seed of the traffic (default: a random one)', wholeNumber, randomSeed())
    .option('--rate <commands>', 'commands of callers a second', wholeNumber, 8)
    .option('--logs <folder>', 'keep the logs of the processes there');
}

const optionsOf = ({ seed, seconds, rate, logs }: TrafficFlags): DrillOptions => ({
  seed,
  seconds,
  perSecond: rate,
  say: console.log,
  logFolder: logs,
});

const answersOf = (seed: number, { facts: { operations } }: Verdict): string =>
  `seed ${seed}: ${operations.length} operations, ${operations.filter(isAccepted).length} accepted`;

/** Prints the first things that are wrong, and one line on the whole drill. */
function report(wrong: readonly string[], summary: string): void {
  for (const one of wrong.slice(0, WRONG_SHOWN)) console.log(`Wrong: ${one}`);
  if (wrong.length > 0) process.exitCode = 1;
  console.log(`${summary}; ${wrong.length === 0 ? 'all true' : `${wrong.length} wrong`}`);
}

await program.parseAsync();
