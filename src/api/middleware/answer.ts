// The outermost middleware: assigns the request id, turns every error into an error envelope, enforces the request's
// deadline, and writes the log line and the metrics. The only place where errors are caught.
import type { IncomingMessage } from 'node:http';
import type { Context, Next } from 'koa';
import { withinAttempt } from '../../concurrency/attempt.ts';
import { REQUEST_MAX_MS, REQUEST_RAIL_MAX_MS } from '../../concurrency/timeLimits.ts';
import { withTimeout } from '../../concurrency/withTimeout.ts';
import { isBadValue, isContention, isNotProven, isOutage } from '../../database/errors.ts';
import { isPublicId, publicId } from '../../ids.ts';
import type { Environment } from '../../money.ts';
import { type PendingCalls, trackPendingCalls } from '../../rail/pendingCalls.ts';
import type { Log } from '../../telemetry/log.ts';
import { countRequest } from '../../telemetry/metrics.ts';
import { isIdempotencyKey } from '../admission/idempotency.ts';
import { errorEnvelope, newRequestId, REQUEST_ID_PREFIX, timeOfRequestId } from '../envelope.ts';
import { ApiError, helpLink, invalidField } from '../errors.ts';
import type { LogEntry, RequestLog } from '../requestLog.ts';
import type { Caller } from '../route.ts';
import { isHeld } from './holdRefusals.ts';

export function respond(log: Log, environment: Environment, requestLog: RequestLog) {
  return async (ctx: Context, next: Next): Promise<void> => {
    const started = performance.now();
    const requestId = newRequestId();
    ctx.state.requestId = requestId;
    ctx.set('X-Request-Id', requestId);
    ctx.set('Cache-Control', 'no-store');
    try {
      await withDeadline(ctx, next);
    } catch (fault) {
      const error = asApiError(fault);
      // A 5xx that is not retryable comes from the configuration, such as live without a rail: a warning, not an error.
      // The refusals of an overloaded process are counted, not logged as errors: there may be thousands a second.
      if (error.status >= 500 && !isHeld(ctx))
        log[error.details.retryable === true ? 'error' : 'warn']({ requestId, err: fault }, error.code);
      // Validation should have rejected the value. Postgres quotes it in the message, so the error is not logged.
      else if (isBadValue(fault))
        log.warn({ requestId, sqlState: fault.code }, 'Postgres rejected a value of a request');
      ctx.status = error.status;
      // What a person gets instead of the envelope, where the route is a page: HTML.
      const errorPage = ctx.state.errorPage as ((error: ApiError, requestId: string) => string) | undefined;
      ctx.body = errorPage === undefined ? errorEnvelope(error, requestId) : errorPage(error, requestId);
      ctx.set('Link', helpLink(error.code));
      ctx.state.errorCode = error.code;
      ctx.state.errorDetails = error.details;
      ctx.state.resource = publicIdInPath(ctx);
    }
    const elapsedMs = performance.now() - started;
    countRequest(environment, ctx.state.route, ctx.status, elapsedMs / 1000);
    const durationMs = Math.round(elapsedMs);
    const { route, resource } = ctx.state;
    const line = { requestId, method: ctx.method, route, resource, status: ctx.status, durationMs };
    log.info(ctx.state.errorCode === undefined ? line : { ...line, ...failureFields(ctx) }, 'request');
    const entry = logEntry(ctx, durationMs);
    if (entry !== null) requestLog.add(entry);
  };
}

/** The entry of the request log; null for a request without an authenticated caller. */
function logEntry({ state, method, status, headers }: Context, durationMs: number): LogEntry | null {
  const caller = state.caller as Caller | undefined;
  if (caller === undefined) return null;
  const idempotencyKey = String(headers['idempotency-key'] ?? '');
  return {
    ...caller.book,
    requestId: (state.requestId as string).slice(REQUEST_ID_PREFIX.length),
    keyId: caller.keyId,
    method,
    route: (state.route as string).replace(/^\S+ /, ''),
    resource: state.resource ?? null,
    status,
    errorCode: state.errorCode ?? null,
    error: state.errorDetails ?? null,
    idempotencyKey: isIdempotencyKey(idempotencyKey) ? idempotencyKey : null,
    durationMs,
    createdAt: timeOfRequestId(state.requestId),
  };
}

/** Log fields by which support finds a failed request: error code, organisation and API key. */
function failureFields({ state }: Context): object {
  const caller = state.caller as Caller | undefined;
  return {
    code: state.errorCode,
    organisationId: caller && publicId('organisation', caller.book.organisationId),
    keyId: caller && publicId('apiKey', caller.keyId),
  };
}

/** The parameter of the path that is a public id. Others may be names or account numbers: never logged. */
const publicIdInPath = ({ state }: Context): string | undefined =>
  Object.values((state.params as Record<string, string> | undefined) ?? {}).find(isPublicId);

/**
 * Fails with a timeout after REQUEST_MAX_MS: 400 if the body has not come, 504 if a rail call is pending, else 503 for
 * the database. The work continues without the caller: if it commits, its outcome is stored under the idempotency key,
 * and a retry returns it. A rail call ends earlier, after REQUEST_RAIL_MAX_MS, so that there is time to record its
 * failure and respond.
 */
async function withDeadline({ req }: Context, next: Next): Promise<void> {
  const pending = { railCalls: 0 };
  const endsAt = performance.now() + REQUEST_RAIL_MAX_MS;
  const work = withinAttempt({ endsAt }, () => trackPendingCalls(pending, next));
  await withTimeout(work, REQUEST_MAX_MS, () => timeoutError(req, pending));
}

function timeoutError({ complete }: IncomingMessage, { railCalls }: PendingCalls): ApiError {
  if (!complete) {
    const message = `must arrive within ${REQUEST_MAX_MS / 1_000} seconds`;
    return invalidField({ field: '', code: 'incomplete_body', message });
  }
  return railCalls > 0
    ? new ApiError('BANK_RAIL_TIMEOUT', { service: 'bank_rail' })
    : new ApiError('SERVICE_UNAVAILABLE', { service: 'database' });
}

/** Maps any error to a code of the catalog, without internal details. */
function asApiError(fault: unknown): ApiError {
  if (fault instanceof ApiError) return fault;
  if (isBadValue(fault)) return new ApiError('VALIDATION_FAILED', {}, { cause: fault });
  if (isNotProven(fault)) return new ApiError('API_KEY_INVALID');
  if (isOutage(fault) || isContention(fault)) {
    return new ApiError('SERVICE_UNAVAILABLE', { service: 'database' }, { cause: fault });
  }
  // Koa and the router throw a 400 for input that they cannot decode, such as a malformed % sequence in a path.
  if ((fault as { status?: unknown } | null)?.status === 400 || fault instanceof URIError) {
    return new ApiError('VALIDATION_FAILED', {}, { cause: fault });
  }
  return new ApiError('INTERNAL_ERROR', {}, { cause: fault });
}
