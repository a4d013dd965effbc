// How clients and workers convert what they send to Temporal, by TEMPORAL_PAYLOAD_KEYS.
import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { type Keyring, parseKeyring } from '../keyring.ts';
import { payloadCodec } from './payloadCodec.ts';
import type { Environment } from './profile.ts';

/** Null: payloads are not encrypted. */
export const readPayloadKeys = ({ TEMPORAL_PAYLOAD_KEYS: keys }: Environment): Keyring | null =>
  keys ? parseKeyring(keys, 'TEMPORAL_PAYLOAD_KEYS') : null;

/** The failure converter for the bundle of the workflows. */
export const ENCODED_FAILURES = fileURLToPath(new URL('encodedFailures.ts', import.meta.url));

export const dataConverterOf = (keys: Keyring | null): DataConverter => ({
  payloadCodecs: [payloadCodec(keys)],
  ...(keys !== null && { failureConverterPath: ENCODED_FAILURES }),
});
