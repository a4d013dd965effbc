// `npm run soak -- --minutes 60 --seed 7`: the traffic of chaos runs for an hour (docs/reliability.md). Prints what
// happens, how processes, tables and queues grow, and what is wrong.
import { Command } from 'commander';
import { VERSION } from '../../src/release.ts';
import { FAKES, type FakeName } from '../chaos/fakeBank.ts';
import { randomSeed, wholeNumber } from '../commandOptions.ts';
import { growthTable } from './growth.ts';
import { soak } from './run.ts';

const WRONG_SHOWN = 20;

interface Options {
  minutes: number;
  seed: number;
  rate: number;
  logs?: string;
  rails: boolean;
}

const program = new Command('npm run soak --')
  .description(
    'Runs traffic for a time while parts stand still, stop and fill their disk: nothing is lost, grows without end, or is reported in error.',
  )
  .version(VERSION)
  .option('--minutes <minutes>', 'how long', wholeNumber, 60)
  .option('--seed <seed>', 'the seed of traffic and faults (default: a random one)', wholeNumber, randomSeed())
  .option('--rate <commands>', 'commands a second of the callers of each organisation', wholeNumber, 4)
  .option('--no-rails', 'without the fakes of providers')
  .option('--logs <folder>', 'keep the logs of the processes there');

const startedAt = Date.now();
const { minutes, seed, rate, logs, rails } = program.parse().opts<Options>();
const again = `npm run soak -- --minutes ${minutes} --seed ${seed} --rate ${rate}${rails ? '' : ' --no-rails'}`;
console.log(`Seed ${seed}, ${minutes} min. To repeat: ${again}`);
const { growth, bytesOfRows, counts, ...found } = await soak({
  seconds: minutes * 60,
  seed,
  perSecond: rate,
  rails: rails ? FAKES : ([] as FakeName[]),
  say: console.log,
  logFolder: logs,
});
const told = growth.filter(({ first, last, slack }) => first !== last || (slack !== null && last > 0));
for (const line of ['', ...growthTable(told), '']) console.log(line);
const sizes = bytesOfRows.map(({ table, bytes }) => `${table} ${bytes.toLocaleString('en')}`);
console.log(`Bytes of a row, with its indexes: ${sizes.join(', ')}\n`);
const wrong = [...found.wrong, ...found.grown];
for (const one of wrong.slice(0, WRONG_SHOWN)) console.log(`Wrong: ${one}`);
if (wrong.length > 0) process.exitCode = 1;
console.log(
  [
    `seed ${seed}: ${counts.operations} operations, ${counts.accepted} accepted`,
    `${counts.events} events`,
    `${counts.faults} faults`,
    `${counts.verifications} verifications and ${counts.reconciliations} reconciliations`,
    wrong.length === 0 ? 'all true' : `${wrong.length} wrong`,
    `${Math.round((Date.now() - startedAt) / 1000)} s`,
  ].join('; '),
);
