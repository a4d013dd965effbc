// What a key may give to another: nothing that it has not itself (contract, section 5).
import { isRangeWithin, parseRanges } from '../resources/addressRanges.ts';
import type { ApiKeyRow } from '../resources/apiKeys.ts';

/** What distinguishes keys by what they may do. */
export type Grant = Pick<ApiKeyRow, 'scopes' | 'allowedIps' | 'rateLimit' | 'expiresAt'>;

/** The scopes that a key with these ones lacks. A scope includes its reads. */
export const missingScopes = (own: readonly string[], wanted: readonly string[]): string[] =>
  wanted.filter((scope) => !own.includes(scope) && !own.includes(scope.replace(/:read$/, '')));

/** The first limit of its own that a key would pass by giving this; null: none. `rateDefault`: without a limit. */
export function passedLimit(
  own: Omit<Grant, 'scopes'>,
  wanted: Omit<Grant, 'scopes'>,
  rateDefault: number,
): keyof Omit<Grant, 'scopes'> | null {
  if (own.allowedIps !== null) {
    const ranges = parseRanges(own.allowedIps);
    const within =
      wanted.allowedIps !== null && parseRanges(wanted.allowedIps).every((one) => isRangeWithin(one, ranges));
    if (!within) return 'allowedIps';
  }
  if ((wanted.rateLimit ?? rateDefault) > (own.rateLimit ?? rateDefault)) return 'rateLimit';
  if (own.expiresAt !== null && (wanted.expiresAt === null || wanted.expiresAt > own.expiresAt)) return 'expiresAt';
  return null;
}
