// Idempotency of the money POSTs (contract, section 4.2). The outcome is committed in the statement that moves the
// money (`IdempotencyOutcome`), and only if no other request owns its key. So of two attempts only one moves money, and
// a crash leaves the whole outcome or nothing.
//
// Until the commit, a new key is reserved in the memory of its process (`reserve`). A key that is already in the
// database, and every key of a `claim_first` route, is claimed instead (`claim`): with a row that all processes see.
// Claims need not survive a crash, so their commits do not wait for the disk.
import { createHash } from 'node:crypto';
import { GroupCommit } from '../../concurrency/groupCommit.ts';
import type { Sql } from '../../database/pool.ts';
import { newUuid, type Uuid } from '../../ids.ts';
import type { IdempotencyOutcome } from '../../ledger/movement.ts';
import type { Book } from '../../money.ts';
import { idempotencyClaims } from '../../telemetry/metrics.ts';
import { ApiError } from '../errors.ts';

/** A claim expires after this, so a key stays in progress for at most this long after its process died. */
const CLAIM_SECONDS = 60;
const KEY = /^[\x21-\x7e]{1,255}$/;
const BATCH_MAX = 500;

/** The right of one request to use a key. */
export interface Claim {
  book: Book;
  key: string;
  fingerprint: string;
  id: Uuid;
  /** True: claimed, with a row in the database. False: reserved, in the memory of this process only. */
  persisted: boolean;
}

/** The stored outcome of a key. `response` is JSON: `data` of a success, or `code` and `details` of a refusal. */
export interface StoredOutcome {
  statusCode: number;
  response: string;
}

type ClaimResult = 'claimed' | 'reused' | 'in_progress' | StoredOutcome;

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
  /** For claims: commits do not wait for the disk. A claim that is lost in a crash blocks nothing. */
  asyncCommitSql: Sql;
  /** For outcomes: a response that a caller has received must be replayed after any crash, so its commit is durable. */
  sql: Sql;
  /** The retention of keys; afterwards a key counts as new. */
  keptDays: number;
}

export class IdempotencyKeys {
  readonly #asyncCommitSql: Sql;
  readonly #sql: Sql;
  readonly #keptDays: number;
  readonly #group: GroupCommit<Claim, ClaimResult>;
  readonly #reserved = new Map<string, Claim>();

