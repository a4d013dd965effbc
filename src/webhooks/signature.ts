// Signing by the Standard Webhooks specification, with its own library: a receiver verifies with any of its ports.
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';

/** Standard Webhooks asks for 24 to 64 random bytes. */
const SECRET_BYTES = 32;

/** During a rotation the previous secret signs too, for this long: time enough to deploy the new one everywhere. */
export const ROTATION_OVERLAP_MS = 24 * 3600 * 1000;

export const newWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

/** The three headers of a signed message: the same id on every attempt, the time of this one, a signature by each secret. */
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
