// SSRF guard: decides which addresses a webhook may be sent to, so that a customer's URL cannot reach our own network.
// Every spelling of an IP address is checked, and every address that a host name resolves to. The check runs inside the
// connection's own DNS lookup, on the addresses that it then connects to, so DNS rebinding cannot bypass it.
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';
import { isInRanges } from '../resources/addressRanges.ts';

/** `public_only`: the public internet. `private_too`: also loopback and private networks, for a sandbox on a laptop. */
export type AddressPolicy = 'public_only' | 'private_too';

/** The only public range of IPv6; addresses outside of it are private, special-purpose or unallocated. */
const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3');
const PRIVATE_RANGES: ReadonlySet<string> = new Set(['loopback', 'private', 'uniqueLocal']);
/**
 * What clouds serve to their machines at public and private addresses: metadata, with credentials, or the configuration
 * of the machine. Most do so at link-local addresses, such as 169.254.169.254 and 169.254.170.2 (containers of AWS),
 * which no policy allows.
 */
const CLOUD_RANGES = [
  '168.63.129.16/32', // Azure, a public address
  '100.100.100.200/32', // Alibaba
  '192.0.0.192/32', // Oracle, classic
  'fd00:ec2::/32', // AWS: metadata, credentials of EKS pods, DNS
  'fd20:ce::/32', // Google
  'fd00:c1::/32', // Oracle
  'fd00:42::/32', // Scaleway
  'fd00:a9fe:a9fe::/48', // Akamai
].map((range) => ipaddr.parseCIDR(range));

/** Whether a webhook may be sent to this IP address. False for text that is not an IP address. */
export function isReachable(address: string, policy: AddressPolicy): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address); // an IPv4-mapped IPv6 address is checked as the IPv4 address
  if (isInRanges(address, CLOUD_RANGES)) return false;
  const range = parsed.range();
  if (range === 'unicast') return parsed.kind() === 'ipv4' || parsed.match(PUBLIC_IPV6);
  return policy === 'private_too' && PRIVATE_RANGES.has(range);
}

/** Names that clouds resolve, on their machines, to their metadata service. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  'metadata', // Google
  'metadata.google.internal',
  'metadata.goog',
  'instance-data', // AWS
  'instance-data.ec2.internal',
  'metadata.azure.internal',
  'metadata.azure.com',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'metadata.packet.net',
  'api.metadata.cloud.ibm.com',
]);

/** Never public: names of this machine (RFC 6761), of a local network (RFC 6762 and 8375), and private ones (ICANN). */
const LOCAL_NAME = /(^|\.)(localhost|local|home\.arpa|internal)$/;

/** Whether webhooks may be sent to a host of this name, as far as the name says; its addresses are checked as well. */
export function isReachableName(hostname: string, policy: AddressPolicy): boolean {
  const name = hostname.toLowerCase().replace(/\.+$/, '');
  if (METADATA_NAMES.has(name)) return false;
  return policy === 'private_too' || (name.includes('.') && !LOCAL_NAME.test(name));
}

/**
 * Returns a URL's host as an IP address without brackets; null for a name. The URL parser has normalised its spelling.
 */
export function addressLiteral(hostname: string): string | null {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) === 0 ? null : bare;
}

/** The host name resolved to an address that webhooks may not reach. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
}

/** The host name has no address, or its name server did not respond in time. */
export class NameNotResolvedError extends Error {
  override readonly name = 'NameNotResolvedError';
}

/** Resolves to every address of a host name. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/**
 * Returns the resolver of a policy. `getaddrinfo` resolves `localhost` and the hosts file, but each call occupies one
 * of Node's four libuv threads until it ends: one customer's unresponsive name server would block file access and
 * lookups of the whole process. It is therefore used only for a sandbox on a laptop. Otherwise DNS is queried directly,
 * from the system's name servers or from `servers`.
 */
export function createResolve(policy: AddressPolicy, servers?: readonly string[]): Resolve {
  if (policy === 'private_too') return (hostname) => lookup(hostname, { all: true });
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  return async (hostname) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    return [...addressesOf(four, 4), ...addressesOf(six, 6)];
  };
}

const addressesOf = (result: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] =>
  result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];

/** Returns the lookup function of a connection. It fails unless webhooks may reach every address of the name. */
export function guardedLookup(policy: AddressPolicy, resolve: Resolve): LookupFunction {
  const find = async (hostname: string): Promise<[LookupAddress, ...LookupAddress[]]> => {
    const [first, ...others] = await resolve(hostname).catch((error: unknown) => {
      throw new NameNotResolvedError(`${hostname} could not be resolved`, { cause: error });
    });
    if (first === undefined) throw new NameNotResolvedError(`${hostname} has no address`);
    for (const { address } of [first, ...others]) {
      if (!isReachable(address, policy)) throw new ForbiddenAddressError(`${hostname} resolves to a forbidden address`);
    }
    return [first, ...others];
  };
  const findThenCall = callbackify(find);
  return (hostname, options, callback) => {
    findThenCall(hostname, (error, addresses) => {
      if (error !== null) callback(error, '', 0);
      else if (options.all === true) callback(null, addresses);
      else callback(null, addresses[0].address, addresses[0].family);
    });
  };
}
