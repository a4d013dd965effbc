// Why a wallet would refuse money now, checked before a rail is called. The ledger checks again when it posts.
import { publicId } from '../ids.ts';
import type { Kobo } from '../money.ts';
import type { Wallet } from '../resources/wallets/queries.ts';
import { ApiError, type FieldError } from './errors.ts';

/** The errors with which a wallet refuses to pay or to receive. */
export const WALLET_REFUSALS = ['WALLET_FROZEN', 'WALLET_CLOSED', 'WALLET_KYC_REQUIRED'] as const;

type WalletState = Pick<Wallet, 'id' | 'status' | 'kind' | 'kycStatus'>;

const needsKyc = ({ kind, kycStatus }: WalletState): boolean => kind === 'end_user' && kycStatus === 'none';

/** The error with which a wallet refuses; null when it does not. */
export function walletRefusal(wallet: WalletState): (typeof WALLET_REFUSALS)[number] | null {
  if (wallet.status === 'frozen') return 'WALLET_FROZEN';
  if (wallet.status === 'closed') return 'WALLET_CLOSED';
  return needsKyc(wallet) ? 'WALLET_KYC_REQUIRED' : null;
}

/** Throws the refusal of a wallet. */
export function requireUsable(wallet: WalletState): void {
  const code = walletRefusal(wallet);
  if (code !== null) throw new ApiError(code, { walletId: publicId('wallet', wallet.id) });
}

/** Throws WALLET_KYC_REQUIRED: what a customer without KYC details does not have yet. */
export function requireTier1(wallet: WalletState): void {
  if (needsKyc(wallet)) throw new ApiError('WALLET_KYC_REQUIRED', { walletId: publicId('wallet', wallet.id) });
}

/** The error of a wallet that an earlier position of a request names too; null: there is none. */
export function repeatedWallet(
  ids: readonly string[],
  position: number,
  fieldOf: (position: number) => string,
): FieldError | null {
  const first = ids.indexOf(ids[position] ?? '');
  if (first === position) return null;
  const sameAs = fieldOf(first);
  const message = `must be another wallet than ${sameAs}`;
  return { field: fieldOf(position), code: 'duplicate', message, constraint: { sameAs } };
}

/** Throws the refusals of a wallet for a transaction, whose postings the ledger checks singly. `room`: for a credit. */
export function requireTransaction(wallet: Wallet, attemptedAmount: Kobo, room = Number.POSITIVE_INFINITY): void {
  requireUsable(wallet);
  const { postingMax: limitAmount } = wallet;
  if (limitAmount === null || attemptedAmount <= limitAmount) return;
  const availableAmount = Math.min(room, limitAmount);
  throw overLimit(wallet, { limit: 'transaction', limitAmount, attemptedAmount, availableAmount });
}

/** Throws the refusals that a credit of this amount to the wallet would meet now. */
export function requireRoom(wallet: Wallet, credited: Kobo): void {
  const { balanceMax: limitAmount, balance, postingMax } = wallet;
  const room = limitAmount === null ? Number.POSITIVE_INFINITY : Math.max(0, limitAmount - balance);
  requireTransaction(wallet, credited, room);
  if (limitAmount === null || credited <= room) return;
  const availableAmount = Math.min(room, postingMax ?? room);
  throw overLimit(wallet, { limit: 'balance', limitAmount, attemptedAmount: balance + credited, availableAmount });
}

const overLimit = ({ id }: Wallet, details: object): ApiError =>
  new ApiError('WALLET_TIER1_LIMIT_EXCEEDED', { walletId: publicId('wallet', id), ...details });
