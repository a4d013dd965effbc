// Idempotency of POSTs (contract, section 4.2). The outcome of a key is committed in the statement that moves the money
// or makes the change (`IdempotencyOutcome`), and only if no other attempt has committed one. So of two attempts only
// one takes effect, and a crash leaves the whole outcome or nothing.
//
// Until that commit a key is reserved in the memory of its process, so that a repeat which arrives meanwhile is refused
// at once. A repeat that reaches another process is refused when it commits.
import { createHash } from 'node:crypto';
import type { Sql } from '../../database/pool.ts';
import { newUuid, type Uuid } from '../../ids.ts';
import type { IdempotencyOutcome } from '../../ledger/movement.ts';
import type { Book } from '../../money.ts';
import { idempotentRequests } from '../../telemetry/metrics.ts';
import { ApiError } from '../errors.ts';

const KEY = /^[\x21-\x7e]{1,255}$/;

/** A request with the key that it holds. */
export interface KeyAttempt {
  id: Uuid;
  book: Book;
  key: string;
  fingerprint: string;
}

/**
 * The stored outcome of a key. `response` is JSON: `data` of a success, sealed if it has a secret, or `code` and
 * `details` of a refusal.
 */
export interface StoredOutcome {
  statusCode: number;
  response: string;
}

/** Checks the header. Throws IDEMPOTENCY_KEY_MISSING or IDEMPOTENCY_KEY_INVALID. */
export function readIdempotencyKey(header: string): string {
  if (header === '') throw new ApiError('IDEMPOTENCY_KEY_MISSING');
  if (!isIdempotencyKey(header)) throw new ApiError('IDEMPOTENCY_KEY_INVALID');
  return header;
}

export const isIdempotencyKey = (header: string): boolean => KEY.test(header);

/** SHA-256 over method, path and raw body. A body with reordered keys or different whitespace is another request. */
export function fingerprint(method: string, path: string, body: Buffer): string {
  return createHash('sha256').update(`${method}\n${path}\n`).update(body).digest('base64');
}

interface Options {
  /** For outcomes: a response that a caller has received must be replayed after any crash, so its commit is durable. */
  sql: Sql;
  /** For look-ups, because its plans use indexes, also while the table is nearly empty. */
  asyncCommitSql: Sql;
  /** The retention of keys; afterwards a key counts as new. */
  keptDays: number;
}

export class IdempotencyKeys {
  readonly #sql: Sql;
  readonly #asyncCommitSql: Sql;
  readonly #keptDays: number;
  readonly #reserved = new Map<string, KeyAttempt>();

  constructor({ sql, asyncCommitSql, keptDays }: Options) {
    this.#sql = sql;
    this.#asyncCommitSql = asyncCommitSql;
    this.#keptDays = keptDays;
  }

  /**
   * Returns the stored outcome of a key that is in the database. If its retention has ended, deletes it and returns
   * null; null also if it was deleted as too old meanwhile. Throws IDEMPOTENCY_KEY_REUSED.
   */
  async find(book: Book, key: string, requestFingerprint: string): Promise<StoredOutcome | null> {
    const sql = this.#asyncCommitSql;
    const where = sql`
      WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND key = ${key}`;
    const cutoff = sql`now() - make_interval(days => ${this.#keptDays})`;
    const [stored] = await sql<(StoredOutcome & { same: boolean; expired: boolean })[]>`
      SELECT fingerprint = decode(${requestFingerprint}, 'base64') AS same, created_at < ${cutoff} AS expired,
             status_code, response
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
  reserve(book: Book, key: string, requestFingerprint: string): KeyAttempt {
    const name = reservationKey(book, key);
    const existing = this.#reserved.get(name);
    if (existing !== undefined) refuse(existing.fingerprint === requestFingerprint ? 'in_progress' : 'reused');
    const attempt = { id: newUuid(), book, key, fingerprint: requestFingerprint };
    this.#reserved.set(name, attempt);
    idempotentRequests.inc({ outcome: 'new' });
    return attempt;
  }

  /** Ends the reservation, once the request has its response. */
  release({ book, key }: KeyAttempt): void {
    this.#reserved.delete(reservationKey(book, key));
  }

  /**
   * Stores a refusal, which moved no money, as the outcome of its key, or the success of a change that may be made
   * twice. It is on disk before the response is sent; otherwise a crash could lose it, and a retry of the refused
   * request could move money. Returns false when another attempt has committed an outcome meanwhile.
   */
  async store({ id, book, key, fingerprint: print }: KeyAttempt, outcome: StoredOutcome): Promise<boolean> {
    const { count } = await this.#sql`
      INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, attempt, status_code, response)
      VALUES (${book.organisationId}, ${book.environment}, ${key}, decode(${print}, 'base64'), ${id},
              ${outcome.statusCode}, ${outcome.response})
      ON CONFLICT (organisation_id, environment, key) DO NOTHING`;
    return count === 1;
  }
}

const reservationKey = ({ organisationId, environment }: Book, key: string): string =>
  `${organisationId}/${environment}/${key}`;

/** Counts the outcome and throws the 409 for a key that is not available. */
function refuse(reason: 'reused' | 'in_progress'): never {
  idempotentRequests.inc({ outcome: reason });
  throw new ApiError(reason === 'reused' ? 'IDEMPOTENCY_KEY_REUSED' : 'IDEMPOTENCY_IN_PROGRESS');
}

/** The idempotency record that `ledger.post` commits with the money. */
export function outcomeOf({ id, key, fingerprint: print }: KeyAttempt, stored: StoredOutcome): IdempotencyOutcome {
  return { key, attempt: id, fingerprint: print, ...stored };
}
