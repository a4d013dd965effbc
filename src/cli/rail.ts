// `rail …`: pause the rail of an environment, so that it sends no transfers, and resume it.
import { Argument, type Command } from 'commander';
import { text } from '../api/schemas.ts';
import { ENVIRONMENTS, type Environment } from '../money.ts';
import { listRailPauses, pauseRail, resumeRail } from '../rail/pauses.ts';
import { addCommand, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { printJson, printLine, printTable, timeText } from './print.ts';
import { signIn } from './signIn.ts';

const REASON_MAX = 500;

export function addRailCommands(program: Command): void {
  const group = program.command('rail').description('pause and resume outgoing transfers to banks');
  addChange(group, {
    name: 'pause',
    description: 'send no new transfers to the bank; withdrawals, refunds and payouts are still accepted and wait',
    reason: 'the bank announced maintenance',
    change: pauseRail,
    done: 'is paused: no new transfer is sent. List the waiting flows: npm run cli -- attention list',
    unchanged: 'was already paused. See: npm run cli -- rail show',
  });
  addChange(group, {
    name: 'resume',
    description: 'send transfers again; waiting flows continue within a minute',
    reason: 'the maintenance is over',
    change: resumeRail,
    done: 'is resumed. Waiting flows continue within a minute.',
    unchanged: 'was not paused.',
  });
  addShow(group);
}

interface Change {
  name: 'pause' | 'resume';
  description: string;
  /** For the example in its help. */
  reason: string;
  change: typeof pauseRail;
  /** The rest of the output line when the state changed, and when it did not. */
  done: string;
  unchanged: string;
}

function addChange(group: Command, { name, description, reason: example, change, done, unchanged }: Change): void {
  addCommand(group, name, description, `rail ${name} live --reason "${example}"`)
    .addArgument(new Argument('<environment>', 'the environment of the rail').choices(ENVIRONMENTS))
    .requiredOption('--reason <text>', 'the reason, recorded in the audit log')
    .action(async (environment: Environment, options: { reason: string; json?: true }) => {
      const reason = checkReason(options.reason);
      const changed = await withDatabase('application', async (sql, settings) =>
        change(sql, environment, { operator: await signIn(sql, settings, `rail ${name}`), reason }),
      );
      if (options.json) return printJson({ environment, paused: name === 'pause', changed });
      printLine(`The ${environment} rail ${changed ? done : unchanged}`);
    });
}

function checkReason(reason: string): string {
  const parsed = text(REASON_MAX).safeParse(reason.trim());
  if (parsed.success) return parsed.data;
  throw new CommandError(`--reason must have 1 to ${REASON_MAX} characters.`, EXIT.usage);
}

function addShow(group: Command): void {
  addCommand(group, 'show', 'show which rails are paused, since when, by whom and for what reason', 'rail show').action(
    async (options: { json?: true }) => {
      const pauses = await withDatabase('application', (sql) => listRailPauses(sql));
      const rails = ENVIRONMENTS.map((environment) => {
        const pause = pauses.find((row) => row.environment === environment);
        return {
          environment,
          paused: pause !== undefined,
          since: pause?.pausedAt ?? null,
          operator: pause?.operator ?? null,
          reason: pause?.reason ?? null,
        };
      });
      if (options.json) return printJson(rails);
      printTable(
        ['Rail', 'State', 'Since (UTC)', 'Operator', 'Reason'],
        rails.map(({ environment, paused, since, operator, reason }) => [
          environment,
          paused ? 'paused' : 'active',
          timeText(since),
          operator ?? '-',
          reason ?? '-',
        ]),
        '',
      );
    },
  );
}
