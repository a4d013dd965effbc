// The guard against webhook requests into private networks (SSRF), as tables of addresses and of DNS responses.

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
  ['169.254.170.2', 'credentials of ECS tasks'],
  ['169.254.170.23', 'credentials of EKS pods'],
  ['169.254.169.253', 'DNS of AWS'],
  ['169.254.42.42', 'metadata of Scaleway'],
  ['169.254.0.23', 'metadata of Tencent'],
  ['fe80::a9fe:a9fe', 'metadata of OpenStack'],
  ['fd00:ec2::254', 'metadata of AWS'],
  ['fd00:0ec2:0000:0000:0000:0000:0000:0254', 'metadata of AWS, in full'],
  ['fd00:ec2::23', 'credentials of EKS pods'],
  ['fd20:ce::254', 'metadata of Google'],
  ['fd00:c1::a9fe:a9fe', 'metadata of Oracle'],
  ['fd00:42::42', 'metadata of Scaleway'],
  ['fd00:a9fe:a9fe::1', 'metadata of Akamai'],
  ['192.0.0.192', 'metadata of Oracle, classic'],
  ['168.63.129.16', 'Azure, a public address'],
  ['::ffff:168.63.129.16', 'Azure, within IPv6'],
  ['::ffff:a83f:8110', 'Azure, within IPv6'],
  ['64:ff9b::a83f:8110', 'NAT64 of Azure'],
  ['2002:a83f:8110::', '6to4 of Azure'],
  ['100.64.0.1', 'carrier-grade NAT, also used for cloud metadata'],
  ['100.100.100.200', 'metadata of Alibaba'],
  ['192.0.0.8', 'protocol assignments'],
  ['192.88.99.1', '6to4 relay'],
  ['192.31.196.1', 'AS112'],
  ['192.52.193.1', 'AMT'],
  ['192.175.48.1', 'AS112'],
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
  ['3fff::1', 'documentation'],
  ['2001:1::1', 'protocol assignments'],
  ['2001:2::1', 'benchmarks'],
  ['2001:3::1', 'AMT'],
  ['2001:10::1', 'ORCHID'],
  ['2001:20::1', 'ORCHID'],
  ['2620:4f:8000::1', 'AS112'],
  ['5f00::1', 'segment routing'],
  ['2001::1', 'Teredo, which embeds an IPv4 address'],
  ['2002:7f00:1::', '6to4 of 127.0.0.1'],
  ['64:ff9b::7f00:1', 'NAT64 of 127.0.0.1'],
  ['64:ff9b::a9fe:a9fe', 'NAT64 of 169.254.169.254'],
  ['64:ff9b:1::1', 'local NAT64'],
  ['::7f00:1', 'IPv4-compatible 127.0.0.1'],
  ['::ffff:0:7f00:1', 'IPv4-translated 127.0.0.1'],
  ['4000::1', 'unallocated'],
  ['100::1', 'discard'],
  ['localhost', 'not an address'],
  ['', 'not an address'],
];

describe('addresses', () => {
  test.each(PUBLIC)('the public address %s is reachable under both policies', (address) => {
    expect([isReachable(address, 'public_only'), isReachable(address, 'private_too')]).toEqual([true, true]);
  });

  test.each(PRIVATE)('the private address %s is reachable only if private addresses are allowed', (address) => {
    expect([isReachable(address, 'public_only'), isReachable(address, 'private_too')]).toEqual([false, true]);
  });

  test.each(NEVER)('%s is never reachable (%s)', (address, _why) => {
    expect([isReachable(address, 'public_only'), isReachable(address, 'private_too')]).toEqual([false, false]);
  });

  test.each([
    ['::ffff:127.0.0.1', false, true],
    ['::ffff:a9fe:a9fe', false, false],
    ['::ffff:8.8.8.8', true, true],
  ])('%s is treated as the IPv4 address it embeds', (address, publicOnly, privateToo) => {
    expect([isReachable(address, 'public_only'), isReachable(address, 'private_too')]).toEqual([
      publicOnly,
      privateToo,
    ]);
  });
});

