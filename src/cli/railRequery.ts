// `rail requery`: ask the rails again for the credits of a period, for credits whose callback was lost long ago.
import type { Command } from 'commander';
import type { CreditsPolled } from '../workflows/maintenance/messages.ts';
import { addCommand } from './command.ts';
import { EXIT } from './failure.ts';
import { periodOf, time } from './options.ts';
import { printJson, printLine } from './print.ts';
import { runMaintenance } from './temporal.ts';

export function addRequery(group: Command): void {
  addCommand(
    group,
    'requery',
    'ask the rails for the credits of a period now, on a worker, and import those that no callback reported; exits 1 when a bank fails',
    'rail requery --from 2026-01-01 --to 2026-01-02',
  )
    .option('--from <time>', 'start of the period, ISO 8601 (default: 24 hours before its end)', time)
    .option('--to <time>', 'end of the period, ISO 8601 (default: now)', time)
    .action(async (options: { from?: Date; to?: Date; json?: true }) => {
      const input = periodOf(options);
      const polled = await runMaintenance<CreditsPolled>('creditPolling', input);
      if (polled.failed > 0) process.exitCode = EXIT.failed;
      if (options.json) return printJson({ ...input, ...polled });
      printLine(`${polled.recovered} credits imported; ${polled.failed} of ${polled.books} banks failed.`);
    });
}
