// The secrets of webhook endpoints, and signatures by the Standard Webhooks specification, with its reference library:
// receivers verify with any port of it.
import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { Uuid } from '../ids.ts';
import type { Keyring } from '../keyring.ts';

/** Standard Webhooks requires 24 to 64 random bytes. */
const SECRET_BYTES = 32;

/** During a rotation the previous secret also signs, for this long: enough time to deploy the new one everywhere. */
export const ROTATION_OVERLAP_MS = 24 * 3600 * 1000;

export const newWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

/**
 * The secret that signs return links, derived from that of an endpoint: with the same one, a payer could send a return
 * link to the endpoint as a webhook.
 */
export const returnLinkSecret = (secret: string): string =>
  `whsec_${createHmac('sha256', secret).update('return-link').digest('base64')}`;

/** The secrets of an endpoint, as they are stored. */
export interface SealedSecrets {
  endpointId: Uuid;
  sealedSecret: string;
  /** During a rotation. */
  sealedPreviousSecret: string | null;
}

/** The secrets that sign now, the newest first. Throws when a key of the keyring is missing. */
export const openSecrets = (
  keyring: Keyring,
  { endpointId, sealedSecret, sealedPreviousSecret }: SealedSecrets,
): string[] =>
  [sealedSecret, sealedPreviousSecret]
    .filter((sealed) => sealed !== null)
    .map((sealed) => keyring.open('webhook-secret', endpointId, sealed));

/**
 * Returns the three headers of a signed message: an id that is equal on every attempt, this attempt's time, one
 * signature per secret.
 */
export function signatureHeaders(
  secrets: readonly string[],
  id: string,
  at: Date,
  body: string,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
}
