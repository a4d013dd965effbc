// Why a request had no response.

/** The innermost reason of a failed fetch: what the connection met. */
export function reasonOf(fault: unknown): string {
  const { message, cause, errors } = (fault ?? {}) as { message?: unknown; cause?: unknown; errors?: unknown };
  // A host with several addresses has a failure for each.
  const inner = Array.isArray(errors) && errors.length > 0 ? errors[0] : cause;
  if (inner !== undefined && inner !== null) return reasonOf(inner);
  return typeof message === 'string' && message !== '' ? message : String(fault);
}
