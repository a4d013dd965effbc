// API keys (contract, section 5): their format, and authentication of a caller by key. A key is 256 random bits, stored
// as its SHA-256; it is never logged.
import { createHash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Environment } from '../../money.ts';
import { ApiError } from '../errors.ts';
import type { Caller, Scope } from '../route.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_BYTES = 32;
/** 32 bytes have at most 43 digits in base62; shorter numbers are padded, so all keys have the same length. */
const KEY = /^svc_(test|live)_[0-9A-Za-z]{43}$/;

/** The cache TTL, and so the longest time that a revoked key keeps working in any process. */
const CACHE_MS = 3_000;
const CACHED_KEYS_MAX = 10_000;

/** `operator`: the key of an operator, which the API does not accept. */
export function newApiKey(of: Environment | 'operator'): string {
  let rest = BigInt(`0x${randomBytes(RANDOM_BYTES).toString('hex')}`);
  let digits = '';
  for (let position = 0; position < 43; position += 1) {
    digits = BASE62[Number(rest % 62n)] + digits;
    rest /= 62n;
  }
  return `svc_${of}_${digits}`;
}

export const hashApiKey = (key: string): Buffer => createHash('sha256').update(key).digest();

interface KeyRow {
  organisationId: Uuid;
  environment: Environment;
  id: Uuid;
  scopes: Scope[];
  expiresAt: Date | null;
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
   * The caller of an Authorization header on the host of an environment. Throws the 401 of the first check that fails.
   */
  async authenticate(header: string | undefined, environment: Environment): Promise<Caller> {
    if (header === undefined || header.trim() === '') throw new ApiError('API_KEY_MISSING');
    const key = /^Bearer +([^ ]+) *$/i.exec(header)?.[1];
    const prefix = key === undefined ? undefined : KEY.exec(key)?.[1];
    if (key === undefined || prefix === undefined) throw new ApiError('API_KEY_INVALID');
    if (prefix !== environment) throw new ApiError('API_KEY_ENVIRONMENT_MISMATCH');
    const row = await this.#find(hashApiKey(key));
    if (row === null || row.environment !== environment || (row.expiresAt !== null && row.expiresAt <= new Date())) {
      throw new ApiError('API_KEY_INVALID');
    }
    this.#used.set(row.id, row.organisationId);
    return {
      keyId: row.id,
      scopes: row.scopes,
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
    const [row] = await this.#sql<KeyRow[]>`
      SELECT organisation_id, environment, id, scopes, expires_at
      FROM api_keys WHERE hash = ${hash} AND revoked_at IS NULL`;
    return row ?? null;
  }
}
