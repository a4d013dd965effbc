// The token of a payment page opens that page alone, on its own host, for as long as the key that signed it is kept.
import { describe, expect, test } from '@jest/globals';
import { checkoutToken, readCheckoutToken } from '../../src/api/checkout/token.ts';
import { newUuid } from '../../src/ids.ts';
import { parseKeyring } from '../../src/keyring.ts';

const keyText = (id: string, byte: number): string => `${id}:${Buffer.alloc(32, byte).toString('base64url')}`;
const keyring = parseKeyring(keyText('k1', 1));
const page = { book: { organisationId: newUuid(), environment: 'test' }, paymentId: newUuid() } as const;
const token = checkoutToken(keyring, page);

describe('a token', () => {
  test('is 64 characters that need no escaping, and names its payment', () => {
    expect(token).toMatch(/^[\w-]{64}$/);
    expect(readCheckoutToken(keyring, 'test', token)).toEqual(page);
  });

  test('opens nothing in the other environment', () => {
    expect(readCheckoutToken(keyring, 'live', token)).toBeNull();
  });

  test('with any one bit changed opens nothing', () => {
    const bytes = Buffer.from(token, 'base64url');
    const opened = Array.from({ length: bytes.length * 8 }, (_, bit) => {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      return readCheckoutToken(keyring, 'test', changed.toString('base64url'));
    });
    expect(opened).toHaveLength(384);
    expect(opened.filter((each) => each !== null)).toEqual([]);
  });

  test.each([
    ['empty', ''],
    ['cut', token.slice(0, -4)],
    ['longer', `${token}AAAA`],
    ['in another alphabet', `${token.slice(0, 63)}+`],
    ['without a signature', Buffer.alloc(48).toString('base64url')],
  ])('that is %s opens nothing', (_, text) => {
    expect(readCheckoutToken(keyring, 'test', text)).toBeNull();
  });

  test('opens its page while its key is in the keyring, and no longer', () => {
    const rotated = parseKeyring(`${keyText('k2', 2)},${keyText('k1', 1)}`);
    expect(readCheckoutToken(rotated, 'test', token)).toEqual(page);
    expect(checkoutToken(rotated, page)).not.toBe(token);
    expect(readCheckoutToken(parseKeyring(keyText('k2', 2)), 'test', token)).toBeNull();
  });
});
