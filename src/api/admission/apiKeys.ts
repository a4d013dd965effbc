// Authentication of a caller by API key (contract, section 5). A key is never logged.
import { LRUCache } from 'lru-cache';
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Environment } from '../../money.ts';
import { type AddressRanges, isInRanges, parseRanges } from '../../resources/addressRanges.ts';
import { hashApiKey, KEY_FORMAT, type KeyScope } from '../../resources/keys.ts';
import { ApiError } from '../errors.ts';
import type { Caller } from '../route.ts';

/** The cache TTL, and so the longest time that a revoked key keeps working in any process. */
const CACHE_MS = 3_000;
const CACHED_KEYS_MAX = 10_000;

interface KeyRow {
  organisationId: Uuid;
  environment: Environment;
  id: Uuid;
  scopes: KeyScope[];
  expiresAt: Date | null;
  /** Null: any address. */
  allowedRanges: AddressRanges | null;
  rateLimit: number | null;
}

/** Authenticates callers by API key. Keys are cached for a few seconds, which saves a round trip per request. */
export class ApiKeys {
  readonly #sql: Sql;
  readonly #cache = new LRUCache<string, Promise<KeyRow | null>>({ max: CACHED_KEYS_MAX, ttl: CACHE_MS });
  readonly #used = new Map<Uuid, Uuid>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * The caller of an Authorization header on the host of an environment, from this address. Throws the 401 of the first
   * check that fails, or 403 IP_NOT_ALLOWED.
   */
  async authenticate(header: string | undefined, environment: Environment, address: string): Promise<Caller> {
    if (header === undefined || header.trim() === '') throw new ApiError('API_KEY_MISSING');
    const key = /^Bearer +([^ ]+) *$/i.exec(header)?.[1];
    const prefix = key === undefined ? undefined : KEY_FORMAT.exec(key)?.[1];
    if (key === undefined || prefix === undefined) throw new ApiError('API_KEY_INVALID');
    if (prefix !== environment) throw new ApiError('API_KEY_ENVIRONMENT_MISMATCH');
    const row = await this.#find(hashApiKey(key));
    if (row === null || row.environment !== environment || (row.expiresAt !== null && row.expiresAt <= new Date())) {
      throw new ApiError('API_KEY_INVALID');
    }
    if (row.allowedRanges !== null && !isInRanges(address, row.allowedRanges)) {
      throw new ApiError('IP_NOT_ALLOWED', { address });
    }
    this.#used.set(row.id, row.organisationId);
    return {
      keyId: row.id,
      scopes: row.scopes,
      rateLimit: row.rateLimit,
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

  #find(hash: Buffer): Promise<KeyRow | null> {
    const cacheKey = hash.toString('base64');
    let row = this.#cache.get(cacheKey);
    if (row === undefined) {
      row = this.#read(hash);
      this.#cache.set(cacheKey, row);
      row.catch(() => this.#cache.delete(cacheKey)); // a failed read is not cached
    }
    return row;
  }

  async #read(hash: Buffer): Promise<KeyRow | null> {
    const [row] = await this.#sql<(Omit<KeyRow, 'allowedRanges'> & { allowedIps: string[] | null })[]>`
      SELECT organisation_id, environment, id, scopes, expires_at, allowed_ips, rate_limit
      FROM api_keys WHERE hash = ${hash} AND revoked_at IS NULL`;
    if (row === undefined) return null;
    const { allowedIps, ...key } = row;
    return { ...key, allowedRanges: allowedIps && parseRanges(allowedIps) };
  }
}
