// `npm run drill -- failover`, `… restore`, `… upgrade`: rehearses the loss of the primary of the database under
// traffic, restores, and an upgrade under traffic, each on a stack of its own (docs/reliability.md). Prints what
// happens, and the first thing that is wrong.
import { randomInt } from 'node:crypto';
import path from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type FailoverResult, failover } from './failover.ts';
import { restoreDatabase } from './restore.ts';
import { restoreTemporal } from './restoreTemporal.ts';
import { upgrade } from './upgrade.ts';

const SEED_MAX = 2 ** 31;
const WRONG_SHOWN = 10;

const program = new Command('npm run drill --').description(
  'Rehearses the loss and the restore of a database, and an upgrade.',
);

program
  .command('failover')
  .description('kills the primary, promotes its synchronous standby, and lets the former primary come back')
  .option('--seconds <seconds>', 'how long callers send requests', wholeNumber, 40)
  .option('--seed <seed>', 'the seed of the traffic (default: a random one)', wholeNumber, randomInt(SEED_MAX))
  .option('--rate <commands>', 'commands of callers a second', wholeNumber, 8)
  .option('--logs <folder>', 'keep the logs of the processes there')
  .action(async (options: { seconds: number; seed: number; rate: number; logs?: string }) => {
    const { seconds, seed, rate, logs } = options;
    console.log(`Seed ${seed}, ${seconds} s. To repeat: npm run drill -- failover --seconds ${seconds} --seed ${seed}`);
    const result = await failover({ seed, seconds, perSecond: rate, say: console.log, logFolder: logs });
    const wrong = [...result.fencing, ...result.verdict.wrong];
    for (const line of wrong.slice(0, WRONG_SHOWN)) console.log(`Wrong: ${line}`);
    if (wrong.length > 0) process.exitCode = 1;
    console.log(summary(seed, result, wrong.length));
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
    const { wrong, summary: line } =
      of === 'database'
        ? await restoreDatabase(options)
        : await restoreTemporal({ ...options, isEmpty: of !== 'temporal' });
    for (const one of wrong.slice(0, WRONG_SHOWN)) console.log(`Wrong: ${one}`);
    if (wrong.length > 0) process.exitCode = 1;
    console.log(`${line}; ${wrong.length === 0 ? 'all true' : `${wrong.length} wrong`}`);
  });

program
  .command('upgrade')
  .description('upgrades an earlier release to this one, while both serve')
  .requiredOption('--from <folder>', 'a checkout of the earlier release, in which `node dev/bootstrap.mjs` has run')
  .option('--seconds <seconds>', 'how long callers send requests', wholeNumber, 60)
  .option('--seed <seed>', 'the seed of the traffic (default: a random one)', wholeNumber, randomInt(SEED_MAX))
  .option('--rate <commands>', 'commands of callers a second', wholeNumber, 8)
  .option('--logs <folder>', 'keep the logs of the processes there')
  .action(async (options: { from: string; seconds: number; seed: number; rate: number; logs?: string }) => {
    const { from, seconds, seed, rate, logs } = options;
    const base = { seed, seconds, perSecond: rate, say: console.log, logFolder: logs };
    const result = await upgrade({ ...base, from: path.resolve(from) });
    const wrong = [...result.outages, ...result.verdict.wrong];
    for (const line of wrong.slice(0, WRONG_SHOWN)) console.log(`Wrong: ${line}`);
    if (wrong.length > 0) process.exitCode = 1;
    console.log(
      `seed ${seed}: ${result.operations} operations, ${result.accepted} accepted; migrated in ` +
        `${(result.migratedMs / 1000).toFixed(1)} s; ${wrong.length === 0 ? 'all true' : `${wrong.length} wrong`}`,
    );
  });

/** One line, for the table in docs/reliability.md. */
function summary(seed: number, result: FailoverResult, wrong: number): string {
  const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  return [
    `seed ${seed}: ${result.operations} operations, ${result.accepted} accepted`,
    `promoted ${inSeconds(result.promotedAfterMs)} after the kill`,
    `the longest wait for an answer ${inSeconds(result.waitedMaxMs)}, otherwise ${inSeconds(result.waitedOtherwiseMaxMs)}`,
    wrong === 0 ? 'all true' : `${wrong} wrong`,
  ].join('; ');
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(text);
}

await program.parseAsync();
