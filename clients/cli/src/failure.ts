// How a command fails: on standard error what is wrong, what to do next and the request id; with --json one document on
// standard output too; and an exit code for scripts.
import { CommanderError } from 'commander';
import { ManillaError } from '../../typescript/src/index.ts';
import { reasonOf } from '../../typescript/src/reason.ts';
import { paint, printDocument } from './output.ts';

/**
 * 0: done. 1: refused by the API, or what was waited for did not come. 2: usage; nothing was sent. 3: no usable
 * response: the same command may succeed later. 130: ended by Ctrl-C before it was done.
 */
export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130 } as const;

/** An error whose message is written for the developer. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A failure as programs get it. */
export interface Failure {
  code: string;
  message: string;
  exitCode: number;
  /** Of an error of the API. */
  status?: number;
  details?: Readonly<Record<string, unknown>>;
  requestId?: string;
  helpUrl?: string | null;
}

/** What to do about an error of the API, where the command line knows more than the API's own message says. */
const ADVICE: Readonly<Record<string, string>> = {
  CONNECTION_FAILED: 'Start the API, or give its address: --url, MANILLA_URL or manilla login',
  UNREADABLE_RESPONSE: 'Check the address; it ends in /v1',
  API_KEY_INVALID: 'Log in again: manilla login',
  API_KEY_ENVIRONMENT_MISMATCH: 'Log in with a test key and the address of the sandbox: manilla login --url URL',
  API_KEY_SCOPE_FORBIDDEN: 'Log in with a key that has the scope: manilla login',
};

/** The failure for anything that a command may throw. */
export function failureOf(fault: unknown): Failure {
  if (fault instanceof CommandError) {
    return {
      code: fault.exitCode === EXIT.usage ? 'USAGE' : 'FAILED',
      message: fault.message,
      exitCode: fault.exitCode,
    };
  }
  if (fault instanceof CommanderError) {
    const message = `${fault.message.replace(/^error: /, '').replace(/\.?$/, '.')} Add --help for the usage.`;
    return { code: 'USAGE', message, exitCode: EXIT.usage };
  }
  if (fault instanceof ManillaError) {
    const { code, status, details, requestId, helpUrl } = fault;
    const message = fault.message.replace(`${code}: `, '');
    const exitCode = isOutage(fault) || code === 'UNREADABLE_RESPONSE' ? EXIT.unreachable : EXIT.failed;
    if (status === 0) return { code, message, exitCode };
    return { code, message, exitCode, status, details, ...(requestId !== '' && { requestId }), helpUrl };
  }
  return { code: 'FAILED', message: reasonOf(fault), exitCode: EXIT.failed };
}

/** Whether the same request may succeed later. */
export const isOutage = (fault: unknown): boolean =>
  fault instanceof ManillaError && (fault.status >= 500 || fault.status === 429 || fault.status === 0);

/** Prints what a command threw, of any type, and returns the exit code. */
export function reportFailure(fault: unknown, commandLine: readonly string[]): number {
  if (fault instanceof CommanderError && fault.exitCode === 0) return EXIT.ok; // --help or --version
  const failure = failureOf(fault);
  // A group without a command has printed its help.
  if (fault instanceof CommanderError && fault.code === 'commander.help') return failure.exitCode;
  if (commandLine.includes('--json')) {
    const { exitCode: _, ...error } = failure;
    printDocument({ error });
  }
  for (const line of linesOf(failure)) process.stderr.write(`${line}\n`);
  return failure.exitCode;
}

/** A failure for people. */
export function linesOf({ code, message, status, details = {}, requestId, helpUrl }: Failure): string[] {
  const advice = ADVICE[code];
  return [
    `${paint('red', 'error:', process.stderr)} ${status === undefined ? '' : `${code}: `}${message}`,
    ...(Object.keys(details).length === 0 ? [] : [`  details: ${JSON.stringify(details)}`]),
    ...(advice === undefined ? [] : [`  next: ${advice}`]),
    ...(requestId === undefined ? [] : [`  request id: ${requestId}`]),
    ...(helpUrl === undefined || helpUrl === null ? [] : [`  help: ${helpUrl}`]),
  ];
}
