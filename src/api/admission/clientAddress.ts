// The address that a request comes from.
import type { IncomingMessage } from 'node:http';
import { type AddressRanges, isInRanges } from '../../resources/addressRanges.ts';

/**
 * The address of the caller. Each trusted proxy appends the address that it got the request from to X-Forwarded-For: so
 * the last one that is no trusted proxy is the caller's. What is before that, the caller can write as it likes.
 */
export function clientAddress(request: Pick<IncomingMessage, 'headers' | 'socket'>, trusted: AddressRanges): string {
  const remote = request.socket.remoteAddress ?? '';
  if (trusted.length === 0) return remote;
  const header = request.headers['x-forwarded-for'] ?? '';
  const forwarded = String(header)
    .split(',')
    .map((address) => withoutPort(address.trim()))
    .filter((address) => address !== '');
  const hops = [...forwarded, remote];
  return hops.findLast((address) => !isInRanges(address, trusted)) ?? hops[0] ?? remote;
}

/** Some proxies write the port of the caller too: `203.0.113.7:51000`, `[2001:db8::7]:51000`. */
const withoutPort = (address: string): string =>
  /^([\d.]+):\d+$/.exec(address)?.[1] ?? /^\[([^\]]+)\](:\d+)?$/.exec(address)?.[1] ?? address;
