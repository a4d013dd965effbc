// Shared by all commands: the option --json, an example in the help, a database connection that is always closed, and
// the operator's name for the audit log.
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { connect, type Sql } from '../database/pool.ts';
import { readSettings, type Settings } from './settings.ts';

/** Adds a command with the shared options. `example` is the part after `npm run cli -- `. */
export function addCommand(parent: Command, usage: string, description: string, example: string): Command {
  return parent
    .command(usage)
    .description(description)
    .option('--json', 'print one JSON value instead of a table')
    .addHelpText('after', `\nExample:\n  $ npm run --silent cli -- ${example}`);
}

/** Runs `work` with a database connection and closes it afterwards. */
export async function withDatabase<Result>(
  role: 'application' | 'owner',
  work: (sql: Sql, settings: Settings) => Promise<Result>,
): Promise<Result> {
  const settings = readSettings();
  const sql = connect(settings.databaseUrl, { connectionsMax: 1, role });
  try {
    return await work(sql, settings);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

export const OPERATOR_OPTION = [
  '--operator <name>',
  'your name, recorded in the audit log (default: your user name)',
] as const;

/** Returns the operator's name: the given one, else the user name of this process. */
export function operatorName(given: string | undefined): string {
  if (given !== undefined && given.trim() !== '') return given.trim();
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`; // the user of a container may have no name
  }
}
