// Shared by commands: the option --json, an example in the help and a database connection that is always closed.
import { Command as BaseCommand } from 'commander';
import { connect, type Sql } from '../database/pool.ts';
import { ownerUrlOf, readSettings, type Settings } from './settings.ts';

/** A command whose help ends with an example. */
export class Command extends BaseCommand {
  override createCommand = (name?: string): Command => new Command(name);

  /** For the end of the help. `words` is the part after `npm run cli -- `. */
  example(...words: string[]): this {
    return this.addHelpText('after', ['\nExample:', ...words].join('\n  $ npm run --silent cli -- '));
  }
}

/** Adds a command with the option --json. */
export const addCommand = (parent: Command, usage: string, description: string): Command =>
  parent.command(usage).description(description).option('--json', 'print one JSON value instead of a table');

/** Runs `work` with a database connection, or with several, and closes it afterwards. */
export async function withDatabase<Result>(
  role: 'application' | 'owner',
  work: (sql: Sql, settings: Settings) => Promise<Result>,
  connectionsMax = 1,
): Promise<Result> {
  const settings = readSettings();
  const url = role === 'owner' ? ownerUrlOf(settings) : settings.databaseUrl;
  const sql = connect(url, { connectionsMax, role });
  try {
    return await work(sql, settings);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
