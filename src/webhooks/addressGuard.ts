// Where a webhook may go: the guard against requests that a customer makes us send into our own network (SSRF). Every
// spelling of an address is judged, and every address that a name resolves to, by the connection that then uses it; so a
// name that changes its answer between a check and the connection gains nothing.
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';

/** `public_only`: the internet alone. `private_too`: also loopback and private networks, for a sandbox on a laptop. */
export type AddressPolicy = 'public_only' | 'private_too';

/** The only networks of IPv6 that are public; what lies outside is private, special or not given out. */
const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3');
const PRIVATE_RANGES: ReadonlySet<string> = new Set(['loopback', 'private', 'uniqueLocal']);
/** Cloud metadata that answers inside a private range. (169.254.169.254 is link-local, which no policy allows.) */
const METADATA: ReadonlySet<string> = new Set(['fd00:ec2::254', 'fd20:ce::254']);

/** Whether a webhook may go to this IP address. Text that is no address may not be reached. */
export function isReachable(address: string, policy: AddressPolicy): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address); // an IPv4 address inside an IPv6 one is judged as what it is
  const range = parsed.range();
  if (range === 'unicast') return parsed.kind() === 'ipv4' || parsed.match(PUBLIC_IPV6);
  return policy === 'private_too' && PRIVATE_RANGES.has(range) && !METADATA.has(parsed.toString());
}

/** The IP address that a URL's host is, without brackets; null for a name. The URL parser has normalised its spelling. */
export function addressLiteral(hostname: string): string | null {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) === 0 ? null : bare;
}

/** The host resolved to an address that webhooks may not reach. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'AddressForbidden';
}

/** The name has no address, or its name server did not tell one in time. */
export class NameNotResolvedError extends Error {
  override readonly name = 'NameNotResolved';
}

/** Every address of a host name. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/**
 * How names are resolved. The system's own lookup knows `localhost` and the hosts file, but each call holds one of Node's
 * four file threads until it ends: one customer's name server that never answers would stop everybody. It is therefore
 * for a sandbox on a laptop only; elsewhere DNS is asked directly: the system's name servers, or those named.
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

const addressesOf = (found: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] =>
  found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : [];

/** The lookup of a connection: it hands out a name's addresses only when webhooks may reach all of them. */
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
