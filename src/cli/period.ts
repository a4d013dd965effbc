// The options --from and --to of commands.
import { CommandError } from './failure.ts';

const DAY_MS = 86_400_000;

/** A period; ISO 8601. */
export interface PeriodInput {
  from: string;
  to: string;
}

/** The period of the options; null: none was given. */
export function periodOf(options: { from?: string; to?: string }): PeriodInput | null {
  if (options.from === undefined && options.to === undefined) return null;
  const to = readTime(options.to) ?? new Date();
  const from = readTime(options.from) ?? new Date(to.getTime() - DAY_MS);
  return { from: from.toISOString(), to: to.toISOString() };
}

/** A time that was given as an option; null: none was. */
export function readTime(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new CommandError(`${text} is not a valid time. Write it as 2026-01-31T12:00:00Z.`);
  return time;
}
