// Keyrings: that of the service (MANILLA_KEYS), and that of payloads in Temporal (TEMPORAL_PAYLOAD_KEYS). Each purpose
// has a key of its own, derived by HKDF-SHA256. The first key of the ring encrypts and signs; all keys decrypt and
// verify, so a key is rotated by putting a new one first.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/** The uses of a keyring. What is signed or sealed for one of them is worth nothing for another. */
export const KEY_PURPOSES = [
  'cursor',
  'kyc',
  'bvn-index',
  'webhook-secret',
  'sandbox-rail-callback',
  'temporal-payload',
  'operator-session',
  'rail-credentials',
  'rail-row',
  'checkout',
  'idempotency',
] as const;
export type KeyPurpose = (typeof KEY_PURPOSES)[number];

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SIGNATURE_BYTES = 32;

export interface Keyring {
  /** The ids of its keys, the newest first. */
  readonly keyIds: readonly [string, ...string[]];
  /** AES-256-GCM. `context` (an id) must be the same in `open`: a ciphertext cannot be moved to another row. */
  seal(purpose: KeyPurpose, context: string, plaintext: string): string;
  /** Decrypts the result of `seal`. Throws when it was altered, or when the key that made it is not in the keyring. */
  open(purpose: KeyPurpose, context: string, sealed: string): string;
  /** As `seal`, for bytes. */
  encrypt(purpose: KeyPurpose, context: string, bytes: Uint8Array): { keyId: string; encrypted: Buffer };
  /** As `open`, for the result of `encrypt`. */
  decrypt(purpose: KeyPurpose, context: string, keyId: string, encrypted: Uint8Array): Buffer;
  /** HMAC-SHA256 of the text with the newest key. */
  sign(purpose: KeyPurpose, text: string): Buffer;
  /** As `sign`, with each key of the keyring, the newest first. */
  signAll(purpose: KeyPurpose, text: string): Buffer[];
  /** Whether any key made this signature, or the first `bytes` of it; compares in constant time. */
  verify(purpose: KeyPurpose, text: string, signature: Buffer, bytes?: number): boolean;
}

/** The id of the key that made the result of `seal`. */
export const keyIdOf = (sealed: string): string => sealed.slice(0, sealed.indexOf('.'));

/** Parses `id:base64url,id:base64url`; each key has 32 random bytes. Throws on a malformed key or a repeated id. */
export function parseKeyring(text: string, setting = 'MANILLA_KEYS'): Keyring {
  const masters = text.split(',').map((entry) => {
    const separator = entry.indexOf(':');
    const id = entry.slice(0, separator).trim();
    const bytes = Buffer.from(entry.slice(separator + 1).trim(), 'base64url');
    if (separator < 1 || !/^[a-z0-9]+$/.test(id) || bytes.length !== KEY_BYTES) {
      throw new Error(`${setting} must be \`id:key\` pairs separated by commas, each key 32 random bytes in base64url`);
    }
    return { id, bytes };
  });
  if (new Set(masters.map((master) => master.id)).size !== masters.length) {
    throw new Error(`${setting} has the same key id twice`);
  }

  const derived = new Map<string, Buffer>();
  const keyFor = (master: { id: string; bytes: Buffer }, purpose: KeyPurpose): Buffer => {
    const name = `${master.id}/${purpose}`;
    let key = derived.get(name);
    if (key === undefined) {
      key = Buffer.from(hkdfSync('sha256', master.bytes, '', `manilla/${purpose}`, KEY_BYTES));
      derived.set(name, key);
    }
    return key;
  };
  const newest = masters[0] as { id: string; bytes: Buffer };
  const signWith = (master: { id: string; bytes: Buffer }, purpose: KeyPurpose, text: string): Buffer =>
    createHmac('sha256', keyFor(master, purpose)).update(text).digest();

  const encrypt: Keyring['encrypt'] = (purpose, context, bytes) => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', keyFor(newest, purpose), nonce).setAAD(Buffer.from(context));
    const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
    return { keyId: newest.id, encrypted: Buffer.concat([nonce, body, cipher.getAuthTag()]) };
  };
  const decrypt: Keyring['decrypt'] = (purpose, context, keyId, encrypted) => {
    const master = masters.find((candidate) => candidate.id === keyId);
    if (master === undefined) throw new Error(`no key with the id ${keyId} in ${setting}`);
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv(
      'aes-256-gcm',
      keyFor(master, purpose),
      encrypted.subarray(0, NONCE_BYTES),
      options,
    )
      .setAAD(Buffer.from(context))
      .setAuthTag(encrypted.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(encrypted.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  };

  return {
    keyIds: [newest.id, ...masters.slice(1).map(({ id }) => id)],
    encrypt,
    decrypt,
    seal(purpose, context, plaintext) {
      const { keyId, encrypted } = encrypt(purpose, context, Buffer.from(plaintext));
      return `${keyId}.${encrypted.toString('base64url')}`;
    },
    open(purpose, context, sealed) {
      const [id = '', encoded = ''] = sealed.split('.', 2);
      return decrypt(purpose, context, id, Buffer.from(encoded, 'base64url')).toString('utf8');
    },
    sign: (purpose, text) => signWith(newest, purpose, text),
    signAll: (purpose, text) => masters.map((master) => signWith(master, purpose, text)),
    verify: (purpose, text, signature, bytes = SIGNATURE_BYTES) =>
      masters.some((master) => {
        const expected = signWith(master, purpose, text).subarray(0, bytes);
        return signature.length === expected.length && timingSafeEqual(signature, expected);
      }),
  };
}
