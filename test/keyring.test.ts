// The keyring: each use of a secret has its own key, and every key of the ring opens and verifies.
import { expect, test } from '@jest/globals';
import { KEY_PURPOSES, type KeyPurpose, keyIdOf, parseKeyring } from '../src/keyring.ts';

const keyText = (id: string, byte: number): string => `${id}:${Buffer.alloc(32, byte).toString('base64url')}`;
const ring = parseKeyring(keyText('k1', 1));

const pairs = KEY_PURPOSES.flatMap((made) =>
  KEY_PURPOSES.filter((other) => other !== made).map((other): [KeyPurpose, KeyPurpose] => [made, other]),
);

test.each(pairs)('what is signed or sealed for %s is worth nothing for %s', (made, other) => {
  const [signature, sealed] = [ring.sign(made, 'text'), ring.seal(made, 'id', 'text')];
  expect([ring.verify(made, 'text', signature), ring.verify(other, 'text', signature)]).toEqual([true, false]);
  expect(ring.open(made, 'id', sealed)).toBe('text');
  expect(() => ring.open(other, 'id', sealed)).toThrow('unable to authenticate');
});

test('what is sealed for one row cannot be opened for another', () => {
  expect(() => ring.open('kyc', 'b', ring.seal('kyc', 'a', 'text'))).toThrow('unable to authenticate');
});

test('the first key of a ring seals and signs, all open and verify', () => {
  const both = parseKeyring(`${keyText('k2', 2)},${keyText('k1', 1)}`);
  const old = ring.seal('kyc', 'a', 'text');
  expect([both.open('kyc', 'a', old), keyIdOf(old), keyIdOf(both.seal('kyc', 'a', 'text'))]).toEqual([
    'text',
    'k1',
    'k2',
  ]);
  expect(both.verify('cursor', 'text', ring.sign('cursor', 'text'))).toBe(true);
  expect(() => parseKeyring(keyText('k2', 2)).open('kyc', 'a', old)).toThrow('no key with the id k1 in MANILLA_KEYS');
});
