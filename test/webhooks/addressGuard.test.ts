// The guard against requests into our own network, as tables of addresses and of what name servers may say.

import type { LookupAddress } from 'node:dns';
import { hostname } from 'node:os';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  addressLiteral,
  createResolve,
  ForbiddenAddressError,
  guardedLookup,
  isReachable,
  NameNotResolvedError,
} from '../../src/webhooks/addressGuard.ts';
import { destinationProblem, destinationRules } from '../../src/webhooks/destination.ts';
import { type NameServer, startNameServer, type Tells } from './nameServer.ts';

const PUBLIC = [
  '8.8.8.8',
  '1.1.1.1',
  '102.89.23.1',
  '172.32.0.1',
  '192.169.0.1',
  '2606:4700:4700::1111',
  '2a00:1450::1',
];

const PRIVATE = [
  '127.0.0.1',
  '127.255.255.254',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '::1',
  'fd12::1',
];

const NEVER: [string, string][] = [
  ['0.0.0.0', 'this machine'],
  ['0.1.2.3', 'this network'],
  ['::', 'this machine'],
  ['169.254.169.254', 'cloud metadata, link-local'],
  ['169.254.0.1', 'link-local'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local with a zone'],
  ['fd00:ec2::254', 'cloud metadata in a private range'],
  ['fd20:ce::254', 'cloud metadata in a private range'],
  ['100.64.0.1', 'shared address space of carriers, and of some clouds for their metadata'],
  ['100.100.100.200', 'cloud metadata in it'],
  ['192.0.0.8', 'protocol assignments'],
  ['192.0.2.1', 'documentation'],
  ['198.18.0.1', 'benchmarks'],
  ['198.51.100.1', 'documentation'],
  ['203.0.113.1', 'documentation'],
  ['224.0.0.1', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['ff02::1', 'multicast'],
  ['fec0::1', 'site-local'],
  ['2001:db8::1', 'documentation'],
  ['2001::1', 'Teredo, which carries an IPv4 address'],
  ['2002:7f00:1::', '6to4 of 127.0.0.1'],
  ['64:ff9b::7f00:1', 'NAT64 of 127.0.0.1'],
  ['64:ff9b::a9fe:a9fe', 'NAT64 of 169.254.169.254'],
  ['64:ff9b:1::1', 'local NAT64'],
  ['::7f00:1', 'IPv4-compatible 127.0.0.1'],
  ['::ffff:0:7f00:1', 'IPv4-translated 127.0.0.1'],
  ['4000::1', 'outside of what is given out'],
  ['100::1', 'discard'],
  ['localhost', 'no address'],
  ['', 'no address'],
];

describe('an address', () => {
  test.each(PUBLIC)('%s on the internet is reachable under both policies', (address) => {
    expect([isReachable(address, 'public_only'), isReachable(address, 'private_too')]).toEqual([true, true]);
  });

  test.each(PRIVATE)('%s is private: reachable only where that is configured', (address) => {
    expect([isReachable(address, 'public_only'), isReachable(address, 'private_too')]).toEqual([false, true]);
  });

  test.each(NEVER)('%s is never reachable (%s)', (address, _why) => {
    expect([isReachable(address, 'public_only'), isReachable(address, 'private_too')]).toEqual([false, false]);
  });

  test.each([
    ['::ffff:127.0.0.1', false, true],
    ['::ffff:a9fe:a9fe', false, false],
    ['::ffff:8.8.8.8', true, true],
  ])('%s is judged as the IPv4 address it carries', (address, publicOnly, privateToo) => {
    expect([isReachable(address, 'public_only'), isReachable(address, 'private_too')]).toEqual([
      publicOnly,
      privateToo,
    ]);
  });
});

describe('a URL', () => {
  const live = destinationRules('live', { allowPrivateInSandbox: true, retryGapsMs: [] });
  const sandbox = destinationRules('test', { allowPrivateInSandbox: false, retryGapsMs: [] });
  const laptop = destinationRules('test', { allowPrivateInSandbox: true, retryGapsMs: [] });

  test.each([
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '127.1',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '①②⑦.0.0.1',
    '%31%32%37.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:7f00:0001]',
    '[::127.0.0.1]',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'api.localhost',
    '10.1.2.3',
    '169.254.169.254',
    '0xa9fea9fe',
    '0',
    '[64:ff9b::7f00:1]',
  ])('https://%s is refused on live, whatever the sandbox may', (host) => {
    expect(destinationProblem(new URL(`https://${host}/hook`), live)).toBe('private_address');
    expect(destinationProblem(new URL(`https://${host}/hook`), sandbox)).toBe('private_address');
  });

  test.each(['http://127.0.0.1:4000/', 'http://localhost:4000/', 'http://2130706433:4000/', 'https://10.0.0.7/'])(
    '%s is fine in a sandbox that is configured for it',
    (url) => expect(destinationProblem(new URL(url), laptop)).toBeNull(),
  );

  test.each(['http://169.254.169.254/latest/meta-data', 'http://0.0.0.0:4000/', 'http://[fe80::1]/'])(
    '%s is refused there too',
    (url) => expect(destinationProblem(new URL(url), laptop)).toBe('private_address'),
  );

  test.each([
    ['https://example.com/hook', null],
    ['https://example.com:8443/hook?a=b', null],
    ['https://8.8.8.8/', null],
    ['http://example.com/', 'https_required'],
    ['https://user@example.com/', 'userinfo'],
    ['https://user:word@example.com/', 'userinfo'],
    ['https://example.com/#part', 'fragment'],
    ['https://example.com:25/', 'port'],
    ['https://example.com:22/', 'port'],
    ['https://example.com:0/', 'port'],
    ['https://example.com:80/', null],
    ['https://localhost.example.com/', null],
  ])('on live, %s: %s', (url, problem) => expect(destinationProblem(new URL(url), live)).toBe(problem));

  test('plain http is for the sandbox', () => {
    expect(destinationProblem(new URL('http://example.com/'), sandbox)).toBeNull();
  });

  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['[::1]', '::1'],
    ['example.com', null],
  ])('the literal of the host %s is %s', (host, literal) => expect(addressLiteral(host)).toBe(literal));
});

