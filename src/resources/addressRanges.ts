// Lists of addresses and ranges, from which an API key may be used or a proxy is trusted.
import ipaddr from 'ipaddr.js';

export type AddressRanges = readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];

/**
 * An address or a range in CIDR notation; null for any other text. An address is the range of itself. IPv4 in four
 * decimal numbers only: a leading zero would make one octal, and what is left out zero.
 */
export function parseRange(text: string): AddressRanges[number] | null {
  const [written = ''] = text.split('/');
  if (!written.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(written)) return null;
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!ipaddr.isValid(text)) return null;
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** The ranges of a list that was checked when it was stored. */
export const parseRanges = (texts: readonly string[]): AddressRanges =>
  texts.map(parseRange).filter((range) => range !== null);

/** Whether a range is wholly in one of the ranges. */
export const isRangeWithin = ([network, bits]: AddressRanges[number], ranges: AddressRanges): boolean =>
  ranges.some(([outer, fewer]) => outer.kind() === network.kind() && bits >= fewer && network.match(outer, fewer));

/** Whether an address is in one of the ranges. An IPv4 address within IPv6 is the IPv4 address. */
export function isInRanges(address: string, ranges: AddressRanges): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits));
}
