// Options that several commands have, and parsers of the values of options.
import { InvalidArgumentError, Option } from 'commander';
import { ENVIRONMENTS } from '../money.ts';
import { DAY_MS, dayStart, readDay, readTime } from '../times.ts';
import type { Command } from './command.ts';
import { CommandError, EXIT } from './failure.ts';

/** `of`: what belongs to the organisation. Without a value `chooseOrganisation` finds one. */
export const organisationOption = (of: string): Option =>
  new Option(
    '--organisation <id>',
    `the organisation of ${of} (default: the organisation that \`npm start\` created, or the only one)`,
  );

export const environmentOption = (description = 'test (the sandbox, no real money) or live'): Option =>
  new Option('--environment <name>', description).choices(ENVIRONMENTS);

/** A text without space around it, of 1 to `max` characters that Postgres can store. */
export const text =
  (max: number) =>
  (value: string): string => {
    const trimmed = value.trim();
    if (trimmed.length >= 1 && trimmed.length <= max && !trimmed.includes('\0') && trimmed.isWellFormed())
      return trimmed;
    throw new InvalidArgumentError(`It must have 1 to ${max} characters.`);
  };

const TEXT_MAX = 500;

export const reasonOption = (max = TEXT_MAX): Option =>
  new Option('--reason <text>', 'the reason, recorded in the audit log').argParser(text(max)).makeOptionMandatory();

export const evidenceOption = (max = TEXT_MAX): Option =>
  new Option('--evidence <text>', "the evidence for it, for example the bank's ticket")
    .argParser(text(max))
    .makeOptionMandatory();

/** `of`: what is counted, such as ` of days`. */
export const wholeNumber =
  (max: number, of = '', min = 1) =>
  (value: string): number => {
    if (/^(0|[1-9]\d{0,14})$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value);
    throw new InvalidArgumentError(`It must be a whole number${of}, ${min} to ${max}.`);
  };

export const matching =
  (pattern: RegExp, message: string) =>
  (value: string): string => {
    if (pattern.test(value)) return value;
    throw new InvalidArgumentError(message);
  };

/** Values separated by commas, each once. `message` gets those that are not valid. */
export const listOf =
  <Value extends string>(isValid: (value: string) => boolean, message: (invalid: string) => string) =>
  (list: string): Value[] => {
    const values = list.split(',').map((value) => value.trim());
    const invalid = values.filter((value) => !isValid(value));
    if (invalid.length > 0) throw new InvalidArgumentError(message(invalid.join(', ') || '(empty)'));
    return [...new Set(values)] as Value[];
  };

export const scopeList = <Scope extends string>(allowed: readonly Scope[]) =>
  listOf<Scope>(
    (scope) => (allowed as readonly string[]).includes(scope),
    (unknown) => `No such scope: ${unknown}. Choose from ${allowed.join(', ')}.`,
  );

/** A time with its zone, or the start of a day in Nigeria. */
export function time(value: string): Date {
  const day = readDay(value);
  const read = day === null ? readTime(value, null) : dayStart(day);
  if (read !== null) return read;
  throw new InvalidArgumentError(
    'It must be a day, such as 2026-01-31, or a time in ISO 8601 with a time zone, such as 2026-01-31T12:00:00Z.',
  );
}

export interface Period {
  from?: Date;
  to?: Date;
}

export const addPeriod = (command: Command): Command =>
  command
    .option('--from <time>', 'start of a period, ISO 8601 (default: 24 hours before its end)', time)
    .option('--to <time>', 'end of a period, ISO 8601 (default: now)', time);

/** The period of --from and --to, as a flow reads it; null: neither was given. */
export function periodOf(options: Period): { from: string; to: string } | null {
  if (options.from === undefined && options.to === undefined) return null;
  const to = options.to ?? new Date();
  const from = options.from ?? new Date(to.getTime() - DAY_MS);
  if (from >= to) throw new CommandError('The period ends before it begins. Correct --from or --to.', EXIT.usage);
  return { from: from.toISOString(), to: to.toISOString() };
}
