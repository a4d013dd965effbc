// Nomba behind the rail port. See docs/rails/nomba.md for what is known of it and what is not.
import { createBankList } from '../bankList.ts';
import type { RailCapabilities } from '../capabilities.ts';
import type { ClosableRail, RailProvider } from '../provider.ts';
import { createAccounts } from './accounts.ts';
import { parseCallback } from './callbacks.ts';
import { createNombaClient, type NombaCredentials, nombaCredentials } from './client.ts';
import { FAILURES } from './outcomes.ts';
import { createTransactions } from './transactions.ts';
import { createTransfers } from './transfers.ts';
import { balanceData, banksData } from './wire.ts';

const CAPABILITIES: RailCapabilities = {
  oneOff: { amount: 'any', maxSeconds: 24 * 3_600, minAmount: 1, closes: false, lateMoney: 'accepted' },
  permanent: { needs: ['name'] },
  credits: { settles: 'at_once' },
  transfers: {
    // "Up to 3 minutes", doubled. That it was then never received is not documented.
    notVisibleForMs: 360_000,
    unknownIsFinal: false,
    sameRecipientGapMs: 0,
    minAmount: 1,
    balance: true,
  },
  // Nothing is documented: a month, as a return between banks may take.
  lists: { changeForMs: 30 * 86_400_000 },
  callbacks: { signed: 'fields' },
  calls: { limitMs: 7_000 },
  charges: null,
};

export function createNombaRail(credentials: NombaCredentials, clock: () => Date = () => new Date()): ClosableRail {
  const client = createNombaClient(credentials, () => clock().getTime());
  const readBanks = () => client.read({ method: 'GET', route: '/v1/transfers/banks' }, banksData);
  const banks = createBankList(readBanks, () => clock().getTime());
  const transactions = createTransactions(client, banks);

  return {
    name: 'nomba',
    capabilities: CAPABILITIES,
    failures: FAILURES,
    ...createAccounts(client, banks),
    ...transactions.calls,
    ...createTransfers(client, transactions.findTransfer, credentials),
    banks: () => banks.load(),
    async balance(_request, signal) {
      return (await client.read({ method: 'GET', route: '/v1/accounts/balance' }, balanceData, signal)).amount;
    },
    parseCallback: (request) => parseCallback(credentials.signatureKey, request, clock()),
    close: () => client.close(),
  };
}

export const nomba: RailProvider = {
  name: 'nomba',
  version: '1',
  capabilities: CAPABILITIES,
  credentials: nombaCredentials,
  isSandbox: ({ baseUrl }) => baseUrl === 'https://sandbox.nomba.com',
  open: (contract) => createNombaRail(nombaCredentials.parse(contract.credentials)),
};
