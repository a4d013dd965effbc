// How a command fails: one line on standard error that says what to do, and an exit code that a script can act on.
import { CommanderError } from 'commander';
import { isOutage } from '../database/errors.ts';

/** 0: done. 1: it failed, or found something wrong. 2: the command was not used right, and nothing was tried. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** A failure whose message is meant for the person at the terminal. */
export class CommandError extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Prints what went wrong and returns the exit code. Takes whatever a command threw. */
export function reportFailure(fault: unknown): number {
  if (fault instanceof CommanderError) {
    if (fault.exitCode === 0) return EXIT.ok; // --help or --version
    // A group without its command has printed its help already.
    if (fault.code !== 'commander.help') printError(`${fault.message} Add --help to see how it is used.`);
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

/** SQLSTATEs of a database that was never migrated: no such table, no such schema, no such role. */
const NOT_MIGRATED = new Set(['42P01', '3F000', '22023']);
/** SQLSTATEs of a user or password that is wrong, and of a database that does not exist. */
const NOT_ADMITTED = new Set(['28000', '28P01', '3D000']);

function explain(fault: unknown): string {
  const code = (fault as { code?: unknown } | null)?.code;
  const message = fault instanceof Error ? fault.message : String(fault);
  if (isOutage(fault)) {
    return `The database cannot be reached (${message || String(code)}). Start it, or set DATABASE_URL to where it is.`;
  }
  if (typeof code === 'string' && NOT_MIGRATED.has(code)) {
    return `The database is not set up for this version (${message}). Run: npm run cli -- migrate`;
  }
  if (typeof code === 'string' && NOT_ADMITTED.has(code)) {
    return `The database refused the connection (${message}). Correct DATABASE_URL.`;
  }
  return message;
}
