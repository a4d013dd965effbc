// API keys (contract, section 5) and operators' keys: 256 random bits, stored as a hash; what a key may do.
import { randomBytes } from 'node:crypto';
import { newUuid, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';
import type { NewApiKeyRow } from './apiKeys.ts';
import { hashOfProof, proofOfApiKey } from './proofs.ts';

export const SCOPES = ['wallet', 'payment', 'transfer', 'payout', 'review', 'webhook', 'keys'] as const;
export type Scope = (typeof SCOPES)[number];

/** What a key may have: a scope, or only its reads. */
export type KeyScope = Scope | `${Scope}:read`;
export const KEY_SCOPES: readonly KeyScope[] = SCOPES.flatMap((scope): KeyScope[] => [scope, `${scope}:read`]);

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_BYTES = 32;
/** 32 bytes have at most 43 digits in base62; shorter numbers are padded, so all keys have the same length. */
export const KEY_FORMAT = /^svc_(test|live)_[0-9A-Za-z]{43}$/;

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

export type KeyAttributes = Omit<NewApiKeyRow, 'id' | 'organisationId' | 'hint' | 'hash' | 'createdAt'>;

const HINT_LENGTH = 4;

/** A new key, and what is stored of it. */
export function newStoredKey(of: Environment | 'operator'): { key: string; stored: { hash: Buffer; hint: string } } {
  const key = newApiKey(of);
  return { key, stored: { hash: hashApiKey(key), hint: key.slice(-HINT_LENGTH) } };
}

/** Generates a key and the row that stores it. */
export function makeApiKey(
  organisationId: Uuid,
  { environment, scopes, name, expiresAt, allowedIps, rateLimit }: KeyAttributes,
): { key: string; row: NewApiKeyRow } {
  const { key, stored } = newStoredKey(environment);
  const row = { organisationId, id: newUuid(), environment, scopes, name, expiresAt, allowedIps, rateLimit, ...stored };
  return { key, row };
}

/** What is stored of a key. */
export const hashApiKey = (key: string): Buffer => hashOfProof(proofOfApiKey(key));
