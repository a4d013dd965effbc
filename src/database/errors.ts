// Classifies errors of the Postgres driver by SQLSTATE, constraint or system error code, by message only of Citus.

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
export const isStatementTimeout = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === '57014';

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

/** Citus's own errors are all XX000: by the beginning of their message, the SQLSTATE of a plain Postgres. */
const CITUS_CODES = {
  'failure on connection marked as essential': '08006',
  'server closed the connection unexpectedly': '08006',
  // The statement was planned before the shard of its organisation was split.
  'could not find valid entry for shard': '40001',
};

/** The number of a shard, from 102008 on, behind the name of a constraint. */
const SHARD_NUMBER = /_\d{6,}$/;

/** An error as Citus passes it on from a node, in the form of a plain Postgres: elsewhere nothing knows of it. */
function plainError(error: unknown): { code: unknown; constraint: string | null } {
  const { code, constraint_name: constraint, message } = (error ?? {}) as Record<string, unknown>;
  const text = typeof message === 'string' ? message : '';
  // Citus does not forward the name of a constraint: then it is the last one in double quotes of the message.
  const name =
    typeof constraint === 'string' && constraint !== '' ? constraint : [...text.matchAll(/"([^"]+)"/g)].at(-1)?.[1];
  const own =
    code === 'XX000' ? Object.entries(CITUS_CODES).find(([beginning]) => text.startsWith(beginning)) : undefined;
  return { code: own?.[1] ?? code, constraint: name?.replace(SHARD_NUMBER, '') ?? null };
}
