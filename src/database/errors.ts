// Classifies errors of the Postgres driver by SQLSTATE, constraint or system error code, never by message.
import { plainError } from './citusErrors.ts';

/** The database was unreachable, went away or timed out. The statement may have been executed nevertheless. */
export function isOutage(error: unknown): boolean {
  const { code } = plainError(error);
  return (
    typeof code === 'string' &&
    (/^(ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)/.test(code) ||
      /^CONNECT(ION)?_/.test(code) ||
      /^(08|57P0|57014|53)/.test(code))
  );
}

/** True when Postgres cancelled the statement (`statement_timeout`): none of it was written. */
export function isStatementTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '57014';
}

/** True for a value that Postgres cannot parse or store (SQLSTATE class 22), such as a time out of range. */
export function isBadValue(error: unknown): error is { code: string } {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^22[0-9A-Z]{3}$/.test(code);
}

/** True for a serialization failure, a deadlock or a lock timeout: nothing was written, and a retry may succeed. */
export function isContention(error: unknown): boolean {
  const { code } = plainError(error);
  return code === '40001' || code === '40P01' || code === '55P03';
}

/** The name of the violated CHECK constraint; null for any other error. */
export const violatedCheck = (error: unknown): string | null => violated(error, '23514');

/** The name of the violated unique constraint; null for any other error. */
export const violatedUnique = (error: unknown): string | null => violated(error, '23505');

/** True when the database did not accept the proof of who decides: the key was revoked or lost its scope meanwhile. */
export const isNotProven = (error: unknown): boolean => violated(error, '42501') === 'decision_not_proven';

function violated(error: unknown, violation: '23505' | '23514' | '42501'): string | null {
  const { code, constraint } = plainError(error);
  return code === violation ? constraint : null;
}
