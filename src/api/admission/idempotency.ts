// Idempotency of the money POSTs (contract, section 4.2). The outcome is committed in the statement that moves the money
// (`IdempotencyOutcome`), and only when its key is nobody else's. So of two attempts one moves money, and a process that dies
// leaves the whole outcome or nothing. Until then a new key is held in the memory of its process. What may not even be begun
// twice, and every key that is known already, is claimed: with a mark for all processes, which need not survive a crash.
import { createHash } from 'node:crypto';
import { GroupCommit } from '../../concurrency/groupCommit.ts';
import type { Sql } from '../../database/pool.ts';
import { newUuid, type Uuid } from '../../ids.ts';
import type { IdempotencyOutcome } from '../../ledger/movement.ts';
import type { Book } from '../../money.ts';
import { idempotencyClaims } from '../../telemetry/metrics.ts';
import { ApiError } from '../errors.ts';

/** A key is "in progress" for at most this long after its process died. */
const CLAIM_SECONDS = 60;
const KEY = /^[\x21-\x7e]{1,255}$/;
const BATCH_MAX = 500;

/** A key that one request is to answer. */
export interface Claim {
  book: Book;
  key: string;
  fingerprint: string;
  id: Uuid;
  /** Whether other processes see it: it was marked in the database. Otherwise it is held here only. */
  persisted: boolean;
}

/** What a key was answered with before. `response` is the JSON of `data` or of the error. */
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

/** SHA-256 over method, path and the raw bytes of the body: reordered keys or another space make another request. */
export function fingerprint(method: string, path: string, body: Buffer): string {
  return createHash('sha256').update(`${method}\n${path}\n`).update(body).digest('base64');
}

interface Options {
  /** For marks: their commits do not wait for the disk, so one that is lost in a crash blocks nothing. */
  asyncCommitSql: Sql;
  /** For outcomes: what a caller was told must be told again after any crash. */
  sql: Sql;
  /** A key is remembered this long; after that it is new again. */
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
   * Takes a key that nobody used before, as far as is known: in this process at once, and for all others when the outcome is
   * committed. `letGo` ends it. Throws the two 409s.
   */
  reserve(book: Book, key: string, print: string): Claim {
    const name = reservationKey(book, key);
    const held = this.#reserved.get(name);
    if (held !== undefined) refuse(held.fingerprint === print ? 'in_progress' : 'reused');
    const claim = { book, key, fingerprint: print, id: newUuid(), persisted: false };
    this.#reserved.set(name, claim);
    idempotencyClaims.inc({ outcome: 'claimed' });
    return claim;
  }

  /** Ends what `hold` began, when the request was answered. */
  unreserve({ book, key, persisted }: Claim): void {
    if (!persisted) this.#reserved.delete(reservationKey(book, key));
  }

  /** Claims a key before all processes, or tells what it was answered with before. Throws the two 409s. */
  async claim(book: Book, key: string, print: string): Promise<Claim | StoredOutcome> {
    const claim = { book, key, fingerprint: print, id: newUuid(), persisted: true };
    const result = await this.#group.add(claim);
    if (result === 'reused' || result === 'in_progress') refuse(result);
    idempotencyClaims.inc({ outcome: result === 'claimed' ? 'claimed' : 'replayed' });
    return result === 'claimed' ? claim : result;
  }

  /**
   * Stores the answer of a request that moved nothing, a business refusal. It is on disk before the caller is told: otherwise a
   * crash could turn a refusal that was told into a repeat that moves money. False when the key is somebody else's by now.
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

  /** Lets go of a mark whose request ended without an outcome, so that a retry need not wait for the claim to lapse. */
  async release(claim: Claim): Promise<void> {
    if (!claim.persisted) return;
    await this.#asyncCommitSql`
      DELETE FROM idempotency_keys
      WHERE organisation_id = ${claim.book.organisationId} AND environment = ${claim.book.environment}
        AND key = ${claim.key} AND claim = ${claim.id} AND status_code IS NULL`;
  }

  async #claim(organisationId: Uuid, claims: Claim[]): Promise<PromiseSettledResult<ClaimResult>[]> {
    // In key order, so that two processes that claim the same keys never wait for each other in a circle.
    const taken = await this.#asyncCommitSql<{ claim: Uuid }[]>`
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
    const ours = new Set(taken.map(({ claim }) => claim));
    const others = claims.filter(({ id }) => !ours.has(id));
    // Who claimed is told so though this fails: a claim that nobody knows of would block its key until it lapses.
    const [known] = await Promise.allSettled([this.#look(organisationId, others)]);
    return claims.map(({ id }) => {
      if (ours.has(id)) return { status: 'fulfilled', value: 'claimed' };
      return known.status === 'rejected' ? known : { status: 'fulfilled', value: resultOf(known.value.get(id)) };
    });
  }

  /** What the keys of these claims, which somebody claimed before, stand at: by claim. LEFT: no plan may begin with all keys. */
  async #look(organisationId: Uuid, claims: Claim[]): Promise<Map<Uuid, KnownKey>> {
    if (claims.length === 0) return new Map();
    const rows = await this.#asyncCommitSql<(KnownKey & { claim: Uuid })[]>`
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

/** Tells why a key is not to be had. */
function refuse(why: 'reused' | 'in_progress'): never {
  idempotencyClaims.inc({ outcome: why });
  throw new ApiError(why === 'reused' ? 'IDEMPOTENCY_KEY_REUSED' : 'IDEMPOTENCY_IN_PROGRESS');
}

/** A key that somebody claimed before. All are null when it was let go of at this very moment. */
interface KnownKey {
  /** Whether it was for the same request. */
  same: boolean | null;
  statusCode: number | null;
  response: string | null;
}

/** What a claim is told whose key was not to be had. */
function resultOf(known: KnownKey | undefined): ClaimResult {
  if (known === undefined || known.same === null) return 'in_progress';
  if (!known.same) return 'reused';
  const { statusCode, response } = known;
  return statusCode === null || response === null ? 'in_progress' : { statusCode, response };
}

/** The record that `ledger.post` commits together with the money. */
export function outcomeOf(claim: Claim, stored: StoredOutcome): IdempotencyOutcome {
  return { key: claim.key, claim: claim.id, fingerprint: claim.fingerprint, ...stored };
}
