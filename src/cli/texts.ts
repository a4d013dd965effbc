// Texts that an operator gives to a command, such as a reason.
import { CommandError, EXIT } from './failure.ts';

/** The text without space around it. Throws unless it has 1 to `max` characters that Postgres can store. */
export function checkText(option: string, value: string, max: number): string {
  const text = value.trim();
  if (text.length >= 1 && text.length <= max && !text.includes('\0') && text.isWellFormed()) return text;
  throw new CommandError(`${option} must have 1 to ${max} characters.`, EXIT.usage);
}
