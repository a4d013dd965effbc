// What every command has in common: --json, an example in its help, one pool that is closed whatever happens, and who
// is at the keyboard for the audit trail.
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { connect, type Sql } from '../database/pool.ts';
import { readSettings, type Settings } from './settings.ts';

/** Adds a command with the options that all of them take. `example` is what follows `npm run cli -- `. */
export function addCommand(parent: Command, usage: string, description: string, example: string): Command {
  return parent
    .command(usage)
    .description(description)
    .option('--json', 'print one JSON value instead of a table')
    .addHelpText('after', `\nExample:\n  $ npm run --silent cli -- ${example}`);
}

/** Runs `work` with a connection to the database. */
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
  'who does this, for the audit trail (default: your user name)',
] as const;

/** Who does this: what they say, else the user of this process. */
export function operatorName(said: string | undefined): string {
  if (said !== undefined && said.trim() !== '') return said.trim();
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`; // a container's user need not have a name
  }
}
