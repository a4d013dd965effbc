// The outermost middleware: gives the request its id, turns whatever happens inside into one of the three envelopes,
// and is the only place where an error is caught.
import type { Context, Next } from 'koa';
import { withinAttempt } from '../../concurrency/attempt.ts';
import { REQUEST_MAX_MS, REQUEST_RAIL_MAX_MS } from '../../concurrency/timeLimits.ts';
import { isBadValue, isOutage } from '../../database/errors.ts';
import { isPublicId, publicId } from '../../ids.ts';
import type { Environment } from '../../money.ts';
import { type PendingCalls, trackPendingCalls } from '../../rail/pendingCalls.ts';
import type { Log } from '../../telemetry/log.ts';
import { countRequest } from '../../telemetry/metrics.ts';
import { errorEnvelope, newRequestId } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import type { Caller } from '../route.ts';

export function respond(log: Log, environment: Environment) {
  return async (ctx: Context, next: Next): Promise<void> => {
    const started = performance.now();
    const requestId = newRequestId();
    ctx.state.requestId = requestId;
    ctx.set('X-Request-Id', requestId);
    ctx.set('Cache-Control', 'no-store');
    try {
      await inTime(next);
    } catch (fault) {
      const error = asApiError(fault);
      // What no retry would mend is how this installation is set up, such as live without a rail, and no fault.
      if (error.status >= 500) log[error.isRetryable ? 'error' : 'warn']({ requestId, err: fault }, error.code);
      // Our own checks should have refused it. The message of such an error repeats the value, so it is not logged.
      else if (isBadValue(fault))
        log.warn({ requestId, sqlState: fault.code }, 'Postgres refused a value of a request');
      ctx.status = error.status;
      ctx.body = errorEnvelope(error, requestId);
      ctx.state.errorCode = error.code;
      ctx.state.resource = ownIdIn(ctx);
      if (!ctx.req.complete) ctx.set('Connection', 'close'); // the rest of an unread body is not worth reading
    }
    const tookMs = performance.now() - started;
    countRequest(environment, ctx.state.route, ctx.status, tookMs / 1000);
    const durationMs = Math.round(tookMs);
    const { route, resource } = ctx.state;
    const line = { requestId, method: ctx.method, route, resource, status: ctx.status, durationMs };
    log.info(ctx.state.errorCode === undefined ? line : { ...line, ...blame(ctx) }, 'request');
  };
}

/** What support needs to find a failed request by: why it failed, and whose it was as far as the key was known. */
function blame({ state }: Context): object {
  const caller = state.caller as Caller | undefined;
  return {
    code: state.errorCode,
    organisationId: caller && publicId('organisation', caller.book.organisationId),
    keyId: caller && publicId('apiKey', caller.keyId),
  };
}

/** The id in a path that has the form of one of ours. Anything else there may be a name or a number, and is not logged. */
const ownIdIn = ({ state }: Context): string | undefined =>
  Object.values((state.params as Record<string, string> | undefined) ?? {}).find(isPublicId);

/**
 * Waits no longer than the deadline, and then tells which of the two it was: 504 for the rail, 503 for the database. What
 * was begun goes on without the caller: if it commits, its outcome is stored under the idempotency key, and the retry is
 * told it. A call of the rail that is still open shortly before ends first, so that its failure is recorded and answered.
 */
async function inTime(next: Next): Promise<void> {
  const waiting = { railCalls: 0 };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate(waiting)), REQUEST_MAX_MS);
  });
  const endsAt = performance.now() + REQUEST_RAIL_MAX_MS;
  const work = withinAttempt({ endsAt }, () => trackPendingCalls(waiting, next));
  work.catch(() => {}); // heard below, unless it is late
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const tooLate = ({ railCalls }: PendingCalls): ApiError =>
  railCalls > 0
    ? new ApiError('BANK_RAIL_TIMEOUT', { service: 'bank_rail' })
    : new ApiError('SERVICE_UNAVAILABLE', { service: 'database' });

/** What the caller is told of a fault: a code of the catalog and never what is inside. */
function asApiError(fault: unknown): ApiError {
  if (fault instanceof ApiError) return fault;
  if (isBadValue(fault)) return new ApiError('VALIDATION_FAILED', {}, { cause: fault });
  if (isOutage(fault)) return new ApiError('SERVICE_UNAVAILABLE', { service: 'database' }, { cause: fault });
  // Koa and the router complain of what they cannot decode, for example a broken % sequence in a path.
  if ((fault as { status?: unknown } | null)?.status === 400 || fault instanceof URIError) {
    return new ApiError('VALIDATION_FAILED', {}, { cause: fault });
  }
  return new ApiError('INTERNAL_ERROR', {}, { cause: fault });
}
