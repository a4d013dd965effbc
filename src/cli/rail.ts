// `rail …`: pause the rail of an environment, so that no money leaves by it, and let it go on.
import { Argument, type Command } from 'commander';
import { text } from '../api/schemas.ts';
import type { Environment } from '../money.ts';
import { listRailPauses, pauseRail, resumeRail } from '../rail/pauses.ts';
import { addCommand, OPERATOR_OPTION, operatorName, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { printJson, printLine, printTable, timeText } from './print.ts';

const REASON_MAX = 500;
const ENVIRONMENTS: readonly Environment[] = ['test', 'live'];

export function addRailCommands(program: Command): void {
  const group = program.command('rail').description('pause and resume the way on which money leaves to banks');
  addChange(group, {
    name: 'pause',
    description: 'give the bank no new transfer: withdrawals, refunds and payouts are accepted and wait',
    reason: 'the bank announced maintenance',
    change: pauseRail,
    done: 'is paused: nothing is sent by it. What waits: npm run cli -- attention list',
    before: 'was paused before. See: npm run cli -- rail show',
  });
  addChange(group, {
    name: 'resume',
    description: 'send again; what waits for it goes on within a minute',
    reason: 'the maintenance is over',
    change: resumeRail,
    done: 'sends again. What waited for it goes on within a minute.',
    before: 'was not paused.',
  });
  addShow(group);
}

interface Change {
  name: 'pause' | 'resume';
  description: string;
  /** For the example in its help. */
  reason: string;
  change: typeof pauseRail;
  /** What is said when it was done, and when there was nothing to do. */
  done: string;
  before: string;
}

function addChange(group: Command, { name, description, reason, change, done, before }: Change): void {
  addCommand(group, name, description, `rail ${name} live --reason "${reason}"`)
    .addArgument(new Argument('<environment>', 'whose rail').choices(ENVIRONMENTS))
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .option(...OPERATOR_OPTION)
    .action(async (environment: Environment, options: { reason: string; operator?: string; json?: true }) => {
      const act = { operator: operatorName(options.operator), reason: checkReason(options.reason) };
      const changed = await withDatabase('application', (sql) => change(sql, environment, act));
      if (options.json) return printJson({ environment, paused: name === 'pause', changed });
      printLine(`The ${environment} rail ${changed ? done : before}`);
    });
}

function checkReason(reason: string): string {
  const parsed = text(REASON_MAX).safeParse(reason.trim());
  if (parsed.success) return parsed.data;
  throw new CommandError(`--reason must say why, in 1 to ${REASON_MAX} characters.`, EXIT.usage);
}

function addShow(group: Command): void {
  addCommand(group, 'show', 'show which rails are paused, since when, by whom and why', 'rail show').action(
    async (options: { json?: true }) => {
      const pauses = await withDatabase('application', (sql) => listRailPauses(sql));
      const rails = ENVIRONMENTS.map((environment) => {
        const pause = pauses.find((one) => one.environment === environment);
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
        ['Rail', 'State', 'Since (UTC)', 'Who', 'Why'],
        rails.map(({ environment, paused, since, operator, reason }) => [
          environment,
          paused ? 'paused' : 'sends',
          timeText(since),
          operator ?? '-',
          reason ?? '-',
        ]),
        '',
      );
    },
  );
}
