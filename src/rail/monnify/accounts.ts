// Account numbers: an invoice for one payment, a reserved account for a wallet. Our reference is Monnify's.
import type { z } from 'zod';
import { closeAccount, openAccount } from '../adapterCalls.ts';
import type { BankList } from '../bankList.ts';
import type { ProviderClient } from '../client.ts';
import { RailNotReadyError, unclear } from '../errors.ts';
import { nairaDecimal } from '../fields.ts';
import { type HttpRequest, jsonNumber } from '../http.ts';
import type { AccountRequest, BankRail, VirtualAccount } from '../port.ts';
import { lagosText, narrationOf } from '../texts.ts';
import type { MonnifyCredentials } from './client.ts';
import { invoiceBody, reservedAccountBody } from './wire.ts';

/** In these states an invoice accepts no more money. */
const CLOSED_STATES: ReadonlySet<string> = new Set(['CANCELLED', 'PAID', 'EXPIRED']);

type OneOff = Extract<AccountRequest, { kind: 'one_off' }>;
type Permanent = Extract<AccountRequest, { kind: 'permanent' }>;

/** The endpoints of each kind of account, and what their responses are about. */
const ENDPOINTS = {
  one_off: {
    create: '/api/v1/invoice/create',
    read: '/api/v1/invoice/{reference}/details',
    close: '/api/v1/invoice/{reference}/cancel',
    body: invoiceBody.transform(({ invoiceReference, amount, invoiceStatus, expiryDate, ...account }) => ({
      reference: invoiceReference,
      amount,
      isClosed: CLOSED_STATES.has(invoiceStatus),
      account: { ...account, expiresAt: expiryDate },
    })),
  },
  permanent: {
    create: '/api/v2/bank-transfer/reserved-accounts',
    read: '/api/v2/bank-transfer/reserved-accounts/{reference}',
    close: '/api/v1/bank-transfer/reserved-accounts/reference/{reference}',
    body: reservedAccountBody.transform(({ accountReference, status, accounts: [account] }) => ({
      reference: accountReference,
      amount: null,
      isClosed: status === 'DEACTIVATED',
      account: { ...account, expiresAt: null },
    })),
  },
} as const;
type Found = z.infer<(typeof ENDPOINTS)[AccountRequest['kind']]['body']>;

export function createAccounts(
  client: ProviderClient,
  banks: BankList,
  credentials: MonnifyCredentials,
): Pick<BankRail, 'openVirtualAccount' | 'closeVirtualAccount'> {
  const query = (kind: AccountRequest['kind'], reference: string): HttpRequest => ({
    method: 'GET',
    route: ENDPOINTS[kind].read,
    params: { reference },
  });

  const creation = (request: AccountRequest): HttpRequest => ({
    method: 'POST',
    route: ENDPOINTS[request.kind].create,
    body: JSON.stringify({
      currencyCode: 'NGN',
      contractCode: credentials.contractCode,
      customerName: request.holder.name,
      customerEmail: request.holder.email,
      ...(request.kind === 'one_off' ? invoiceFields(request) : reservedFields(request)),
    }),
  });

  const invoiceFields = (request: OneOff): object => ({
    amount: jsonNumber(nairaDecimal(request.amount)),
    invoiceReference: request.reference,
    // Monnify names the account after it, and payers see that name.
    description: narrationOf(request.holder.name, 'Payment'),
    expiryDate: lagosText(request.expiresAt),
    paymentMethods: ['ACCOUNT_TRANSFER'],
  });

  function reservedFields({ reference, holder }: Permanent): object {
    const bvn = holder.bvn ?? credentials.bvn;
    if (!bvn)
      throw new RailNotReadyError('feature_off', 'monnify: the contract has no BVN for account numbers of its own');
    // One bank only, so that a wallet has one account number.
    const bank = { getAllAvailableBanks: false, preferredBanks: [credentials.preferredBank] };
    return { accountReference: reference, accountName: holder.name, bvn, ...bank };
  }

  function accountOf(request: AccountRequest, { reference, amount, account }: Found): VirtualAccount {
    if (reference !== request.reference || (request.kind === 'one_off' && amount !== request.amount))
      throw unclear('monnify', 'the response is about another account or amount');
    return { ...account, bankCode: banks.codeOf(account.bankCode) };
  }

  return {
    async openVirtualAccount(request, signal) {
      const { body } = ENDPOINTS[request.kind];
      return await openAccount(
        client,
        creation(request),
        (response) => accountOf(request, response.read<Found>(body)),
        async () => {
          const found = await client.find<Found>(query(request.kind, request.reference), body, signal);
          return found && accountOf(request, found);
        },
        signal,
      );
    },

    closeVirtualAccount({ kind, reference }, signal) {
      const isClosed = async (): Promise<boolean> => {
        const found = await client.find<Found>(query(kind, reference), ENDPOINTS[kind].body, signal);
        return found === null || (found.reference === reference && found.isClosed);
      };
      const removal: HttpRequest = { method: 'DELETE', route: ENDPOINTS[kind].close, params: { reference } };
      return closeAccount(client, removal, isClosed, signal);
    },
  };
}
