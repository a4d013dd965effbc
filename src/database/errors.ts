// Classifies errors of the Postgres driver by SQLSTATE, constraint or system error code; by message only what Citus
// tells nowhere else: the name of a constraint, and errors of its own, which are all XX000.

/**
 * True when the database was unreachable, went away or timed out. The caller may retry; the statement may have been
 * executed nevertheless.
 */
export function isOutage(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return (
    isOfCitus(error, 'failure on connection marked as essential') ||
    isOfCitus(error, 'server closed the connection unexpectedly') ||
    (typeof code === 'string' &&
      (/^(ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)/.test(code) ||
        /^CONNECT(ION)?_/.test(code) ||
        /^(08|57P0|57014|53)/.test(code)))
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

/**
 * True for a serialization failure, a deadlock or a lock timeout: nothing was written, and a retry may succeed.
 * Likewise for a statement of Citus that was planned before the shard of its organisation was split.
 */
export function isContention(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return (
    isOfCitus(error, 'could not find valid entry for shard') || code === '40001' || code === '40P01' || code === '55P03'
  );
}

/** Whether it is an error of Citus itself whose message begins so. */
function isOfCitus(error: unknown, beginning: string): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return code === 'XX000' && typeof message === 'string' && message.startsWith(beginning);
}

/** The name of the violated CHECK constraint; null for any other error. */
export const violatedCheck = (error: unknown): string | null => violated(error, '23514');

/** The name of the violated unique constraint; null for any other error. */
export const violatedUnique = (error: unknown): string | null => violated(error, '23505');

/**
 * The name as the migrations have it. Citus adds the number of the shard to it (`…_102008`) and does not forward the
 * field that has it: then it is the last name in double quotes of the message.
 */
function violated(error: unknown, code: '23505' | '23514'): string | null {
  const fault = error as { code?: unknown; constraint_name?: unknown; message?: unknown } | null;
  if (fault?.code !== code) return null;
  const told = typeof fault.constraint_name === 'string' ? fault.constraint_name : '';
  const name = told === '' ? lastQuoted(fault.message) : told;
  return name?.replace(SHARD_NUMBER, '') ?? null;
}

/** Citus numbers its shards from 102008. */
const SHARD_NUMBER = /_\d{6,}$/;

const lastQuoted = (message: unknown): string | undefined =>
  typeof message === 'string' ? [...message.matchAll(/"([^"]+)"/g)].at(-1)?.[1] : undefined;
