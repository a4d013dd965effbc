// How a command fails: one line on standard error that says what to do next, and an exit code for scripts.
import { CommanderError } from 'commander';
import { isOutage } from '../database/errors.ts';

/** 0: success. 1: failure, or a check with findings. 2: usage error; nothing was done. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** An error whose message is written for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Prints the error that a command threw, of any type, and returns the exit code. */
export function reportFailure(fault: unknown): number {
  if (fault instanceof CommanderError) {
    if (fault.exitCode === 0) return EXIT.ok; // --help or --version
    // A group without a command has already printed its help.
    if (fault.code !== 'commander.help') printError(`${fault.message.replace(/\.?$/, '.')} Add --help for the usage.`);
    return EXIT.usage;
  }
  if (fault instanceof CommandError) {
    printError(fault.message);
    return fault.exitCode;
  }
  printError(explain(fault));
  return EXIT.failed;
}

function printError(message: string): void {
  const line = message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ');
  process.stderr.write(`error: ${line}\n`);
}

/** SQLSTATEs of a database that was never migrated: undefined table, undefined schema, undefined role. */
const NOT_MIGRATED = new Set(['42P01', '3F000', '22023']);
/** SQLSTATEs of a wrong user or password, and of a database that does not exist. */
const CONNECTION_REFUSED = new Set(['28000', '28P01', '3D000']);

function explain(fault: unknown): string {
  const code = (fault as { code?: unknown } | null)?.code;
  const message = fault instanceof Error ? fault.message : String(fault);
  if (isOutage(fault)) {
    return `The database cannot be reached (${message || String(code)}). Start it, or set DATABASE_URL to its address.`;
  }
  if (typeof code === 'string' && NOT_MIGRATED.has(code)) {
    return `The database schema is missing or out of date (${message}). Run: npm run cli -- migrate`;
  }
  if (typeof code === 'string' && CONNECTION_REFUSED.has(code)) {
    return `The database refused the connection (${message}). Correct DATABASE_URL: its user, password or database name.`;
  }
  return message;
}
