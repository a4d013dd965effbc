// `npm run chaos -- --seconds 60 --seed 7`: real traffic on a stack of its own while its parts are killed, frozen and
// cut off (docs/reliability.md). Prints what happens, and the first thing that is wrong; a seed repeats its plan.
import { Command, InvalidArgumentError } from 'commander';
import { VERSION } from '../../src/release.ts';
import { randomSeed, wholeNumber } from '../commandOptions.ts';
import { FAKES, type FakeName } from './fakeBank.ts';
import { isAccepted } from './judge.ts';
import { type ChaosRun, startChaosRun, type Verdict } from './run.ts';

const WRONG_SHOWN = 20;

interface Options {
  seconds: number;
  seed: number;
  rate: number;
  logs?: string;
  rails: FakeName[];
}

const program = new Command('npm run chaos --')
  .description('Kills, freezes and cuts off the parts of a stack of its own under traffic, and judges the outcome.')
  .version(VERSION)
  .option('--seconds <seconds>', 'how long parts fail', wholeNumber, 60)
  .option('--seed <seed>', 'the seed of traffic and faults (default: a random one)', wholeNumber, randomSeed())
  .option('--rate <commands>', 'commands of callers a second', wholeNumber, 8)
  .option('--rails <names>', 'fakes of providers that take part, separated by commas, or none', railNames, [...FAKES])
  .option('--logs <folder>', 'keep the logs of the processes there');

function railNames(text: string): FakeName[] {
  const names = text === 'none' ? [] : text.split(',');
  const known = FAKES.filter((name) => names.includes(name));
  if (known.length !== names.length) throw new InvalidArgumentError(`Expected none, or of ${FAKES.join(', ')}.`);
  return known;
}

function print(line: string): void {
  console.log(line);
}

/** One line on the whole run. */
function summary({ plan, counts }: ChaosRun, { facts, wrong }: Verdict, startedAt: number): string {
  const { requests, faults } = counts();
  const accepted = facts.operations.filter(isAccepted).length;
  const refused = facts.operations.filter(({ answer }) => answer !== null).length - accepted;
  const overLimit = facts.operations.filter(({ answer }) => answer?.body.code === 'WALLET_LIMIT_EXCEEDED').length;
  return [
    `seed ${plan.seed}: ${facts.operations.length} operations in ${requests} requests`,
    `${accepted} accepted, ${refused} refused, ${overLimit} over the limit of a day or month`,
    `${facts.events.length} events in ${facts.received.length} deliveries`,
    `${facts.references.filter(({ sent }) => sent.length > 0).length} transfers paid`,
    `${faults} faults`,
    wrong.length === 0 ? 'all true' : `${wrong.length} wrong`,
    `${Math.round((Date.now() - startedAt) / 1000)} s`,
  ].join('; ');
}

const startedAt = Date.now();
const { seconds, seed, rate, logs, rails } = program.parse().opts<Options>();
const named = rails.length === FAKES.length ? '' : ` --rails ${rails.join(',') || 'none'}`;
print(
  `Seed ${seed}, ${seconds} s. To repeat: npm run chaos -- --seconds ${seconds} --seed ${seed} --rate ${rate}${named}`,
);
const run = await startChaosRun({ seed, seconds, perSecond: rate, rails, say: print, logFolder: logs });
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void run.stop().then(() => process.exit(1)));
try {
  await run.play();
  const verdict = await run.judge();
  print('');
  for (const [index, line] of verdict.wrong.slice(0, WRONG_SHOWN).entries()) {
    print(`${index === 0 ? 'Wrong first' : '       then'}: ${line}`);
  }
  if (verdict.wrong.length > 0) process.exitCode = 1;
  for (const line of run.summaries()) print(line);
  print(summary(run, verdict, startedAt));
} finally {
  await run.stop();
}
