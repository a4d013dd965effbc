// Idempotency of POSTs (contract, section 4.2). The outcome of a key is committed in the statement that moves the money
// or makes the change (`IdempotencyOutcome`), and only if no other attempt has committed one. So of two attempts only
// one takes effect, and a crash leaves the whole outcome or nothing.
//
// Until that commit a key is reserved in the memory of its process, so that a repeat which arrives meanwhile is refused
// at once. A repeat that reaches another process is refused when it commits.
import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { violatedUnique } from '../../database/errors.ts';
import type { Sql } from '../../database/pool.ts';
import { newUuid } from '../../ids.ts';
import { ONE_OUTCOME } from '../../ledger/keepOutcome.ts';
import type { IdempotencyOutcome } from '../../ledger/movement.ts';
import type { Book } from '../../money.ts';
import { idempotentRequests } from '../../telemetry/metrics.ts';
import { ApiError } from '../errors.ts';
import { type Call, type Route, takesIdempotencyKey } from '../route.ts';

const KEY = /^[\x21-\x7e]{1,255}$/;

/** An attempt at a request with a key: the outcome, before there is one. */
export interface KeyAttempt extends Pick<IdempotencyOutcome, 'key' | 'attempt' | 'fingerprint'> {
  book: Book;
}

/**
 * The stored outcome of a key. `response` is JSON: `data` of a success, sealed if it has a secret, or `code` and
 * `details` of a refusal.
 */
type StoredOutcome = Pick<IdempotencyOutcome, 'statusCode' | 'response'>;

export const isIdempotencyKey = (header: string): boolean => KEY.test(header);

/** SHA-256 over method, path and raw body. A body with reordered keys or different whitespace is another request. */
export const fingerprint = (method: string, path: string, body: Buffer): string =>
  hash('sha256', Buffer.concat([Buffer.from(`${method}\n${path}\n`), body]), 'base64');

interface Options {
  /** For outcomes: a response that a caller has received must be replayed after any crash, so its commit is durable. */
  sql: Sql;
  /** For look-ups, because its plans use indexes, also while the table is nearly empty. */
  asyncCommitSql: Sql;
  /** The retention of keys; afterwards a key counts as new. */
  keptDays: number;
}

export class IdempotencyKeys {
  readonly #options: Options;
  readonly #reserved = new Map<string, KeyAttempt>();

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * Returns the stored outcome of a key that is in the database. If its retention has ended, deletes it and returns
   * null; null also if it was deleted as too old meanwhile. Throws IDEMPOTENCY_KEY_REUSED.
   */
  async find({ book, key, fingerprint: print }: Omit<KeyAttempt, 'attempt'>): Promise<StoredOutcome | null> {
    const sql = this.#options.asyncCommitSql;
    const where = sql`
      WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND key = ${key}`;
    const cutoff = sql`now() - make_interval(days => ${this.#options.keptDays})`;
    const [stored] = await sql<(StoredOutcome & { same: boolean; expired: boolean })[]>`
      SELECT fingerprint = decode(${print}, 'base64') AS same, created_at < ${cutoff} AS expired, status_code, response
      FROM idempotency_keys ${where}`;
    if (stored === undefined) return null;
    if (stored.expired) {
      await sql`DELETE FROM idempotency_keys ${where} AND created_at < ${cutoff}`;
      return null;
    }
    if (!stored.same) refuse('reused');
    idempotentRequests.inc({ outcome: 'replayed' });
    return { statusCode: stored.statusCode, response: stored.response };
  }

  /** In this process, until `release`. Throws IDEMPOTENCY_IN_PROGRESS or IDEMPOTENCY_KEY_REUSED. */
  reserve(attempt: KeyAttempt): void {
    const name = nameOf(attempt);
    const existing = this.#reserved.get(name);
    if (existing !== undefined) refuse(existing.fingerprint === attempt.fingerprint ? 'in_progress' : 'reused');
    this.#reserved.set(name, attempt);
    idempotentRequests.inc({ outcome: 'new' });
  }

  /** Ends the reservation, once the request has its response. */
  release(attempt: KeyAttempt): void {
    this.#reserved.delete(nameOf(attempt));
  }

