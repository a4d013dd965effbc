// Who calls the codec server: an operator, by the operator key in the Authorization header, or by a cookie that signing
// in with the key sets. A browser sends the cookie with the requests of the Temporal UI, which has no operator key.
import type { Sql } from '../../database/pool.ts';
import { parseId, publicId } from '../../ids.ts';
import type { Keyring } from '../../keyring.ts';
import { findOperatorByKey, keyHashOf } from '../../resources/operators.ts';
import { hashOfProof } from '../../resources/proofs.ts';

export const COOKIE = 'manilla_operator';
/** A working day. */
const SESSION_MS = 12 * 3_600_000;

export function createSessions(sql: Sql, keyring: Keyring) {
  const signedText = (id: string, expiresAt: number, keyHash: Buffer): string =>
    `${id}.${expiresAt}.${keyHash.toString('hex')}`;

  const isValidCookie = async (cookie: string): Promise<boolean> => {
    const [id = '', expiry = '', signature = ''] = cookie.split('.');
    const [uuid, expiresAt] = [parseId('operator', id), Number(expiry)];
    if (uuid === null || !(expiresAt > Date.now())) return false;
    const keyHash = await keyHashOf(sql, uuid);
    if (keyHash === null) return false;
    const text = signedText(id, expiresAt, keyHash);
    return keyring.verify('operator-session', text, Buffer.from(signature, 'base64url'));
  };

  return {
    /** The cookie of an operator, and its lifetime; null for a key that does not exist or is revoked. */
    signIn: async (key: string): Promise<{ value: string; maxAgeMs: number } | null> => {
      const operator = await findOperatorByKey(sql, key);
      if (operator === null) return null;
      const hash = hashOfProof(operator.proof);
      const [id, expiresAt] = [publicId('operator', operator.id), Date.now() + SESSION_MS];
      const signature = keyring.sign('operator-session', signedText(id, expiresAt, hash)).toString('base64url');
      return { value: `${id}.${expiresAt}.${signature}`, maxAgeMs: SESSION_MS };
    },
    /** Whether the caller is an operator. A rotated or revoked key ends its sessions. */
    isOperator: async ({ authorization, cookie }: { authorization: string; cookie: string }): Promise<boolean> => {
      const key = /^Bearer (\S+)$/.exec(authorization)?.[1];
      if (key !== undefined) return (await findOperatorByKey(sql, key)) !== null;
      return cookie !== '' && (await isValidCookie(cookie));
    },
  };
}
