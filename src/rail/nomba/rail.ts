// Nomba behind the rail port. See docs/rails/nomba.md for what is known of it and what is not.
import { createBankList } from '../bankList.ts';
import type { RailCapabilities } from '../capabilities.ts';
import type { ClosableRail } from '../provider.ts';
import { createAccounts } from './accounts.ts';
import { parseCallback } from './callbacks.ts';
import { createNombaClient, type NombaCredentials } from './client.ts';
import { createTransactions } from './transactions.ts';
import { createTransfers } from './transfers.ts';
import { balanceData, banksData } from './wire.ts';

export const CAPABILITIES: RailCapabilities = {
  oneOff: { amount: 'any', maxSeconds: 24 * 3_600, minAmount: 1, closes: false, lateMoney: 'taken' },
  permanent: { needs: ['name'] },
  credits: { listable: true, settles: 'at_once' },
  transfers: {
    // How long a transfer may stay invisible is not documented as an end.
    unknownIsFinalAfterMs: null,
    sameRecipientGapMs: 0,
    minAmount: 1,
    balance: true,
  },
  callbacks: { signed: 'fields' },
  statement: { credits: true, transfers: true },
  calls: { limitMs: 7_000 },
  charges: null,
};

export function createNombaRail(credentials: NombaCredentials, clock: () => Date = () => new Date()): ClosableRail {
  const client = createNombaClient(credentials, () => clock().getTime());
  const readBanks = async () => {
    const rows = await client.read({ method: 'GET', route: '/v1/transfers/banks' }, banksData);
    return rows.map(({ code, name }) => ({ code, name, nipCode: null }));
  };
  const banks = createBankList(readBanks, () => clock().getTime());
  const accounts = createAccounts(client, banks);
  const transactions = createTransactions(client, banks);
  const transfers = createTransfers(client, transactions, credentials);

  return {
    name: 'nomba',
    capabilities: CAPABILITIES,
    openVirtualAccount: (request, signal) => accounts.open(request, signal),
    closeVirtualAccount: (account, signal) => accounts.close(account, signal),
    findInboundCredit: ({ sessionId }, signal) => transactions.findCredit(sessionId, signal),
    listInboundCredits: ({ from, to, cursor }, signal) => transactions.listCredits({ from, to }, cursor, signal),
    banks: () => banks.load(),
    resolveAccount: (account, signal) => transfers.resolve(account, signal),
    sendTransfer: (instruction, signal) => transfers.send(instruction, signal),
    transferStatus: ({ reference }, signal) => transfers.find(reference, signal),
    async balance(_request, signal) {
      const { amount } = await client.read({ method: 'GET', route: '/v1/accounts/balance' }, balanceData, signal);
      return { available: amount, ledger: null };
    },
    statement: ({ from, to, cursor }, signal) => transactions.statement({ from, to }, cursor, signal),
    parseCallback: (request) => parseCallback(credentials.signatureKey, banks, request, clock()),
    close: () => client.close(),
  };
}
