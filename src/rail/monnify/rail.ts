// Monnify (Moniepoint) behind the rail port. See docs/rails/monnify.md for what is known of it and what is not.
import { createBankList } from '../bankList.ts';
import type { RailCapabilities } from '../capabilities.ts';
import type { ClosableRail, RailProvider } from '../provider.ts';
import { createAccounts } from './accounts.ts';
import { parseCallback } from './callbacks.ts';
import { createMonnifyClient, type MonnifyCredentials, monnifyCredentials } from './client.ts';
import { createCredits, ONE_OFF_MAX_SECONDS } from './credits.ts';
import { DUPLICATE_GUARD_MS, FAILURES } from './outcomes.ts';
import { createStatement } from './statement.ts';
import { createTransfers, NOT_VISIBLE_FOR_MS } from './transfers.ts';
import { createWallet } from './wallet.ts';
import { balanceBody, banksBody } from './wire.ts';

const CAPABILITIES: RailCapabilities = {
  oneOff: {
    amount: 'exact',
    maxSeconds: ONE_OFF_MAX_SECONDS,
    minAmount: 2_001, // the refusal says "greater than 20"
    closes: true,
    lateMoney: 'bounced',
  },
  permanent: { needs: ['bvn', 'name', 'email'] },
  credits: { settles: 'later' },
  transfers: {
    notVisibleForMs: NOT_VISIBLE_FOR_MS,
    unknownIsFinal: true, // D02
    sameRecipientGapMs: DUPLICATE_GUARD_MS,
    minAmount: 1,
    balance: true,
  },
  // Nothing is documented: a month, as a return between banks may take.
  lists: { changeForMs: 30 * 86_400_000 },
  callbacks: { signed: 'body' },
  calls: { limitMs: 7_000 },
  charges: {
    collection: { basisPoints: 150, max: 200_000 },
    transfer: [
      { below: 1_000_000, charge: 1_000 },
      { below: 5_000_000, charge: 2_000 },
      { below: null, charge: 4_000 },
    ],
  },
};

/** `clock`, for tests: the time that the age of a transfer is measured by. */
export function createMonnifyRail(credentials: MonnifyCredentials, clock: () => Date = () => new Date()): ClosableRail {
  const client = createMonnifyClient(credentials, () => clock().getTime());
  const readBanks = () => client.read({ method: 'GET', route: '/api/v1/banks' }, banksBody);
  const banks = createBankList(readBanks, () => clock().getTime());
  const credits = createCredits(client, banks);
  const wallet = createWallet(client, credentials.walletAccountNumber);
  const transfers = createTransfers(client, banks, credentials, wallet, clock);

  return {
    name: 'monnify',
    capabilities: CAPABILITIES,
    failures: FAILURES,
    ...createAccounts(client, banks, credentials),
    ...credits.calls,
    ...transfers.calls,
    statement: createStatement(wallet, credits, transfers.find),
    banks: () => banks.load(),
    async balance(_request, signal) {
      const query = { accountNumber: credentials.walletAccountNumber };
      const route = '/api/v2/disbursements/wallet-balance';
      return (await client.read({ method: 'GET', route, query }, balanceBody, signal)).availableBalance;
    },
    parseCallback: (request) => parseCallback(credentials, banks, request),
    close: () => client.close(),
  };
}

export const monnify: RailProvider = {
  name: 'monnify',
  version: '1',
  capabilities: CAPABILITIES,
  credentials: monnifyCredentials,
  isSandbox: ({ baseUrl }) => baseUrl === 'https://sandbox.monnify.com',
  open: (contract) => createMonnifyRail(monnifyCredentials.parse(contract.credentials)),
};
