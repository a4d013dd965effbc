// Options that several commands have, and parsers of the values of options.
import { InvalidArgumentError, Option } from 'commander';

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
  (max: number, of = '') =>
  (value: string): number => {
    if (/^[1-9]\d{0,14}$/.test(value) && Number(value) <= max) return Number(value);
    throw new InvalidArgumentError(`It must be a whole number${of}, 1 to ${max}.`);
  };

/** A list of scopes, separated by commas. */
export const scopeList =
  <Scope extends string>(allowed: readonly Scope[]) =>
  (list: string): Scope[] => {
    const scopes = list.split(',').map((scope) => scope.trim());
    const unknown = scopes.filter((scope) => !(allowed as readonly string[]).includes(scope));
    if (unknown.length === 0) return [...new Set(scopes)] as Scope[];
    throw new InvalidArgumentError(
      `No such scope: ${unknown.join(', ') || '(empty)'}. Choose from ${allowed.join(', ')}.`,
    );
  };

/** A time with its zone, or the start of a day in UTC. */
export function time(value: string): Date {
  const parsed = new Date(value);
  if (/^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(value) && !Number.isNaN(parsed.getTime())) return parsed;
  throw new InvalidArgumentError('It must be a time in ISO 8601 with a time zone, such as 2026-01-31T12:00:00Z.');
}

const DAY_MS = 86_400_000;

/** The period of --from and --to, as a flow reads it; null: neither was given. */
export function periodOf(options: { from?: Date; to?: Date }): { from: string; to: string } | null {
  if (options.from === undefined && options.to === undefined) return null;
  const to = options.to ?? new Date();
  const from = options.from ?? new Date(to.getTime() - DAY_MS);
  return { from: from.toISOString(), to: to.toISOString() };
}
