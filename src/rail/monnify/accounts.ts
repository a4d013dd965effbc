// Account numbers: an invoice for one payment, a reserved account for a wallet. Our reference is Monnify's, so what was
// opened by a request whose response was lost is found again.
import type { BankList } from '../bankList.ts';
import type { ProviderClient } from '../client.ts';
import { RailNotReadyError, RailUnavailableError } from '../errors.ts';
import { type HttpRequest, jsonNumber } from '../http.ts';
import { nairaDecimal } from '../naira.ts';
import type { AccountRequest, OpenedAccount, VirtualAccount } from '../port.ts';
import { narrationOf } from '../texts.ts';
import type { MonnifyCredentials } from './client.ts';
import { callOutcome } from './outcomes.ts';
import { lagosText } from './times.ts';
import { invoiceBody, replyOf, reservedAccountBody } from './wire.ts';

const INVOICE = '/api/v1/invoice/{reference}/details';
const RESERVED = '/api/v2/bank-transfer/reserved-accounts/{reference}';

/** In these states an invoice accepts no more money. */
const CLOSED_STATES: ReadonlySet<string> = new Set(['CANCELLED', 'PAID', 'EXPIRED']);

type OneOff = Extract<AccountRequest, { kind: 'one_off' }>;
type Permanent = Extract<AccountRequest, { kind: 'permanent' }>;

export function createAccounts(client: ProviderClient, banks: BankList, credentials: MonnifyCredentials) {
  const get = (route: HttpRequest['route'], reference: string): HttpRequest => ({
    method: 'GET',
    route,
    params: { reference },
  });

  const creation = (request: AccountRequest): HttpRequest => ({
    method: 'POST',
    route: request.kind === 'one_off' ? '/api/v1/invoice/create' : '/api/v2/bank-transfer/reserved-accounts',
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
    description: narrationOf(request.accountName, 'Payment'),
    expiryDate: lagosText(request.expiresAt),
    paymentMethods: ['ACCOUNT_TRANSFER'],
  });

  /** The identity number of the holder, or that of the contract for a settlement wallet. */
  function identityOf({ bvn, nin }: Permanent['holder']): { bvn: string } | { nin: string } {
    if (bvn !== null) return { bvn };
    if (nin !== null) return { nin };
    if (credentials.bvn) return { bvn: credentials.bvn };
    throw new RailNotReadyError('feature_off', 'monnify: the contract has no BVN for account numbers of its own');
  }

  const reservedFields = ({ reference, accountName, holder }: Permanent): object => ({
    accountReference: reference,
    accountName,
    ...identityOf(holder),
    // One bank only, so that a wallet has one account number.
    getAllAvailableBanks: false,
    preferredBanks: [credentials.preferredBank],
  });

  /** The account that has our reference already; null: there is none. */
  async function find(request: AccountRequest, signal?: AbortSignal): Promise<VirtualAccount | null> {
    const query = get(request.kind === 'one_off' ? INVOICE : RESERVED, request.reference);
    const response = await client.call(query, signal);
    const outcome = callOutcome(response);
    if (outcome.kind === 'absent') return null;
    if (outcome.kind !== 'ok') throw client.failure(query, response, outcome);
    return accountOf(request, query, response);
  }

  function accountOf(
    request: AccountRequest,
    made: HttpRequest,
    response: Awaited<ReturnType<ProviderClient['call']>>,
  ): VirtualAccount {
    if (request.kind === 'permanent') {
      const { accountReference, accounts } = client.parse(made, response, reservedAccountBody);
      const [account] = accounts;
      if (account === undefined || accountReference !== request.reference) throw ofAnother(made);
      const { accountNumber, accountName, bankName, bankCode } = account;
      return {
        accountNumber,
        accountName,
        bankName,
        bankCode: banks.codeOf(bankCode),
        railReference: null,
        expiresAt: null,
      };
    }
    const invoice = client.parse(made, response, invoiceBody);
    if (invoice.invoiceReference !== request.reference || invoice.amount !== request.amount) throw ofAnother(made);
    return {
      accountNumber: invoice.accountNumber,
      accountName: invoice.accountName,
      bankName: invoice.bankName,
      bankCode: banks.codeOf(invoice.bankCode),
      railReference: null,
      expiresAt: invoice.expiryDate,
    };
  }

  const ofAnother = ({ method, route }: HttpRequest): RailUnavailableError =>
    new RailUnavailableError(`monnify: ${method} ${route}: the response is about another account or amount`);

  return {
    async open(request: AccountRequest, signal?: AbortSignal): Promise<VirtualAccount> {
      const made = creation(request);
      let lost: unknown;
      try {
        const response = await client.call(made, signal);
        const outcome = callOutcome(response);
        if (outcome.kind === 'ok') return accountOf(request, made, response);
        if (outcome.kind === 'refused') throw client.refusal(response);
        lost = client.failure(made, response, outcome);
        if (outcome.kind === 'not_ready') throw lost;
      } catch (error) {
        if (!(error instanceof RailUnavailableError)) throw error;
        lost = error;
      }
      // It may be open all the same, by this request or by an earlier one.
      const account = await find(request, signal);
      if (account === null) throw lost;
      return account;
    },

    async close({ kind, reference }: OpenedAccount, signal?: AbortSignal): Promise<void> {
      const removal: HttpRequest = {
        method: 'DELETE',
        route:
          kind === 'one_off'
            ? '/api/v1/invoice/{reference}/cancel'
            : '/api/v1/bank-transfer/reserved-accounts/reference/{reference}',
        params: { reference },
      };
      const response = await client.call(removal, signal);
      const outcome = callOutcome(response);
      if (outcome.kind === 'ok' || outcome.kind === 'absent') return;
      if (outcome.kind === 'not_ready') throw client.failure(removal, response, outcome);
      // Already closed, or paid: the state reports, whatever words the refusal has.
      const state = await client.call(get(kind === 'one_off' ? INVOICE : RESERVED, reference), signal);
      const found = callOutcome(state);
      if (found.kind === 'absent') return;
      if (found.kind === 'ok' && isClosed(kind, replyOf(state)?.body, reference)) return;
      throw client.failure(removal, response, outcome);
    },
  };
}

function isClosed(kind: OpenedAccount['kind'], body: unknown, reference: string): boolean {
  if (kind === 'permanent') {
    const account = reservedAccountBody.safeParse(body);
    return account.success && account.data.accountReference === reference && account.data.status === 'DEACTIVATED';
  }
  const invoice = invoiceBody.safeParse(body);
  return (
    invoice.success && invoice.data.invoiceReference === reference && CLOSED_STATES.has(invoice.data.invoiceStatus)
  );
}
