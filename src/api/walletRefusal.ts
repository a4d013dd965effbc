// Why a wallet would refuse money now, checked before a rail is called. The ledger checks again when it posts.
import { publicId } from '../ids.ts';
import type { Wallet } from '../resources/wallets/queries.ts';
import { ApiError } from './errors.ts';

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
