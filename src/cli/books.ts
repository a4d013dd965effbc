// Shared by the commands about one book: its options, and amounts in naira.
import type { Command } from 'commander';
import type { Sql } from '../database/pool.ts';
import type { Book, Environment, Kobo } from '../money.ts';
import { addCommand, environmentOption, organisationOption } from './command.ts';
import { chooseOrganisation } from './organisations.ts';
import type { Settings } from './settings.ts';

export interface BookOptions {
  organisation?: string;
  environment: Environment;
  json?: true;
}

/** Adds a command of `ledger` about one book. */
export const addBookCommand = (group: Command, usage: string, description: string, example: string): Command =>
  addCommand(group, usage, description, `ledger ${example}`)
    .addOption(organisationOption('the book'))
    .addOption(environmentOption().makeOptionMandatory());

export const chooseBook = async (sql: Sql, settings: Settings, options: BookOptions): Promise<Book> => ({
  organisationId: await chooseOrganisation(sql, settings, options.organisation),
  environment: options.environment,
});

/** An amount in naira, with both decimals. */
export function decimals(amount: Kobo): string {
  const kobo = String(Math.abs(amount)).padStart(3, '0');
  return `${amount < 0 ? '-' : ''}${kobo.slice(0, -2)}.${kobo.slice(-2)}`;
}
