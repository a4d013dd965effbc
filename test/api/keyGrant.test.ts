// What a key may give to another, and which addresses a list of ranges holds.
import { expect, test } from '@jest/globals';
import { clientAddress } from '../../src/api/admission/clientAddress.ts';
import { missingScopes, passedLimit } from '../../src/api/keyGrant.ts';
import { isInRanges, parseRange, parseRanges } from '../../src/resources/addressRanges.ts';

const NONE = { allowedIps: null, rateLimit: null, expiresAt: null };
const [SOON, LATE] = [new Date('2030-01-01'), new Date('2040-01-01')];

test.each([
  [['wallet', 'keys'], ['wallet'], []],
  [['wallet', 'keys'], ['wallet:read', 'keys:read'], []],
  [['wallet:read', 'keys'], ['wallet'], ['wallet']],
  [['wallet:read', 'keys'], ['wallet:read', 'payment:read'], ['payment:read']],
])('a key with %j that gives %j lacks %j', (own, wanted, missing) => {
  expect(missingScopes(own, wanted)).toEqual(missing);
});

test.each([
  [{}, {}, null],
  [{}, { allowedIps: ['10.0.0.1'], rateLimit: 600, expiresAt: SOON }, null],
  [{}, { rateLimit: 601 }, 'rateLimit'],
  [{ rateLimit: 10 }, {}, 'rateLimit'],
  [{ rateLimit: 1_000 }, { rateLimit: 1_000 }, null],
  [{ allowedIps: ['10.0.0.0/8'] }, {}, 'allowedIps'],
  [{ allowedIps: ['10.0.0.0/8'] }, { allowedIps: ['10.1.0.0/16', '10.0.0.0/8'] }, null],
  [{ allowedIps: ['10.0.0.0/8'] }, { allowedIps: ['10.1.0.0/16', '11.0.0.1'] }, 'allowedIps'],
  [{ allowedIps: ['10.0.0.0/8'] }, { allowedIps: ['0.0.0.0/0'] }, 'allowedIps'],
  [{ allowedIps: ['10.0.0.0/8'] }, { allowedIps: ['::/0'] }, 'allowedIps'],
  [{ expiresAt: SOON }, { expiresAt: SOON }, null],
  [{ expiresAt: SOON }, { expiresAt: LATE }, 'expiresAt'],
  [{ expiresAt: SOON }, {}, 'expiresAt'],
])('a key with the limits %j that gives %j passes %s', (own, wanted, field) => {
  expect(passedLimit({ ...NONE, ...own }, { ...NONE, ...wanted }, 600)).toBe(field);
});

test.each([
  ['203.0.113.7', ['203.0.113.7'], true],
  ['203.0.113.8', ['203.0.113.7'], false],
  ['::ffff:203.0.113.7', ['203.0.113.0/24'], true],
  ['2001:db8::5', ['2001:db8::/32'], true],
  ['2001:db9::5', ['2001:db8::/32', '0.0.0.0/0'], false],
  ['nonsense', ['0.0.0.0/0', '::/0'], false],
])('%s in %j: %s', (address, ranges, expected) => {
  expect(isInRanges(address, parseRanges(ranges))).toBe(expected);
});

test.each([
  '',
  '10',
  '10.0.0',
  '0x7f.1',
  '10.0.0.0/33',
  '10.0.0.0/',
  'example.com',
  '2001:db8::/129',
  '010.0.0.0/8',
  '0177.0.0.1/32',
  '127/8',
  '0/0',
])('%j is no address and no range', (text) => {
  expect(parseRange(text)).toBeNull();
});

test.each([
  ['no proxy is trusted: the header is what anyone may write', [], '1.1.1.1', '10.0.0.5'],
  ['one proxy', ['10.0.0.0/8'], '203.0.113.7', '203.0.113.7'],
  ['a caller that writes the header itself', ['10.0.0.0/8'], '1.1.1.1, 203.0.113.7', '203.0.113.7'],
  ['two proxies', ['10.0.0.0/8'], '1.1.1.1, 203.0.113.7, 10.0.0.9', '203.0.113.7'],
  ['a caller inside', ['10.0.0.0/8'], '10.0.0.9', '10.0.0.9'],
  ['no header', ['10.0.0.0/8'], '', '10.0.0.5'],
  ['a proxy that writes ports', ['10.0.0.0/8'], '203.0.113.7:51000, 10.0.0.9:80', '203.0.113.7'],
  ['IPv6 with a port', ['10.0.0.0/8'], '[2001:db8::7]:51000', '2001:db8::7'],
])('the address of the caller: %s', (_title, trusted, header, expected) => {
  const request = { headers: { 'x-forwarded-for': header }, socket: { remoteAddress: '10.0.0.5' } };
  expect(clientAddress(request as never, parseRanges(trusted))).toBe(expected);
});
