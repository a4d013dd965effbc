// Webhook signatures, verified with the Standard Webhooks library as a receiver does.
import { describe, expect, test } from '@jest/globals';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { newWebhookSecret, signatureHeaders } from '../../src/webhooks/signature.ts';

const ID = 'svc_01k0000000000000000000000f_evt';
const BODY = '{"id":"svc_01k0000000000000000000000f_evt","type":"payment.settled","data":{"amount":1}}';
const MINUTE = 60_000;

describe('signed messages', () => {
  const secret = newWebhookSecret();
  const headers = signatureHeaders([secret], ID, new Date(), BODY);

  test('a signature verifies with its secret', () => {
    expect(new Webhook(secret).verify(BODY, headers)).toEqual(JSON.parse(BODY));
  });

  test('a signature does not verify after a change of body, id or time, or with another secret', () => {
    const expectRefused = (body: string, changed: Record<string, string>, key = secret) =>
      expect(() => new Webhook(key).verify(body, changed)).toThrow(WebhookVerificationError);
    expectRefused(BODY.replace('1', '2'), headers);
    expectRefused(`${BODY} `, headers);
    expectRefused(BODY, { ...headers, 'webhook-id': ID.replace('f_', 'g_') });
    expectRefused(BODY, { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) });
    expectRefused(BODY, headers, newWebhookSecret());
  });

  test.each([-6 * MINUTE, 6 * MINUTE])('a signature with a timestamp %i ms from now is refused', (offset) => {
    const stale = signatureHeaders([secret], ID, new Date(Date.now() + offset), BODY);
    expect(() => new Webhook(secret).verify(BODY, stale)).toThrow(/too (old|new)/);
  });

  test('a message during a rotation has two signatures, and either secret verifies it', () => {
    const next = newWebhookSecret();
    const both = signatureHeaders([next, secret], ID, new Date(), BODY);
    expect(both['webhook-signature'].split(' ')).toHaveLength(2);
    expect(new Webhook(next).verify(BODY, both)).toEqual(JSON.parse(BODY));
    expect(new Webhook(secret).verify(BODY, both)).toEqual(JSON.parse(BODY));
  });

  test('signatures match the example of the specification', () => {
    const example = signatureHeaders(
      ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      new Date(1_614_265_330_000),
      '{"test": 2432232314}',
    );
    expect(example['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });
});

test('a secret has the prefix whsec_ and 32 random bytes', () => {
  const secrets = Array.from({ length: 3 }, newWebhookSecret);
  expect(new Set(secrets).size).toBe(3);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
  }
});
