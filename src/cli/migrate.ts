// `migrate`: brings the database up to date. Safe to run at any time, by many processes at once.
import type { Command } from 'commander';
import { migrate } from '../database/migrate.ts';
import { addCommand } from './command.ts';
import { printJson, printLine } from './print.ts';
import { readSettings } from './settings.ts';

export function addMigrateCommand(program: Command): void {
  addCommand(program, 'migrate', 'bring the database up to date', 'migrate').action(
    async (options: { json?: true }) => {
      const { applied } = await migrate(readSettings().databaseUrl, options.json ? {} : { log: printLine });
      if (options.json) return printJson({ applied });
      if (applied.length === 0) printLine('The database was up to date already.');
    },
  );
}
