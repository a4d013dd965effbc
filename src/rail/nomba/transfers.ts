// Transfers. Our reference is the idempotency key, and what a status is queried by.
import { emptyReport, holderBeforeSend, requireAbout } from '../adapterCalls.ts';
import type { ProviderClient } from '../client.ts';
import { unclear } from '../errors.ts';
import { nairaDecimal } from '../fields.ts';
import { type HttpRequest, jsonNumber } from '../http.ts';
import type { BankRail, TransferReport } from '../port.ts';
import { fullAccountNumber, narrationOf, reasonOf } from '../texts.ts';
import type { NombaCredentials } from './client.ts';
import { isSaid, transferStatusOf } from './outcomes.ts';
import type { createTransactions } from './transactions.ts';
import { lookupData, sendData, type Transaction } from './wire.ts';

export function createTransfers(
  client: ProviderClient,
  findTransfer: ReturnType<typeof createTransactions>['findTransfer'],
  { senderName }: NombaCredentials,
): Pick<BankRail, 'resolveAccount' | 'sendTransfer' | 'transferStatus'> {
  const resolveAccount: BankRail['resolveAccount'] = async ({ accountNumber, bankCode }, signal) => {
    const request: HttpRequest = {
      method: 'POST',
      route: '/v1/transfers/bank/lookup',
      body: JSON.stringify({ accountNumber, bankCode }),
    };
    const response = await client.call(request, signal);
    const { kind } = response.outcome;
    if (kind === 'absent' || kind === 'no_account' || (kind === 'refused' && isSaid('no_account', response.http)))
      return null;
    const account = response.read(lookupData);
    if (account.accountNumber === accountNumber) return { accountName: account.accountName };
    throw unclear('nomba', 'the name enquiry is about another account', { ofOneAccount: true });
  };

  const reportOf = (reference: string, row: Transaction): TransferReport => {
    const status = transferStatusOf(row.status);
    return {
      reference,
      status,
      sessionId: row.sessionId ?? row.paymentVendorReference,
      reason: status === 'returned' ? reasonOf(row.gatewayMessage) : null,
      amount: row.amount,
      accountNumber: fullAccountNumber(row.recipientAccountNumber),
      bankCode: null,
      charge: row.fixedCharge,
    };
  };

  async function find(reference: string, signal?: AbortSignal): Promise<TransferReport | null> {
    const row = await findTransfer(reference, signal);
    return row && reportOf(reference, row);
  }

  return {
    resolveAccount,

    transferStatus: ({ reference }, signal) => find(reference, signal),

    async sendTransfer(instruction, signal) {
      const { reference, amount, accountNumber, bankCode, narration } = instruction;
      const accountName = await holderBeforeSend('nomba', client, instruction, () =>
        resolveAccount(instruction, signal),
      );
      const request: HttpRequest = {
        method: 'POST',
        route: '/v2/transfers/bank',
        headers: { 'x-idempotent-key': reference },
        body: JSON.stringify({
          amount: jsonNumber(nairaDecimal(amount)),
          accountNumber,
          accountName,
          bankCode,
          merchantTxRef: reference,
          senderName: narrationOf(senderName, 'Manilla'),
          narration: narrationOf(narration, 'Transfer'),
        }),
      };
      const response = await client.call(request, signal);
      const { kind } = response.outcome;
      if (kind !== 'ok') {
        const exists = kind !== 'not_ready' && isSaid('exists', response.http);
        if (!exists && (kind === 'not_ready' || kind === 'unknown')) throw response.failure();
        const found = await find(reference, signal).catch(() => null); // the flow queries it again
        if (found !== null) return requireAbout('nomba', found, instruction);
        if (!exists) throw response.refusal();
        throw unclear('nomba: the reference exists, and its status is not found', response.message, {
          ofOneAccount: true,
          knowsReference: true,
        });
      }
      const sent = response.read(sendData);
      const sentReference = sent.meta?.merchantTxRef ?? reference;
      // A replay has the status of the first response, so the status query has the last word.
      const found = sentReference === reference ? await find(reference, signal).catch(() => null) : null;
      const status = transferStatusOf(sent.status);
      const asSent: TransferReport = {
        ...emptyReport(sentReference, status === 'returned' ? 'processing' : status),
        amount: sent.amount,
        charge: sent.fee,
      };
      return requireAbout('nomba', found ?? asSent, instruction);
    },
  };
}
