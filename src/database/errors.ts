// What an error of the driver means, by its SQLSTATE, constraint or system code; never by its text.

/**
 * True when the database could not be reached, went away or took too long: the caller may try again; what was sent may have
 * happened.
 */
export function isOutage(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return (
    typeof code === 'string' &&
    (/^(ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)/.test(code) ||
      /^CONNECT(ION)?_/.test(code) ||
      /^(08|57P0|57014|53)/.test(code))
  );
}

/** True when the database ended the statement because of `statement_timeout`: nothing of it was written. */
export function isStatementTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '57014';
}

/** True for a value that Postgres cannot read or hold (SQLSTATE class 22), such as a time out of its range. */
export function isBadValue(error: unknown): error is { code: string } {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^22[0-9A-Z]{3}$/.test(code);
}

/** True for a lock conflict that Postgres resolved by ending one side; nothing was written and a repeat may pass. */
export function isContention(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === '40001' || code === '40P01' || code === '55P03';
}

/** The name of the violated CHECK, or null when the error is something else. */
export function violatedCheck(error: unknown): string | null {
  const fault = error as { code?: unknown; constraint_name?: unknown } | null;
  return fault?.code === '23514' && typeof fault.constraint_name === 'string' ? fault.constraint_name : null;
}

/** The name of the violated unique constraint, or null when the error is something else. */
export function violatedUnique(error: unknown): string | null {
  const fault = error as { code?: unknown; constraint_name?: unknown } | null;
  return fault?.code === '23505' && typeof fault.constraint_name === 'string' ? fault.constraint_name : null;
}
