// What customers send, shared by the chaos command and the tests.

/** A valid body of the KYC route. */
export const KYC = {
  bvn: '22212345678',
  dateOfBirth: '1990-02-28',
  gender: 'female',
  phone: '+2348012345678',
  addressLine1: '1 Marina Road',
  city: 'Lagos',
  state: 'Lagos',
} as const;

/** The same for a business, whose tier has limits of a day and month (participants.ts). */
export const BUSINESS = {
  ...KYC,
  tier: 'business',
  businessName: 'Obi Foods',
  registrationNumber: 'RC 1234567',
} as const;

/** Account numbers at other banks, by how the sandbox bank handles a transfer to them. */
export const DESTINATIONS = {
  completes: '0123456789',
  rejects: '9999999001',
  returns: '9999999002',
  holds: '9999999003',
  losesResponse: '9999999004',
  losesTransfer: '9999999005',
  doesNotExist: '9999999006',
  unavailable: '9999999008',
} as const;

export type Destination = keyof typeof DESTINATIONS;

/** A bank account at another bank, or the account number of one of our own wallets. */
export const bankAccountOf = (destination: Destination | 'ownWallet', ownAccountNumber: string) =>
  destination === 'ownWallet'
    ? { accountNumber: ownAccountNumber, bankCode: '999' }
    : { accountNumber: DESTINATIONS[destination], bankCode: '058' };

/**
 * The refund of a share of a payment. A payment from a wallet is refunded to the wallet, a bank transfer to the payer
 * or to this account.
 */
export const refundBody = (
  payment: Readonly<Record<string, unknown>>,
  { percent, accountNumber }: { percent: number; accountNumber: string },
) => ({
  ...(percent !== 100 && { amount: Math.max(1, Math.round((Number(payment.baseAmount) * percent) / 100)) }),
  ...(payment.method === 'bank_transfer' && percent !== 50 && { bankAccount: { accountNumber, bankCode: '058' } }),
});
