// Shared by commands: the options --json, --organisation and --environment, an example in the help and a database
// connection that is always closed.
import { type Command, Option } from 'commander';
import { connect, type Sql } from '../database/pool.ts';
import { ENVIRONMENTS } from '../money.ts';
import { ownerUrlOf, readSettings, type Settings } from './settings.ts';

/** Adds a command with the shared options. `example` is the part after `npm run cli -- `. */
export function addCommand(parent: Command, usage: string, description: string, example: string): Command {
  return parent
    .command(usage)
    .description(description)
    .option('--json', 'print one JSON value instead of a table')
    .addHelpText('after', `\nExample:\n  $ npm run --silent cli -- ${example}`);
}

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

/** `of`: what belongs to the organisation. Without a value `chooseOrganisation` finds one. */
export const organisationOption = (of: string): Option =>
  new Option(
    '--organisation <id>',
    `the organisation of ${of} (default: the organisation that \`npm start\` created, or the only one)`,
  );

export const environmentOption = (description = 'test (the sandbox, no real money) or live'): Option =>
  new Option('--environment <name>', description).choices(ENVIRONMENTS);