describe('the lookup of a connection', () => {
  /** What a connection to `name` gets when name servers say this. */
  const look = (answers: string[] | Error, all: boolean): Promise<unknown> => {
    const resolve = async (): Promise<LookupAddress[]> => {
      if (answers instanceof Error) throw answers;
      return answers.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    };
    return new Promise((done, fail) => {
      guardedLookup('public_only', resolve)('name.example', { all }, (error, address, family) => {
        if (error) fail(error);
        else done(all ? address : [address, family]);
      });
    });
  };

  test('hands out public addresses, one or all', async () => {
    expect(await look(['8.8.8.8', '2606:4700::1'], true)).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ]);
    expect(await look(['8.8.8.8'], false)).toEqual(['8.8.8.8', 4]);
  });

  test.each([
    [['127.0.0.1']],
    [['8.8.8.8', '10.0.0.1']],
    [['2606:4700::1', '::ffff:169.254.169.254']],
    [['64:ff9b::a00:1']],
  ])('refuses a name with a forbidden address among its own: %j', async (answers) => {
    await expect(look(answers, true)).rejects.toBeInstanceOf(ForbiddenAddressError);
    await expect(look(answers, false)).rejects.toBeInstanceOf(ForbiddenAddressError);
  });

  test('says when a name has no address, or no server tells it', async () => {
    await expect(look([], true)).rejects.toBeInstanceOf(NameNotResolvedError);
    await expect(look(new Error('SERVFAIL'), true)).rejects.toBeInstanceOf(NameNotResolvedError);
  });
});

describe('names outside a laptop are asked of DNS itself', () => {
  const servers: NameServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });

  /** The lookup of connections whose name server says this. */
  async function lookupOver(tells: Tells): Promise<(name: string) => Promise<LookupAddress[]>> {
    const server = await startNameServer(tells);
    servers.push(server);
    const guarded = guardedLookup('public_only', createResolve('public_only', [server.address]));
    return (name) =>
      new Promise((done, fail) => {
        guarded(name, { all: true }, (error, addresses) => {
          if (error) fail(error);
          else done(addresses as LookupAddress[]);
        });
      });
  }

  test('both kinds of address are found, and one kind is enough', async () => {
    const look = await lookupOver((name, type) => {
      if (type === 'A') return name === 'six.example' ? [] : ['8.8.8.8', '1.1.1.1'];
      return name === 'four.example' ? [] : ['2606:4700:0000:0000:0000:0000:0000:0001'];
    });
    const four = ['8.8.8.8', '1.1.1.1'].map((address) => ({ address, family: 4 }));
    const six = [{ address: '2606:4700::1', family: 6 }];
    expect(await look('both.example')).toEqual([...four, ...six]);
    expect(await look('four.example')).toEqual(four);
    expect(await look('six.example')).toEqual(six);
  });

  test('a name that answers with a public address first and a private one later is refused from then on', async () => {
    const look = await lookupOver((_name, type, count) => {
      if (type === 'AAAA') return [];
      return [count === 1 ? '8.8.8.8' : '127.0.0.1'];
    });
    expect(await look('rebind.example')).toEqual([{ address: '8.8.8.8', family: 4 }]);
    await expect(look('rebind.example')).rejects.toBeInstanceOf(ForbiddenAddressError);
  });

  test('a private address of the other kind is not hidden behind a public one', async () => {
    const look = await lookupOver((_name, type) =>
      type === 'A' ? ['8.8.8.8'] : ['0000:0000:0000:0000:0000:ffff:0a00:0001'],
    );
    await expect(look('mixed.example')).rejects.toBeInstanceOf(ForbiddenAddressError);
  });

  test('this machine’s own names mean nothing, and a name without an address is told as that', async () => {
    const asked: string[] = [];
    const look = await lookupOver((name) => {
      asked.push(name);
      return [];
    });
    for (const name of ['nowhere.example', hostname()]) {
      await expect(look(name)).rejects.toBeInstanceOf(NameNotResolvedError);
    }
    expect(new Set(asked)).toEqual(new Set(['nowhere.example', hostname()]));
  });

  test('a name server that says nothing is not waited for without end', async () => {
    const look = await lookupOver(() => 'silence');
    await expect(look('silent.example')).rejects.toBeInstanceOf(NameNotResolvedError);
  });
});
