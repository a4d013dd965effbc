// `migrate`: applies pending database migrations. Safe to run at any time, also concurrently.
import { migrate } from '../database/migrate.ts';
import { addCommand, type Command } from './command.ts';
import { printLine, printResult } from './print.ts';
import { ownerUrlOf, readSettings } from './settings.ts';

export function addMigrateCommand(program: Command): void {
  addCommand(program, 'migrate', 'apply pending database migrations')
    .example('migrate')
    .action(async (options: { json?: true }) => {
      const { applied } = await migrate(ownerUrlOf(readSettings()), options.json ? {} : { log: printLine });
      const isUpToDate = applied.length === 0;
      printResult(options, { applied }, isUpToDate && 'The database is up to date; no migration was pending.');
    });
}
