// `migrate`: applies pending database migrations. Safe to run at any time, also concurrently.
import type { Command } from 'commander';
import { migrate } from '../database/migrate.ts';
import { addCommand } from './command.ts';
import { printJson, printLine } from './print.ts';
import { ownerUrlOf, readSettings } from './settings.ts';

export function addMigrateCommand(program: Command): void {
  addCommand(program, 'migrate', 'apply pending database migrations', 'migrate').action(
    async (options: { json?: true }) => {
      const { applied } = await migrate(ownerUrlOf(readSettings()), options.json ? {} : { log: printLine });
      if (options.json) return printJson({ applied });
      if (applied.length === 0) printLine('The database is up to date; no migration was pending.');
    },
  );
}
