// Handles a request with an Idempotency-Key (contract, section 4.2): replays the outcome of a known key, or has the
// handler commit it with its change.
import type { Context } from 'koa';
import { violatedUnique } from '../database/errors.ts';
import { ONE_OUTCOME } from '../ledger/keepOutcome.ts';
import {
  fingerprint,
  type IdempotencyKeys,
  type KeyAttempt,
  outcomeOf,
  readIdempotencyKey,
  type StoredOutcome,
} from './admission/idempotency.ts';
import { ApiError } from './errors.ts';
import { type Call, type Route, takesIdempotencyKey } from './route.ts';

/** Runs the handler of a route, once for each Idempotency-Key if the route takes one. */
export async function handleIdempotently(
  keys: IdempotencyKeys,
  route: Route,
  keyIsKnown: boolean,
  call: Call,
  ctx: Context,
): Promise<unknown> {
  const header = ctx.get('Idempotency-Key');
  const isLeftOut = header === '' && route.idempotencyKey !== 'required';
  if (!takesIdempotencyKey(route) || isLeftOut) return await route.handle(call);
  const key = readIdempotencyKey(header);
  const { book } = call;
  // Only an uploaded file comes with a query.
  const path = ctx.querystring === '' ? ctx.path : `${ctx.path}?${ctx.querystring}`;
  // A secret is shown only to the API key that asked for it.
  const asker = route.returnsSecret === true ? `${path} ${call.caller.keyId}` : path;
  const requestFingerprint = fingerprint(ctx.method, asker, call.rawBody);
  const stored = keyIsKnown ? await keys.find(book, key, requestFingerprint) : null;
  if (stored !== null) return replay(ctx, route, call, key, stored);
  const attempt = keys.reserve(book, key, requestFingerprint);
  let isBuilt = false;
  try {
    const data = await route.handle({
      ...call,
      outcome: (committed) => {
        isBuilt = true;
        return outcomeOf(attempt, successOf(route, call, key, committed));
      },
      repeatId: `${contextOf(call, key)}/${requestFingerprint}`,
    });
    if (isBuilt || (await keys.store(attempt, successOf(route, call, key, data)))) return data;
    throw new ApiError('IDEMPOTENCY_IN_PROGRESS');
  } catch (error) {
    if (violatedUnique(error) === ONE_OUTCOME) throw new ApiError('IDEMPOTENCY_IN_PROGRESS');
    throw await storeRefusal(keys, attempt, error);
  } finally {
    keys.release(attempt);
  }
}

const contextOf = ({ book }: Call, key: string): string => `${book.organisationId}/${book.environment}/${key}`;

/** The outcome of a success. One with a secret is sealed: it is shown once, and to this caller only. */
function successOf(route: Route, call: Call, key: string, data: unknown): StoredOutcome {
  const response = JSON.stringify({ data });
  const { keyring } = call.dependencies;
  return {
    statusCode: route.success.status,
    response: route.returnsSecret === true ? keyring.seal('idempotency', contextOf(call, key), response) : response,
  };
}

/** The data of a stored success; throws a stored refusal. */
function replay(ctx: Context, route: Route, call: Call, key: string, { statusCode, response }: StoredOutcome): unknown {
  ctx.set('Idempotent-Replayed', 'true');
  if (statusCode >= 400) {
    const { code, details } = JSON.parse(response);
    throw new ApiError(code, details);
  }
  ctx.status = statusCode;
  const { keyring } = call.dependencies;
  return JSON.parse(
    route.returnsSecret === true ? keyring.open('idempotency', contextOf(call, key), response) : response,
  ).data;
}

/**
 * Stores a refusal (404, 409 or 422) as the outcome of its key; any other error leaves the key unused. Returns the
 * error to send: IDEMPOTENCY_IN_PROGRESS when another attempt has committed meanwhile, and the storage error when the
 * refusal could not be stored, because a retry might then succeed.
 */
async function storeRefusal(keys: IdempotencyKeys, attempt: KeyAttempt, error: unknown): Promise<unknown> {
  if (!(error instanceof ApiError) || error.code === 'IDEMPOTENCY_IN_PROGRESS' || !STORED_REFUSALS.has(error.status)) {
    return error;
  }
  try {
    const response = JSON.stringify({ code: error.code, details: error.details });
    const stored = await keys.store(attempt, { statusCode: error.status, response });
    return stored ? error : new ApiError('IDEMPOTENCY_IN_PROGRESS');
  } catch (storageError) {
    return storageError;
  }
}

const STORED_REFUSALS: ReadonlySet<number> = new Set([404, 409, 422]);
