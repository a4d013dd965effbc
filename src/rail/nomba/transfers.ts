// Transfers. Our reference is the idempotency key, and what a status is queried by.

import type { ProviderClient } from '../client.ts';
import { RailUnavailableError, unclear } from '../errors.ts';
import { type HttpRequest, jsonNumber } from '../http.ts';
import { nairaDecimal } from '../naira.ts';
import type { TransferInstruction, TransferReport } from '../port.ts';
import { fullAccountNumber, narrationOf, safeMessage } from '../texts.ts';
import type { NombaCredentials } from './client.ts';
import { isNoAccount, outcomeOf, transferStatusOf } from './outcomes.ts';
import type { createTransactions } from './transactions.ts';
import { lookupData, sendData, type Transaction } from './wire.ts';

export function createTransfers(
  client: ProviderClient,
  transactions: ReturnType<typeof createTransactions>,
  { senderName }: NombaCredentials,
) {
  async function resolve(
    { accountNumber, bankCode }: Pick<TransferInstruction, 'accountNumber' | 'bankCode'>,
    signal?: AbortSignal,
  ): Promise<{ accountName: string } | null> {
    const request: HttpRequest = {
      method: 'POST',
      route: '/v1/transfers/bank/lookup',
      body: JSON.stringify({ accountNumber, bankCode }),
    };
    const response = await client.call(request, signal);
    if (isNoAccount(response)) return null;
    const outcome = outcomeOf(response);
    if (outcome.kind !== 'ok') throw client.failure(request, response, outcome);
    const account = client.parse(request, response, lookupData);
    if (account.accountNumber === accountNumber) return { accountName: account.accountName };
    throw new RailUnavailableError('nomba: the name enquiry is about another account', { ofOneAccount: true });
  }

  const reportOf = (reference: string, row: Transaction): TransferReport => {
    const status = transferStatusOf(row.status);
    return {
      reference,
      status,
      sessionId: row.sessionId ?? row.paymentVendorReference,
      reason:
        status === 'returned' ? (safeMessage(row.gatewayMessage) ?? 'The transfer failed and was refunded') : null,
      amount: row.amount,
      accountNumber: fullAccountNumber(row.recipientAccountNumber),
      bankCode: null,
      charge: row.fixedCharge,
      railReference: row.id,
    };
  };

  async function find(reference: string, signal?: AbortSignal): Promise<TransferReport | null> {
    const row = await transactions.findTransfer(reference, signal);
    return row && reportOf(reference, row);
  }

  function checked(report: TransferReport, { amount, accountNumber }: TransferInstruction): TransferReport {
    const isSame = report.amount === amount && (report.accountNumber ?? accountNumber) === accountNumber;
    if (isSame) return report;
    throw unclear('nomba', 'the response has another amount or account than the instruction', {
      ofOneAccount: true,
      knowsReference: true,
    });
  }

  return {
    resolve,
    find,

    async send(instruction: TransferInstruction, signal?: AbortSignal): Promise<TransferReport> {
      const { reference, amount, accountNumber, bankCode, narration } = instruction;
      const accountName = instruction.accountName ?? (await resolve(instruction, signal))?.accountName;
      if (accountName === undefined) {
        throw unclear('nomba', 'name enquiry finds no such account', { ofOneAccount: true });
      }
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
      const outcome = outcomeOf(response);
      if (outcome.kind === 'ok') {
        const sent = client.parse(request, response, sendData);
        const told = sent.meta?.merchantTxRef ?? reference;
        // A replay has the status of the first response, so the status query has the last word.
        const found = told === reference ? await find(reference, signal).catch(() => null) : null;
        const status = transferStatusOf(sent.status);
        return checked(
          found ?? {
            reference: told,
            status: status === 'returned' ? 'processing' : status,
            sessionId: null,
            reason: null,
            amount: told === reference ? sent.amount : null,
            accountNumber: null,
            bankCode: null,
            charge: sent.fee,
            railReference: sent.id,
          },
          instruction,
        );
      }
      if (outcome.kind !== 'refused') throw client.failure(request, response, outcome);
      const found = await find(reference, signal);
      if (found === null) throw client.refusal(response);
      return checked(found, instruction);
    },
  };
}
