// `flows …`: open resources without a running flow, and flows without a resource. The sweep restarts the former every
// half minute; `flows missing` lists them, or restarts them at once.
import { type Command, InvalidArgumentError } from 'commander';
import type { MissingFlow } from '../recovery/missingFlows.ts';
import { addCommand, withDatabase } from './command.ts';
import { addLostFlowCommands } from './lostFlows.ts';
import { moneyText, printLine, printRows, timeText } from './print.ts';
import { withTemporal } from './temporal.ts';

/** The default of the sweep: the start of a younger resource's flow may still be in the outbox. */
const AGE_MIN_SECONDS = 20;

export function addFlowCommands(program: Command): void {
  const group = program
    .command('flows')
    .description('find missing flows of open resources, and flows without a resource');
  addLostFlowCommands(group);

  addCommand(group, 'missing', 'list open resources that have no running flow', 'flows missing --start')
    .option('--start', 'restart the missing flows')
    .option('--age <seconds>', 'skip resources younger than this', seconds, AGE_MIN_SECONDS)
    .action(async (options: { start?: true; age: number; json?: true }) => {
      const { findMissingFlows, restartFlow } = await import('../recovery/missingFlows.ts');
      const missing = await withTemporal((client) =>
        withDatabase('application', async (sql) => {
          const flows: MissingFlow[] = [];
          for await (const flow of findMissingFlows({ sql, client }, { ageMinMs: options.age * 1000 })) {
            if (options.start) await restartFlow(sql, flow);
            flows.push(flow);
          }
          return flows;
        }),
      );
      printRows(
        options,
        missing.map(({ resource, start: { message } }) => ({
          id: message.id,
          flow: message.workflow,
          since: resource.createdAt,
          amount: message.input.amount ?? null,
          started: options.start ?? false,
        })),
        {
          Flow: (row) => row.flow,
          Id: (row) => row.id,
          'Accepted (UTC)': (row) => timeText(row.since),
          Amount: (row) => moneyText(row.amount),
        },
        `Every open resource older than ${options.age} s has a running flow.`,
      );
      if (missing.length > 0 && !options.json) {
        printLine(
          options.start
            ? 'The missing flows are being restarted.'
            : 'Restart them now with --start; otherwise the next sweep restarts them.',
        );
      }
    });
}

function seconds(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a number of seconds.');
  return Number(text);
}
