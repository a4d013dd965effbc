// Transfers. A send whose end is not certain is followed by a query of its status, and never by a second reference.
import { timeOfId } from '../../ids.ts';
import { railUnknownAnswers } from '../../telemetry/metrics.ts';
import { holderBeforeSend, requireAbout } from '../adapterCalls.ts';
import type { BankList } from '../bankList.ts';
import type { ProviderClient } from '../client.ts';
import { RailNotReadyError, unclear } from '../errors.ts';
import { nairaDecimal } from '../fields.ts';
import { type HttpRequest, jsonNumber } from '../http.ts';
import type { BankRail, TransferReport } from '../port.ts';
import { narrationOf } from '../texts.ts';
import type { MonnifyCredentials } from './client.ts';
import { DUPLICATE_GUARD_MS, readTransfer, sendOutcome } from './outcomes.ts';
import type { createWallet } from './wallet.ts';
import { accountNameBody, type Transfer, transferBody } from './wire.ts';

/**
 * Monnify documents that a reference that does not exist was never received (D02), and no time that it takes to know
 * one that it has accepted.
 */
export const NOT_VISIBLE_FOR_MS = 15 * 60_000;

/** Monnify's clock may be ahead of ours, or behind it. */
const CLOCKS_MAX_MS = 600_000;
/** A time without a zone is read as Lagos time; if it is in UTC, it was an hour later than it is read. */
const ZONES_MAX_MS = 3_600_000;

export function createTransfers(
  client: ProviderClient,
  banks: BankList,
  { walletAccountNumber }: MonnifyCredentials,
  wallet: ReturnType<typeof createWallet>,
  clock: () => Date,
) {
  const resolveAccount: BankRail['resolveAccount'] = async ({ accountNumber, bankCode }, signal) => {
    const query = { accountNumber, bankCode };
    const route = '/api/v1/disbursements/account/validate';
    const response = await client.call({ method: 'GET', route, query }, signal);
    if (response.outcome.kind === 'no_account') return null;
    const account = response.read(accountNameBody);
    if (account.accountNumber === accountNumber) return { accountName: account.accountName };
    throw unclear('monnify', 'the name enquiry is about another account', { ofOneAccount: true });
  };

  /** A failure is believed by age, and nothing is older than `since` (ours), whatever zone Monnify's times have. */
  function reportOf(found: Transfer, since?: Date): TransferReport {
    const isOlder = since !== undefined && found.createdAt !== null && found.createdAt < since;
    const transfer = isOlder ? { ...found, createdAt: since } : found;
    const { report, isUnknownWord } = readTransfer(transfer, clock());
    if (report.awaitsApproval) railUnknownAnswers.inc({ rail: 'monnify', kind: 'otp' });
    if (isUnknownWord) railUnknownAnswers.inc({ rail: 'monnify', kind: 'status' });
    return { ...report, bankCode: banks.codeOf(report.bankCode) };
  }

  async function find(reference: string, signal?: AbortSignal, since?: Date): Promise<TransferReport | null> {
    const query: HttpRequest = { method: 'GET', route: '/api/v2/disbursements/single/summary', query: { reference } };
    const found = await client.find(query, transferBody, signal);
    if (found === null) return null;
    if (found.reference !== reference) {
      throw unclear('monnify', 'the status is about another transfer', { ofOneAccount: true });
    }
    return reportOf(found, since);
  }

  const calls: Pick<BankRail, 'resolveAccount' | 'sendTransfer' | 'transferStatus'> = {
    resolveAccount,

    async sendTransfer(instruction, signal) {
      const { reference, amount, accountNumber, bankCode, narration } = instruction;
      const accountName = await holderBeforeSend('monnify', client, instruction, () =>
        resolveAccount(instruction, signal),
      );
      const request: HttpRequest = {
        method: 'POST',
        route: '/api/v2/disbursements/single',
        body: JSON.stringify({
          amount: jsonNumber(nairaDecimal(amount)),
          reference,
          narration: narrationOf(narration, 'Transfer'),
          destinationBankCode: bankCode,
          destinationAccountNumber: accountNumber,
          destinationAccountName: accountName,
          currency: 'NGN',
          sourceAccountNumber: walletAccountNumber,
          // Monnify responds before the receiving bank does, so few responses are lost.
          async: true,
        }),
      };
      const sentAt = clock();
      const response = await client.call(request, signal);
      const outcome = sendOutcome(response.http);
      if (outcome.kind === 'report') return requireAbout('monnify', reportOf(outcome.transfer, sentAt), instruction);
      if (outcome.kind !== 'ask') throw response.failure(outcome);
      const found = await find(reference, signal, timeOfId(reference)).catch(() => null); // the flow queries it again
      if (found !== null) return requireAbout('monnify', found, instruction);
      const { message: providerMessage } = response;
      switch (outcome.ifAbsent) {
        case 'refused':
          throw response.refusal();
        case 'duplicate_guard':
          throw new RailNotReadyError('duplicate_guard', `monnify: ${providerMessage}`, {
            providerMessage,
            retryAfterMs: DUPLICATE_GUARD_MS,
          });
        case 'unknown':
          throw unclear('monnify: the reference exists, and its status is not found', providerMessage, {
            ofOneAccount: true,
            knowsReference: true,
          });
      }
    },

    /**
     * Once its silence would be final, Monnify must also not have paid the reference from the wallet: the statement is
     * searched. Where that is too long, the same reference may be sent again, which Monnify takes once.
     */
    async transferStatus({ reference, since, lastSentAt = since, mayEnd = true }, signal) {
      const found = await find(reference, signal, lastSentAt);
      if (found !== null || since === undefined) return found;
      const now = clock();
      if (now.getTime() - since.getTime() < NOT_VISIBLE_FOR_MS) return null;
      const period = {
        from: new Date(since.getTime() - CLOCKS_MAX_MS - ZONES_MAX_MS),
        to: new Date(now.getTime() + CLOCKS_MAX_MS),
      };
      const isPaid = await wallet.hasPaid(reference, period, signal);
      if (isPaid === false || (isPaid === 'unknown' && !mayEnd)) return null;
      const knowsReference = isPaid === true;
      const providerMessage = knowsReference
        ? 'the status is unknown, but the wallet statement has the reference'
        : 'the wallet statement is too long to be searched for the reference';
      throw unclear('monnify', providerMessage, { ofOneAccount: true, knowsReference });
    },
  };
  return { calls, find };
}
