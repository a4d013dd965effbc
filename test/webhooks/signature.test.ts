// Signatures, checked with the receiver's side of the Standard Webhooks library.
import { describe, expect, test } from '@jest/globals';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { newWebhookSecret, signatureHeaders } from '../../src/webhooks/signature.ts';

const ID = 'svc_01k0000000000000000000000f_evt';
const BODY = '{"id":"svc_01k0000000000000000000000f_evt","type":"payment.settled","data":{"amount":1}}';
const MINUTE = 60_000;

describe('a signed message', () => {
  const secret = newWebhookSecret();
  const headers = signatureHeaders([secret], ID, new Date(), BODY);

  test('is verified with its secret', () => {
    expect(new Webhook(secret).verify(BODY, headers)).toEqual(JSON.parse(BODY));
  });

  test('is refused when a byte of the body, the id or the time was changed, or with another secret', () => {
    const refused = (body: string, changed: Record<string, string>, key = secret) =>
      expect(() => new Webhook(key).verify(body, changed)).toThrow(WebhookVerificationError);
    refused(BODY.replace('1', '2'), headers);
    refused(`${BODY} `, headers);
    refused(BODY, { ...headers, 'webhook-id': ID.replace('f_', 'g_') });
    refused(BODY, { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) });
    refused(BODY, headers, newWebhookSecret());
  });

  test.each([-6 * MINUTE, 6 * MINUTE])('is refused when it was signed %i ms from now', (offset) => {
    const stale = signatureHeaders([secret], ID, new Date(Date.now() + offset), BODY);
    expect(() => new Webhook(secret).verify(BODY, stale)).toThrow(/too (old|new)/);
  });

  test('carries two signatures during a rotation, and each secret alone verifies it', () => {
    const next = newWebhookSecret();
    const both = signatureHeaders([next, secret], ID, new Date(), BODY);
    expect(both['webhook-signature'].split(' ')).toHaveLength(2);
    expect(new Webhook(next).verify(BODY, both)).toEqual(JSON.parse(BODY));
    expect(new Webhook(secret).verify(BODY, both)).toEqual(JSON.parse(BODY));
  });

  test('matches the example of the specification', () => {
    const example = signatureHeaders(
      ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      new Date(1_614_265_330_000),
      '{"test": 2432232314}',
    );
    expect(example['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });
});

test('a secret has the prefix and 32 random bytes', () => {
  const secrets = Array.from({ length: 3 }, newWebhookSecret);
  expect(new Set(secrets).size).toBe(3);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
  }
});
