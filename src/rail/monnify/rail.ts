// Monnify (Moniepoint) behind the rail port. See docs/rails/monnify.md for what is known of it and what is not.
import { createBankList } from '../bankList.ts';
import type { RailCapabilities } from '../capabilities.ts';
import type { Bank } from '../port.ts';
import type { ClosableRail } from '../provider.ts';
import { createAccounts } from './accounts.ts';
import { parseCallback } from './callbacks.ts';
import { createMonnifyClient, type MonnifyCredentials } from './client.ts';
import { createCredits, ONE_OFF_MAX_SECONDS } from './credits.ts';
import { DUPLICATE_GUARD_MS } from './outcomes.ts';
import { createStatement } from './statement.ts';
import { createTransfers, UNKNOWN_IS_FINAL_AFTER_MS } from './transfers.ts';
import { balanceBody, banksBody } from './wire.ts';

export const CAPABILITIES: RailCapabilities = {
  oneOff: {
    amount: 'exact',
    maxSeconds: ONE_OFF_MAX_SECONDS,
    minAmount: 2_001, // the refusal says "greater than 20"
    closes: true,
    lateMoney: 'bounced',
  },
  permanent: { needs: ['bvn_or_nin', 'name', 'email'] },
  credits: { listable: true, settles: 'later' },
  transfers: {
    unknownIsFinalAfterMs: UNKNOWN_IS_FINAL_AFTER_MS,
    sameRecipientGapMs: DUPLICATE_GUARD_MS,
    minAmount: 1,
    balance: true,
  },
  callbacks: { signed: 'body' },
  statement: { credits: true, transfers: true },
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
  const readBanks = async (): Promise<Bank[]> => {
    const rows = await client.read({ method: 'GET', route: '/api/v1/banks' }, banksBody);
    return rows.map(({ code, name, nipBankCode }) => ({ code, name, nipCode: nipBankCode }));
  };
  const banks = createBankList(readBanks, () => clock().getTime());
  const accounts = createAccounts(client, banks, credentials);
  const credits = createCredits(client, banks);
  const transfers = createTransfers(client, banks, credentials, clock);
  const statement = createStatement(client, credentials.walletAccountNumber, credits, transfers.find);

  return {
    name: 'monnify',
    capabilities: CAPABILITIES,
    openVirtualAccount: (request, signal) => accounts.open(request, signal),
    closeVirtualAccount: (account, signal) => accounts.close(account, signal),
    findInboundCredit: ({ sessionId }, signal) => credits.find(sessionId, signal),
    listInboundCredits: ({ from, to, cursor }, signal) => credits.list({ from, to }, cursor, signal),
    banks: () => banks.load(),
    resolveAccount: (account, signal) => transfers.resolve(account, signal),
    sendTransfer: (instruction, signal) => transfers.send(instruction, signal),
    transferStatus: (request, signal) => transfers.status(request, signal),
    async balance(_request, signal) {
      const { availableBalance: available, ledgerBalance: ledger } = await client.read(
        {
          method: 'GET',
          route: '/api/v2/disbursements/wallet-balance',
          query: { accountNumber: credentials.walletAccountNumber },
        },
        balanceBody,
        signal,
      );
      return { available, ledger };
    },
    statement: ({ from, to, cursor }, signal) => statement({ from, to }, cursor, signal),
    parseCallback: (request) => parseCallback(credentials, banks, request),
    close: () => client.close(),
  };
}
