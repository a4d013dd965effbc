// SSRF guard: decides which addresses a webhook may be sent to, so that a customer's URL cannot reach our own network.
// Every spelling of an IP address is checked, and every address that a host name resolves to. The check runs inside the
// connection's own DNS lookup, on the addresses that it then connects to, so DNS rebinding cannot bypass it.
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';

/** `public_only`: the public internet. `private_too`: also loopback and private networks, for a sandbox on a laptop. */
export type AddressPolicy = 'public_only' | 'private_too';

/** The only public range of IPv6; addresses outside of it are private, special-purpose or unallocated. */
const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3');
const PRIVATE_RANGES: ReadonlySet<string> = new Set(['loopback', 'private', 'uniqueLocal']);
/**
 * Cloud metadata services with addresses in a private range. (169.254.169.254 is link-local, which no policy allows.)
 */
const METADATA: ReadonlySet<string> = new Set(['fd00:ec2::254', 'fd20:ce::254']);

/** Whether a webhook may be sent to this IP address. False for text that is not an IP address. */
export function isReachable(address: string, policy: AddressPolicy): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address); // an IPv4-mapped IPv6 address is checked as the IPv4 address
  const range = parsed.range();
  if (range === 'unicast') return parsed.kind() === 'ipv4' || parsed.match(PUBLIC_IPV6);
  return policy === 'private_too' && PRIVATE_RANGES.has(range) && !METADATA.has(parsed.toString());
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