  /**
   * Stores a refusal, which moved no money, as the outcome of its key, or the success of a change that may be made
   * twice. It is on disk before the response is sent; otherwise a crash could lose it, and a retry of the refused
   * request could move money. Throws IDEMPOTENCY_IN_PROGRESS when another attempt has committed an outcome meanwhile.
   */
  async store({ book, key, attempt, fingerprint: print }: KeyAttempt, outcome: StoredOutcome): Promise<void> {
    const { count } = await this.#options.sql`
      INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, attempt, status_code, response)
      VALUES (${book.organisationId}, ${book.environment}, ${key}, decode(${print}, 'base64'), ${attempt},
              ${outcome.statusCode}, ${outcome.response})
      ON CONFLICT (organisation_id, environment, key) DO NOTHING`;
    if (count === 0) throw new ApiError('IDEMPOTENCY_IN_PROGRESS');
  }
}

const nameOf = ({ book: { organisationId, environment }, key }: Pick<KeyAttempt, 'book' | 'key'>): string =>
  `${organisationId}/${environment}/${key}`;

/** Counts the outcome and throws the 409 for a key that is not available. */
function refuse(reason: 'reused' | 'in_progress'): never {
  idempotentRequests.inc({ outcome: reason });
  throw new ApiError(reason === 'reused' ? 'IDEMPOTENCY_KEY_REUSED' : 'IDEMPOTENCY_IN_PROGRESS');
}

/** The idempotency record that `ledger.post` commits with the money. */
export const outcomeOf = (
  { key, attempt, fingerprint: print }: KeyAttempt,
  stored: StoredOutcome,
): IdempotencyOutcome => ({ key, attempt, fingerprint: print, ...stored });

/**
 * Runs the handler of a route, once for each Idempotency-Key if the route takes one: replays the outcome of a known
 * key, or has the handler commit it with its change.
 */
export async function handleIdempotently(
  keys: IdempotencyKeys,
  route: Route,
  keyIsKnown: boolean,
  call: Call,
  ctx: Context,
): Promise<unknown> {
  const key = ctx.get('Idempotency-Key');
  const isLeftOut = key === '' && route.idempotencyKey !== 'required';
  if (!takesIdempotencyKey(route) || isLeftOut) return await route.handle(call);
  if (!isIdempotencyKey(key)) throw new ApiError(`IDEMPOTENCY_KEY_${key === '' ? 'MISSING' : 'INVALID'}`);
  // Only an uploaded file comes with a query.
  const path = ctx.querystring === '' ? ctx.path : `${ctx.path}?${ctx.querystring}`;
  // A secret is shown only to the API key that asked for it.
  const asker = route.returnsSecret === true ? `${path} ${call.caller.keyId}` : path;
  const print = fingerprint(ctx.method, asker, call.rawBody);
  const attempt: KeyAttempt = { book: call.book, key, attempt: newUuid(), fingerprint: print };
  const stored = keyIsKnown ? await keys.find(attempt) : null;
  if (stored !== null) return replay(ctx, route, call, attempt, stored);
  keys.reserve(attempt);
  let committed: unknown;
  try {
    const data = await route.handle({
      ...call,
      outcome: (data) => {
        committed = data;
        return outcomeOf(attempt, successOf(route, call, attempt, data));
      },
      repeatId: `${nameOf(attempt)}/${print}`,
    });
    if (data !== committed) await keys.store(attempt, successOf(route, call, attempt, data));
    return data;
  } catch (error) {
    if (violatedUnique(error) === ONE_OUTCOME) throw new ApiError('IDEMPOTENCY_IN_PROGRESS');
    if (isStored(error)) {
      // Where it could not be stored, that is the error to send, because a retry might then succeed.
      const response = JSON.stringify({ code: error.code, details: error.details });
      await keys.store(attempt, { statusCode: error.status, response });
    }
    throw error;
  } finally {
    keys.release(attempt);
  }
}

/** The outcome of a success. One with a secret is sealed: it is shown once, and to this caller only. */
function successOf(route: Route, call: Call, attempt: KeyAttempt, data: unknown): StoredOutcome {
  const response = JSON.stringify({ data });
  const { keyring } = call.dependencies;
  return {
    statusCode: route.success.status,
    response: route.returnsSecret === true ? keyring.seal('idempotency', nameOf(attempt), response) : response,
  };
}

/** The data of a stored success; throws a stored refusal. */
function replay(
  ctx: Context,
  route: Route,
  call: Call,
  attempt: KeyAttempt,
  { statusCode, response }: StoredOutcome,
): unknown {
  ctx.set('Idempotent-Replayed', 'true');
  if (statusCode >= 400) {
    const { code, details } = JSON.parse(response);
    throw new ApiError(code, details);
  }
  ctx.status = statusCode;
  const { keyring } = call.dependencies;
  return JSON.parse(route.returnsSecret === true ? keyring.open('idempotency', nameOf(attempt), response) : response)
    .data;
}

/** Whether an error is a refusal that is the outcome of its key; any other leaves the key unused. */
const isStored = (error: unknown): error is ApiError =>
  error instanceof ApiError && [404, 409, 422].includes(error.status) && error.code !== 'IDEMPOTENCY_IN_PROGRESS';
