// How a command fails: on standard error what is wrong, what to do next and the request id; with --json one document on
// standard output too; and an exit code for scripts.
import { CommanderError } from 'commander';
import { ManillaError } from '../../typescript/src/index.ts';
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
    const exitCode = status === 429 || status >= 500 ? EXIT.unreachable : EXIT.failed;
    return { code, message, exitCode, status, details, ...(requestId !== '' && { requestId }), helpUrl };
  }
  const reason = reasonOf(fault);
  if (isNetworkError(fault)) {
    const message = `The API did not respond (${reason}). Start it, or give its address: --url, MANILLA_URL or manilla login.`;
    return { code: 'NO_RESPONSE', message, exitCode: EXIT.unreachable };
  }
  if (fault instanceof SyntaxError || fault instanceof TypeError) {
    const message = `The response is not one of this API (${reason}). Check the address; it ends in /v1.`;
    return { code: 'UNREADABLE_RESPONSE', message, exitCode: EXIT.unreachable };
  }
  return { code: 'FAILED', message: reason, exitCode: EXIT.failed };
}

/** What is known of anything thrown, errors of other realms included. */
const asError = (fault: unknown) =>
  (fault ?? {}) as { name?: unknown; message?: unknown; cause?: unknown; errors?: unknown };

/** Whether `fetch` got no response, or lost the connection within it. */
export function isNetworkError(fault: unknown): boolean {
  const { name, message } = asError(fault);
  return message === 'fetch failed' || message === 'terminated' || name === 'TimeoutError';
}

/** The innermost reason of a failure: of a failed fetch, what the connection met. */
export function reasonOf(fault: unknown): string {
  const { message, cause, errors } = asError(fault);
  // A host with several addresses has a failure for each.
  if (Array.isArray(errors) && errors.length > 0) return reasonOf(errors[0]);
  if (cause !== undefined && cause !== null) return reasonOf(cause);
  return typeof message === 'string' && message !== '' ? message : String(fault);
}

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
