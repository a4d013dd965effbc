// `flows …`: accepted resources that no flow looks after. The sweeper finds and starts them by itself; this is for the
// person who wants to see them, or to whom half a minute is too long.
import { type Command, InvalidArgumentError } from 'commander';
import type { MissingFlow } from '../outbox/missingFlows.ts';
import { addCommand, withDatabase } from './command.ts';
import { printJson, printLine, printTable, timeText } from './print.ts';
import { withTemporal } from './temporal.ts';

/** As the sweeper's own default: what is younger may still be on its way. */
const AGE_MIN_SECONDS = 20;

export function addFlowCommands(program: Command): void {
  const group = program.command('flows').description('look after the flows of accepted resources');

  addCommand(
    group,
    'missing',
    'list accepted resources that have not ended and have no open flow',
    'flows missing --start',
  )
    .option('--start', 'start their flows again')
    .option('--age <seconds>', 'leave younger ones alone', seconds, AGE_MIN_SECONDS)
    .action(async (options: { start?: true; age: number; json?: true }) => {
      const { findMissingFlows, restartFlow } = await import('../outbox/missingFlows.ts');
      const { Journal } = await import('../ledger/journal.ts');
      const missing = await withTemporal((client) =>
        withDatabase('application', async (sql) => {
          const journal = new Journal(sql);
          const found: MissingFlow[] = [];
          for await (const one of findMissingFlows({ sql, client }, { ageMinMs: options.age * 1000 })) {
            if (options.start) await restartFlow(journal, one);
            found.push(one);
          }
          return found;
        }),
      );
      if (options.json) {
        printJson(
          missing.map(({ resource, start: { message } }) => ({
            id: message.id,
            flow: message.workflow,
            since: resource.createdAt,
            amount: message.input.amount ?? null,
            started: options.start ?? false,
          })),
        );
        return;
      }
      printTable(
        ['Flow', 'Id', 'Accepted (UTC)', 'Kobo'],
        missing.map(({ resource, start: { message } }) => [
          message.workflow,
          message.id,
          timeText(resource.createdAt),
          String(message.input.amount ?? '-'),
        ]),
        `Every resource that was accepted more than ${options.age} s ago has its flow.`,
      );
      if (missing.length > 0) {
        printLine(
          options.start ? 'They are being started again.' : 'Start them with --start; the sweeper does so too.',
        );
      }
    });
}

function seconds(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a number of seconds.');
  return Number(text);
}