  constructor({ asyncCommitSql, sql, keptDays }: Options) {
    this.#asyncCommitSql = asyncCommitSql;
    this.#sql = sql;
    this.#keptDays = keptDays;
    this.#group = new GroupCommit({
      partitionOf: ({ book }) => book.organisationId,
      commit: (organisationId, claims) => this.#claim(organisationId, claims),
      entriesMax: BATCH_MAX,
    });
  }

  /**
   * Reserves a key that the database did not have when the rate limiter looked it up. Effective at once in this
   * process; other processes see the key when the outcome is committed. `unreserve` ends the reservation. Throws
   * IDEMPOTENCY_IN_PROGRESS or IDEMPOTENCY_KEY_REUSED.
   */
  reserve(book: Book, key: string, requestFingerprint: string): Claim {
    const name = reservationKey(book, key);
    const existing = this.#reserved.get(name);
    if (existing !== undefined) refuse(existing.fingerprint === requestFingerprint ? 'in_progress' : 'reused');
    const claim = { book, key, fingerprint: requestFingerprint, id: newUuid(), persisted: false };
    this.#reserved.set(name, claim);
    idempotencyClaims.inc({ outcome: 'claimed' });
    return claim;
  }

  /** Ends a reservation, once the request has its response. Does nothing for a claim. */
  unreserve({ book, key, persisted }: Claim): void {
    if (!persisted) this.#reserved.delete(reservationKey(book, key));
  }

  /**
   * Claims a key for all processes, or returns its stored outcome. Throws IDEMPOTENCY_IN_PROGRESS or
   * IDEMPOTENCY_KEY_REUSED.
   */
  async claim(book: Book, key: string, requestFingerprint: string): Promise<Claim | StoredOutcome> {
    const claim = { book, key, fingerprint: requestFingerprint, id: newUuid(), persisted: true };
    const result = await this.#group.add(claim);
    if (result === 'reused' || result === 'in_progress') refuse(result);
    idempotencyClaims.inc({ outcome: result === 'claimed' ? 'claimed' : 'replayed' });
    return result === 'claimed' ? claim : result;
  }

  /**
   * Stores a refusal, which moved no money, as the outcome of its key. It is on disk before the response is sent;
   * otherwise a crash could lose it, and a retry of the refused request could move money. Returns false when another
   * request has claimed the key in the meantime.
   */
  async settle(claim: Claim, outcome: StoredOutcome): Promise<boolean> {
    const { count } = await this.#sql`
      INSERT INTO idempotency_keys AS i (organisation_id, environment, key, fingerprint, claim, claimed_until, status_code, response)
      VALUES (${claim.book.organisationId}, ${claim.book.environment}, ${claim.key}, decode(${claim.fingerprint}, 'base64'),
              ${claim.id}, now(), ${outcome.statusCode}, ${outcome.response})
      ON CONFLICT (organisation_id, environment, key) DO UPDATE SET status_code = excluded.status_code, response = excluded.response
      WHERE i.claim = excluded.claim AND i.status_code IS NULL`;
    return count === 1;
  }

  /** Deletes the claim of a request that ended without an outcome, so that a retry need not wait until it expires. */
  async release(claim: Claim): Promise<void> {
    if (!claim.persisted) return;
    await this.#asyncCommitSql`
      DELETE FROM idempotency_keys
      WHERE organisation_id = ${claim.book.organisationId} AND environment = ${claim.book.environment}
        AND key = ${claim.key} AND claim = ${claim.id} AND status_code IS NULL`;
  }

  async #claim(organisationId: Uuid, claims: Claim[]): Promise<PromiseSettledResult<ClaimResult>[]> {
    // Sorted by key, so that two processes that claim the same keys do not deadlock.
    const claimed = await this.#asyncCommitSql<{ claim: Uuid }[]>`
      INSERT INTO idempotency_keys AS i (organisation_id, environment, key, fingerprint, claim, claimed_until)
      SELECT DISTINCT ON (environment, key) ${organisationId}::uuid, environment, key,
             decode(fingerprint, 'base64'), claim, now() + make_interval(secs => ${CLAIM_SECONDS})
      FROM unnest(
        ${claims.map(({ book }) => book.environment)}::text[], ${claims.map(({ key }) => key)}::text[],
        ${claims.map((claim) => claim.fingerprint)}::text[], ${claims.map(({ id }) => id)}::uuid[]
      ) WITH ORDINALITY AS w (environment, key, fingerprint, claim, slot)
      ORDER BY environment, key, slot
      ON CONFLICT (organisation_id, environment, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, claim = excluded.claim, claimed_until = excluded.claimed_until,
        status_code = NULL, response = NULL, created_at = now()
      WHERE i.created_at < now() - make_interval(days => ${this.#keptDays})
         OR (i.status_code IS NULL AND i.claimed_until < now() AND i.fingerprint = excluded.fingerprint)
      RETURNING claim`;
    const claimedIds = new Set(claimed.map(({ claim }) => claim));
    const unavailable = claims.filter(({ id }) => !claimedIds.has(id));
    // If this look-up fails, successful claims are still returned: a claim without a request would block its key until
    // it expires.
    const [existing] = await Promise.allSettled([this.#lookUp(organisationId, unavailable)]);
    return claims.map(({ id }) => {
      if (claimedIds.has(id)) return { status: 'fulfilled', value: 'claimed' };
      return existing.status === 'rejected'
        ? existing
        : { status: 'fulfilled', value: resultOf(existing.value.get(id)) };
    });
  }

  /**
   * The state of keys that other requests claimed before, by the id of the failed claim. LEFT JOIN, so that no query
   * plan starts from all keys of the table.
   */
  async #lookUp(organisationId: Uuid, claims: Claim[]): Promise<Map<Uuid, ExistingKey>> {
    if (claims.length === 0) return new Map();
    const rows = await this.#asyncCommitSql<(ExistingKey & { claim: Uuid })[]>`
      SELECT w.claim, i.fingerprint = decode(w.fingerprint, 'base64') AS same, i.status_code, i.response
      FROM unnest(
        ${claims.map(({ book }) => book.environment)}::text[], ${claims.map(({ key }) => key)}::text[],
        ${claims.map((claim) => claim.fingerprint)}::text[], ${claims.map(({ id }) => id)}::uuid[]
      ) AS w (environment, key, fingerprint, claim)
      LEFT JOIN idempotency_keys i
        ON i.organisation_id = ${organisationId} AND i.environment = w.environment AND i.key = w.key`;
    return new Map(rows.map((row) => [row.claim, row]));
  }
}

const reservationKey = ({ organisationId, environment }: Book, key: string): string =>
  `${organisationId}/${environment}/${key}`;

/** Counts the outcome and throws the 409 for a key that is not available. */
function refuse(reason: 'reused' | 'in_progress'): never {
  idempotencyClaims.inc({ outcome: reason });
  throw new ApiError(reason === 'reused' ? 'IDEMPOTENCY_KEY_REUSED' : 'IDEMPOTENCY_IN_PROGRESS');
}

/** A key that another request claimed before. All fields are null if its row was deleted before the look-up. */
interface ExistingKey {
  /** Whether the fingerprints are equal. */
  same: boolean | null;
  statusCode: number | null;
  response: string | null;
}

/** The result of a claim whose key was not available. */
function resultOf(existing: ExistingKey | undefined): ClaimResult {
  if (existing === undefined || existing.same === null) return 'in_progress';
  if (!existing.same) return 'reused';
  const { statusCode, response } = existing;
  return statusCode === null || response === null ? 'in_progress' : { statusCode, response };
}

/** The idempotency record that `ledger.post` commits with the money. */
export function outcomeOf(claim: Claim, stored: StoredOutcome): IdempotencyOutcome {
  return { key: claim.key, claim: claim.id, fingerprint: claim.fingerprint, ...stored };
}
