// Encryption of what flows put into Temporal: inputs, results, signals, updates, summaries and details. A payload that
// is not encrypted is read as it is, so histories from before and after the switch both replay.
import { createRequire } from 'node:module';
import type { Payload, PayloadCodec } from '@temporalio/common';
import type * as proto from '@temporalio/proto';
import type { Keyring } from '../keyring.ts';

/** The convention of Temporal's own samples, by which the UI recognises an encrypted payload. */
const ENCODING = 'binary/encrypted';
const KEY_ID = 'encryption-key-id';

const require = createRequire(import.meta.url);
/** Loaded at the first encrypted payload: it takes longer than all else that a command loads. */
const payloadMessage = () => (require('@temporalio/proto') as typeof proto).temporal.api.common.v1.Payload;

/** The newest key encrypts the whole payload, metadata too; all decrypt. Null: nothing is encrypted. */
export function payloadCodec(keyring: Keyring | null): PayloadCodec {
  const encrypt = (payload: Payload): Payload => {
    if (keyring === null) return payload;
    const bytes = payloadMessage().encode(payload).finish();
    const { keyId, encrypted } = keyring.encrypt('temporal-payload', ENCODING, bytes);
    return { metadata: { encoding: Buffer.from(ENCODING), [KEY_ID]: Buffer.from(keyId) }, data: encrypted };
  };
  const decrypt = (payload: Payload): Payload => {
    const { metadata, data } = payload;
    if (textOf(metadata?.encoding) !== ENCODING) return payload;
    const keyId = textOf(metadata?.[KEY_ID]);
    if (keyring === null) throw new Error(`encrypted with the key ${keyId}, but TEMPORAL_PAYLOAD_KEYS is not set`);
    return payloadMessage().decode(keyring.decrypt('temporal-payload', ENCODING, keyId, data ?? new Uint8Array()));
  };
  return {
    encode: (payloads) => Promise.resolve(payloads.map(encrypt)),
    // Async, so that a payload that cannot be decrypted rejects.
    decode: async (payloads) => payloads.map(decrypt),
  };
}

const textOf = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString();
