// Rail calls within a request (banks, name enquiry), with the rail's errors mapped to the error catalog.
import { publicId } from '../ids.ts';
import type { Book } from '../money.ts';
import { isSameName } from '../rail/accountNames.ts';
import { isNotAccepted, RailCallError, RailNotReadyError, RailUnavailableError } from '../rail/errors.ts';
import type { Bank, BankRail } from '../rail/port.ts';
import { openDepositAccount } from '../resources/wallets/virtualAccounts.ts';
import type { ApiDependencies } from './dependencies.ts';
import { ApiError } from './errors.ts';

/** How a call of a rail fails, but for the 503 that any route may have. */
export const RAIL_ERRORS = ['BANK_RAIL_ERROR', 'BANK_RAIL_TIMEOUT'] as const;

/** The rail of a book, for something new. Throws 503 where none is connected, or it accepts nothing new. */
export async function requireRail(dependencies: ApiDependencies, book: Book): Promise<BankRail> {
  const rail = await dependencies.rails.accepting(book);
  if (rail === null) throw new ApiError('SERVICE_UNAVAILABLE', { retryable: false, service: 'bank_rail' });
  return rail;
}

/**
 * Maps a rail error to BANK_RAIL_TIMEOUT (504), BANK_RAIL_ERROR (502) or, if the rail was not called or is not ready,
 * SERVICE_UNAVAILABLE (503); returns any other error unchanged.
 */
export function toRailError(error: unknown): unknown {
  if (isNotAccepted(error)) {
    const retryAfterMs = error instanceof RailNotReadyError ? error.retryAfterMs : null;
    const retryAfterSeconds = Math.max(1, Math.ceil((retryAfterMs ?? 0) / 1000));
    return new ApiError('SERVICE_UNAVAILABLE', { service: 'bank_rail', retryAfterSeconds }, { cause: error });
  }
  if (!(error instanceof RailCallError)) return error;
  const timedOut = error instanceof RailUnavailableError && error.timedOut;
  return new ApiError(timedOut ? 'BANK_RAIL_TIMEOUT' : 'BANK_RAIL_ERROR', { service: 'bank_rail' }, { cause: error });
}

/** The result of a rail call. Throws 502, 503 or 504 when the call fails. */
export const fromRail = <Result>(call: Promise<Result>): Promise<Result> =>
  call.catch((error: unknown) => Promise.reject(toRailError(error)));

/** Opens a wallet's deposit account. Throws DEPOSIT_ACCOUNT_UNAVAILABLE where the rail opens none, 502, 503 or 504. */
export async function requireDepositAccount(
  dependencies: ApiDependencies,
  rail: BankRail,
  book: Book,
  wallet: Parameters<typeof openDepositAccount>[3],
): Promise<void> {
  try {
    await openDepositAccount(dependencies, rail, book, wallet);
  } catch (error) {
    if (!(error instanceof RailNotReadyError && error.why === 'feature_off')) throw toRailError(error);
    throw new ApiError('DEPOSIT_ACCOUNT_UNAVAILABLE', { walletId: publicId('wallet', wallet.id) }, { cause: error });
  }
}

/** What `resolveBankAccount` throws, but for the 503 that any route may have. */
export const BANK_ACCOUNT_ERRORS = ['BANK_CODE_UNKNOWN', 'BANK_ACCOUNT_NOT_RESOLVED', ...RAIL_ERRORS] as const;

/** A bank account as a caller gives it, with the name that it expects, if any. */
type GivenAccount = { accountNumber: string; bankCode: string; accountName?: string | undefined };

/**
 * Name enquiry. Throws BANK_CODE_UNKNOWN, BANK_ACCOUNT_NOT_RESOLVED, 502, 503 or 504, and
 * WITHDRAWAL_NAME_VERIFICATION_FAILED where the caller gives another name than the bank.
 */
export async function resolveBankAccount(
  rail: BankRail,
  organisationId: string,
  { accountNumber, bankCode, accountName: providedName }: GivenAccount,
): Promise<{ bank: Bank; accountName: string }> {
  const bank = (await fromRail(rail.banks())).find(({ code }) => code === bankCode);
  if (bank === undefined) throw new ApiError('BANK_CODE_UNKNOWN', { bankCode });
  const resolved = await fromRail(rail.resolveAccount({ organisationId, accountNumber, bankCode }));
  if (resolved === null) throw new ApiError('BANK_ACCOUNT_NOT_RESOLVED', { accountNumber, bankCode });
  const { accountName } = resolved;
  if (providedName !== undefined && !isSameName(providedName, accountName)) {
    throw new ApiError('WITHDRAWAL_NAME_VERIFICATION_FAILED', { providedName, resolvedName: accountName });
  }
  return { bank, accountName };
}