describe('URLs', () => {
  const live = destinationRules('live', { allowPrivateInSandbox: true, retryGapsMs: [], retriesAtOnce: 8 });
  const sandbox = destinationRules('test', { allowPrivateInSandbox: false, retryGapsMs: [], retriesAtOnce: 8 });
  const privateSandbox = destinationRules('test', { allowPrivateInSandbox: true, retryGapsMs: [], retriesAtOnce: 8 });

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
    '168.63.129.16',
    '0xa83f8110',
    '2822734096',
    '168.4161808',
    '0250.077.0201.020',
    '①⑥⑧.63.129.16',
    '[::ffff:a83f:8110]',
    '[fd00:ec2:0::0254]',
    'metadata',
    'metadata.google.internal',
    'METADATA.Google.Internal.',
    'metadata.goog',
    'instance-data',
    'instance-data.ec2.internal',
    'metadata.azure.internal',
    'metadata.tencentyun.com',
    'metadata.platformequinix.com',
    'api.metadata.cloud.ibm.com',
    'ip-10-0-0-7.ec2.internal',
    'printer.local',
    'router.home.arpa',
    'postgres',
  ])('the host %s is private_address in live, and in a sandbox without private addresses', (host) => {
    expect(destinationProblem(new URL(`https://${host}/hook`), live)).toBe('private_address');
    expect(destinationProblem(new URL(`https://${host}/hook`), sandbox)).toBe('private_address');
  });

  test.each([
    'http://127.0.0.1:4000/',
    'http://localhost:4000/',
    'http://2130706433:4000/',
    'https://10.0.0.7/',
    'http://receiver:4000/',
    'http://host.docker.internal:4000/',
  ])('%s is allowed in a sandbox that allows private addresses', (url) =>
    expect(destinationProblem(new URL(url), privateSandbox)).toBeNull(),
  );

  test.each([
    'http://169.254.169.254/latest/meta-data',
    'http://168.63.129.16/machine?comp=goalstate',
    'http://[fd00:ec2::254]/latest/meta-data',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://metadata/computeMetadata/v1/',
    'http://0.0.0.0:4000/',
    'http://[fe80::1]/',
  ])('%s is refused in a sandbox that allows private addresses', (url) =>
    expect(destinationProblem(new URL(url), privateSandbox)).toBe('private_address'),
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
  ])('the problem of %s in live is %s', (url, problem) => expect(destinationProblem(new URL(url), live)).toBe(problem));

  test('plain http is allowed in the sandbox', () => {
    expect(destinationProblem(new URL('http://example.com/'), sandbox)).toBeNull();
  });

  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['[::1]', '::1'],
    ['example.com', null],
  ])('the address literal of the host %s is %s', (host, literal) => expect(addressLiteral(host)).toBe(literal));
});

describe('the lookup function of connections', () => {
  /** The lookup result for a name with these DNS responses. */
  const lookup = (answers: string[] | Error, all: boolean): Promise<unknown> => {
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

  test('the lookup returns public addresses, one or all', async () => {
    expect(await lookup(['8.8.8.8', '2606:4700::1'], true)).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ]);
    expect(await lookup(['8.8.8.8'], false)).toEqual(['8.8.8.8', 4]);
  });

  test.each([
    [['127.0.0.1']],
    [['8.8.8.8', '10.0.0.1']],
    [['2606:4700::1', '::ffff:169.254.169.254']],
    [['64:ff9b::a00:1']],
  ])('the lookup refuses a name with any forbidden address: %j', async (answers) => {
    await expect(lookup(answers, true)).rejects.toBeInstanceOf(ForbiddenAddressError);
    await expect(lookup(answers, false)).rejects.toBeInstanceOf(ForbiddenAddressError);
  });

  test('the lookup reports a name without an address, and a DNS failure, as NameNotResolvedError', async () => {
    await expect(lookup([], true)).rejects.toBeInstanceOf(NameNotResolvedError);
    await expect(lookup(new Error('SERVFAIL'), true)).rejects.toBeInstanceOf(NameNotResolvedError);
  });
});

describe('DNS resolution', () => {
  const servers: NameServer[] = [];
  afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

  /** A lookup function whose name server gives these responses. */
  async function lookupOver(respond: Tells): Promise<(name: string) => Promise<LookupAddress[]>> {
    const server = await startNameServer(respond);
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

  test('names resolve to both IPv4 and IPv6 addresses, and one kind is enough', async () => {
    const lookup = await lookupOver((name, type) => {
      if (type === 'A') return name === 'six.example' ? [] : ['8.8.8.8', '1.1.1.1'];
      return name === 'four.example' ? [] : ['2606:4700:0000:0000:0000:0000:0000:0001'];
    });
    const four = ['8.8.8.8', '1.1.1.1'].map((address) => ({ address, family: 4 }));
    const six = [{ address: '2606:4700::1', family: 6 }];
    expect(await lookup('both.example')).toEqual([...four, ...six]);
    expect(await lookup('four.example')).toEqual(four);
    expect(await lookup('six.example')).toEqual(six);
  });

  test('a private IPv6 address is refused even if the IPv4 address is public', async () => {
    const lookup = await lookupOver((_name, type) =>
      type === 'A' ? ['8.8.8.8'] : ['0000:0000:0000:0000:0000:ffff:0a00:0001'],
    );
    await expect(lookup('mixed.example')).rejects.toBeInstanceOf(ForbiddenAddressError);
  });

  test('local host names are resolved by DNS and not by the hosts file', async () => {
    const queried: string[] = [];
    const lookup = await lookupOver((name) => {
      queried.push(name);
      return [];
    });
    for (const name of ['nowhere.example', hostname()]) {
      await expect(lookup(name)).rejects.toBeInstanceOf(NameNotResolvedError);
    }
    expect(new Set(queried)).toEqual(new Set(['nowhere.example', hostname()]));
  });

  test('an unresponsive name server causes NameNotResolvedError after a timeout', async () => {
    const lookup = await lookupOver(() => 'silence');
    await expect(lookup('silent.example')).rejects.toBeInstanceOf(NameNotResolvedError);
  });
});
