// Errors as Citus passes them on from a node, in the form of a plain Postgres: elsewhere nothing knows of it. Its own
// errors are all XX000, and only their messages differ.

/** What the classification of an error needs (errors.ts). */
export interface PostgresError {
  code: unknown;
  constraint: string | null;
}

/** By the beginning of the message, the SQLSTATE of a plain Postgres. */
const CODES = {
  'failure on connection marked as essential': '08006',
  'server closed the connection unexpectedly': '08006',
  // The statement was planned before the shard of its organisation was split.
  'could not find valid entry for shard': '40001',
};

/** The number of a shard, from 102008 on, behind the name of a constraint. */
const SHARD_NUMBER = /_\d{6,}$/;

export function plainError(error: unknown): PostgresError {
  const { code, constraint_name: constraint, message } = (error ?? {}) as Record<string, unknown>;
  const text = typeof message === 'string' ? message : '';
  // Citus does not forward the name of a constraint: then it is the last one in double quotes of the message.
  const name =
    typeof constraint === 'string' && constraint !== '' ? constraint : [...text.matchAll(/"([^"]+)"/g)].at(-1)?.[1];
  const own = code === 'XX000' ? Object.entries(CODES).find(([beginning]) => text.startsWith(beginning)) : undefined;
  return { code: own?.[1] ?? code, constraint: name?.replace(SHARD_NUMBER, '') ?? null };
}
