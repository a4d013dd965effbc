// Shared by commands: the options of every command that calls the API, an example in the help, and parsers of options.
import { type Command, InvalidArgumentError } from 'commander';
import { parseAmount, parseEventTypes, parseSince, parseTarget } from './arguments.ts';
import { EVENT_TYPES } from './recipes.ts';

/** Adds a command with the shared options. `example` is the part after `manilla `. */
export function addCommand(parent: Command, usage: string, description: string, example: string): Command {
  return parent
    .command(usage)
    .description(description)
    .option('--json', 'print one JSON document a line, for programs')
    .option('--url <url>', 'address of the sandbox (default: MANILLA_URL, or that of the login)')
    .option(
      '--api-key-file <file>',
      'file with the test key, - for standard input (default: MANILLA_API_KEY, or login)',
    )
    .addHelpText('after', `\nExample:\n  $ manilla ${example}`);
}

/** A parser of an option, which refuses what `parse` does not understand. */
const parser =
  <Value>(parse: (text: string) => Value | null, allowed: string) =>
  (text: string): Value => {
    const value = parse(text);
    if (value === null) throw new InvalidArgumentError(`Allowed: ${allowed}.`);
    return value;
  };

export const sinceOf = parser(
  (text) => parseSince(text, new Date()),
  'how long ago, such as 90s, 10m, 2h or 1d; or a time such as 2026-11-20T00:00:00Z',
);

export const targetOf = parser(parseTarget, 'an address of HTTP, such as localhost:3000/hooks');

export const amountOf = parser(parseAmount, 'naira from 0.01 to 10,000,000,000, such as 25000 or 25,000.00');

export const secondsOf = parser((text) => (/^[1-9]\d{0,4}$/.test(text) ? Number(text) : null), 'whole seconds');

export function eventTypesOf(text: string): ReadonlySet<string> {
  const types = parseEventTypes(text, EVENT_TYPES);
  if (typeof types === 'string') throw new InvalidArgumentError(`${types} They are: manilla trigger --list`);
  return types;
}
