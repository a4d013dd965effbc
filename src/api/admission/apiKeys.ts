// Authentication of a caller by API key (contract, section 5). A key is never logged.
import { LookUps } from '../../concurrency/lookUps.ts';
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book, Environment } from '../../money.ts';
import { type AddressRanges, isInRanges, parseRanges } from '../../resources/addressRanges.ts';
import { KEY_FORMAT, type KeyScope } from '../../resources/keys.ts';
import { hashOfProof, type Proof, proofOfApiKey } from '../../resources/proofs.ts';
import { ApiError } from '../errors.ts';
import type { Caller } from '../route.ts';

/** The cache TTL, and so the longest time that a revoked key keeps working in any process. */
export const KEY_CACHE_MS = 3_000;

interface KeyRow extends Book {
  id: Uuid;
  scopes: KeyScope[];
  expiresAt: Date | null;
  /** Null: any address. */
  allowedRanges: AddressRanges | null;
  budgets: Caller['budgets'];
}

/** Authenticates callers by API key. Keys are cached for a few seconds, which saves a round trip per request. */
export class ApiKeys {
  readonly #sql: Sql;
  readonly #keys = new LookUps({ read: (proofs) => this.#read(proofs), keptMs: KEY_CACHE_MS });
  readonly #used = new Map<Uuid, Uuid>();

  constructor(asyncCommitSql: Sql) {
    this.#sql = asyncCommitSql;
  }

  /** The caller of an Authorization header. Throws the 401 of the first failed check, or 403 IP_NOT_ALLOWED. */
  async authenticate(header: string | undefined, environment: Environment, address: string): Promise<Caller> {
    if (header === undefined || header.trim() === '') throw new ApiError('API_KEY_MISSING');
    const key = /^Bearer +([^ ]+) *$/i.exec(header)?.[1];
    const prefix = key === undefined ? undefined : KEY_FORMAT.exec(key)?.[1];
    if (key === undefined || prefix === undefined) throw new ApiError('API_KEY_INVALID');
    if (prefix !== environment) throw new ApiError('API_KEY_ENVIRONMENT_MISMATCH');
    const proof = proofOfApiKey(key);
    const row = await this.#keys.find(proof);
    if (row === null || row.environment !== environment || (row.expiresAt !== null && row.expiresAt <= new Date())) {
      throw new ApiError('API_KEY_INVALID');
    }
    if (row.allowedRanges !== null && !isInRanges(address, row.allowedRanges)) {
      throw new ApiError('IP_NOT_ALLOWED', { address });
    }
    this.#used.set(row.id, row.organisationId);
    return {
      keyId: row.id,
      proof,
      scopes: row.scopes,
      budgets: row.budgets,
      book: { organisationId: row.organisationId, environment: row.environment },
    };
  }

  /** Updates `last_used_at` of the keys used since the last call. Called once a minute, never within a request. */
  async recordUse(): Promise<void> {
    const used = [...this.#used];
    this.#used.clear();
    for (const [organisationId, keys] of Map.groupBy(used, ([, owner]) => owner)) {
      await this.#sql`
        UPDATE api_keys SET last_used_at = now()
        WHERE organisation_id = ${organisationId} AND id = ANY (${keys.map(([id]) => id)}::uuid[])`;
    }
  }

  async #read(proofs: Proof[]): Promise<Map<Proof, KeyRow>> {
    const proofsByHash = new Map(proofs.map((proof) => [hashOfProof(proof).toString('hex'), proof]));
    const rows = await this.#sql<(Omit<KeyRow, 'allowedRanges'> & { hash: string; allowedIps: string[] | null })[]>`
      SELECT encode(k.hash, 'hex') AS hash, k.organisation_id, k.environment, k.id, k.scopes, k.expires_at, k.allowed_ips,
             json_agg(json_build_object('keyId', b.id, 'rateLimit', b.rate_limit)
                      ORDER BY array_position(k.budgets, b.id)) AS budgets
      FROM api_keys k JOIN api_keys b ON b.organisation_id = k.organisation_id AND b.id = ANY (k.budgets)
      WHERE k.hash = ANY (ARRAY(SELECT decode(h, 'hex') FROM unnest(${[...proofsByHash.keys()]}::text[]) AS h))
        AND k.revoked_at IS NULL
      GROUP BY k.organisation_id, k.id`;
    return new Map(
      rows.map(({ hash, allowedIps, ...key }) => [
        proofsByHash.get(hash) ?? '',
        { ...key, allowedRanges: allowedIps && parseRanges(allowedIps) },
      ]),
    );
  }
}
