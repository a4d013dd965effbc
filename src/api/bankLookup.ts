// Rail calls within a request (banks, name enquiry), with the rail's errors mapped to the error catalog.

import type { Environment } from '../money.ts';
import { type Bank, type BankRail, RailRefusedError, RailUnavailableError } from '../rail/port.ts';
import type { ApiDependencies } from './dependencies.ts';
import { ApiError } from './errors.ts';

/** The rail of an environment. Throws 503 where none is configured. */
export function requireRail(dependencies: ApiDependencies, environment: Environment): BankRail {
  const rail = dependencies.rails.of(environment);
  if (rail === null) throw new ApiError('SERVICE_UNAVAILABLE', { retryable: false, service: 'bank_rail' });
  return rail;
}

/** Maps a rail error to BANK_RAIL_TIMEOUT (504) or BANK_RAIL_ERROR (502); returns any other error unchanged. */
export function toRailError(error: unknown): unknown {
  if (!(error instanceof RailUnavailableError || error instanceof RailRefusedError)) return error;
  const timedOut = error instanceof RailUnavailableError && error.timedOut;
  return new ApiError(timedOut ? 'BANK_RAIL_TIMEOUT' : 'BANK_RAIL_ERROR', { service: 'bank_rail' }, { cause: error });
}

/** A bank account, as found by the rail's name enquiry. */
export interface ResolvedAccount {
  bank: Bank;
  accountName: string;
}

/** Name enquiry. Throws BANK_CODE_UNKNOWN, BANK_ACCOUNT_NOT_RESOLVED, 502 or 504. */
export async function resolveBankAccount(
  rail: BankRail,
  organisationId: string,
  { accountNumber, bankCode }: { accountNumber: string; bankCode: string },
): Promise<ResolvedAccount> {
  try {
    const bank = (await rail.banks()).find(({ code }) => code === bankCode);
    if (bank === undefined) throw new ApiError('BANK_CODE_UNKNOWN', { bankCode });
    const resolved = await rail.resolveAccount({ organisationId, accountNumber, bankCode });
    if (resolved === null) throw new ApiError('BANK_ACCOUNT_NOT_RESOLVED', { accountNumber, bankCode });
    return { bank, accountName: resolved.accountName };
  } catch (error) {
    throw toRailError(error);
  }
}
