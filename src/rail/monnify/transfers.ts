// Transfers. A send whose end is not certain is followed by a query of its status, and never by a second reference.
import { railUnknownAnswers } from '../../telemetry/metrics.ts';
import type { BankList } from '../bankList.ts';
import type { ProviderClient } from '../client.ts';
import { RailNotReadyError, RailUnavailableError, unclear } from '../errors.ts';
import { type HttpRequest, jsonNumber } from '../http.ts';
import { nairaDecimal } from '../naira.ts';
import type { TransferInstruction, TransferReport } from '../port.ts';
import { narrationOf } from '../texts.ts';
import type { MonnifyCredentials } from './client.ts';
import {
  callOutcome,
  DUPLICATE_GUARD_MS,
  isAbout,
  readStatus,
  reportOf,
  sendOutcome,
  statusOutcome,
} from './outcomes.ts';
import { isInWallet } from './wallet.ts';
import { accountNameBody, type Transfer } from './wire.ts';

/** Monnify's documentation takes a reference that does not exist for one that was never received (D02). */
export const UNKNOWN_IS_FINAL_AFTER_MS = 15 * 60_000;

/** Monnify's clock may be ahead of ours, or behind it. */
const CLOCKS_MAX_MS = 600_000;
/** A time without a zone is taken for Lagos; if it is in UTC, it was an hour later than it is read. */
const ZONES_MAX_MS = 3_600_000;

export function createTransfers(
  client: ProviderClient,
  banks: BankList,
  { walletAccountNumber }: MonnifyCredentials,
  clock: () => Date,
) {
  const enquiry = (accountNumber: string, bankCode: string): HttpRequest => ({
    method: 'GET',
    route: '/api/v1/disbursements/account/validate',
    query: { accountNumber, bankCode },
  });

  async function resolve(
    { accountNumber, bankCode }: Pick<TransferInstruction, 'accountNumber' | 'bankCode'>,
    signal?: AbortSignal,
  ): Promise<{ accountName: string } | null> {
    const request = enquiry(accountNumber, bankCode);
    const response = await client.call(request, signal);
    const outcome = callOutcome(response);
    if (outcome.kind === 'no_account') return null;
    if (outcome.kind === 'ok') {
      const account = client.parse(request, response, accountNameBody);
      if (account.accountNumber === accountNumber) return { accountName: account.accountName };
      throw new RailUnavailableError('monnify: the name enquiry is about another account', { ofOneAccount: true });
    }
    const notReady = outcome.kind === 'not_ready' ? outcome : null;
    const isRailsFault = outcome.kind === 'unknown' && outcome.isRailsFault;
    throw client.failure(request, response, notReady ?? { kind: 'unknown', isRailsFault });
  }

  /** A failure is believed by age, and no transfer is older than its reference, whatever zone Monnify's times have. */
  function report(found: Transfer, since?: Date): TransferReport {
    const isOlder = since !== undefined && found.createdAt !== null && found.createdAt < since;
    const transfer = isOlder ? { ...found, createdAt: since } : found;
    const { waitsForOtp, isUnknownWord } = readStatus(transfer, clock());
    if (waitsForOtp) railUnknownAnswers.inc({ rail: 'monnify', kind: 'otp' });
    if (isUnknownWord) railUnknownAnswers.inc({ rail: 'monnify', kind: 'status' });
    const told = reportOf(transfer, clock());
    return { ...told, bankCode: banks.codeOf(told.bankCode), ...(waitsForOtp && { awaitsApproval: true }) };
  }

  const query = (reference: string): HttpRequest => ({
    method: 'GET',
    route: '/api/v2/disbursements/single/summary',
    query: { reference },
  });

  async function find(reference: string, signal?: AbortSignal, since?: Date): Promise<TransferReport | null> {
    const request = query(reference);
    const response = await client.call(request, signal);
    const outcome = statusOutcome(response);
    if (outcome.kind === 'absent') return null;
    if (outcome.kind !== 'report') throw client.failure(request, response, outcome);
    if (outcome.transfer.reference !== reference) {
      throw unclear('monnify', 'the status is about another transfer');
    }
    return report(outcome.transfer, since);
  }

  function checked(found: TransferReport, instruction: TransferInstruction): TransferReport {
    if (isAbout(found, instruction)) return found;
    throw unclear('monnify', 'the response has another amount, account or bank than the instruction', {
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
        throw unclear('monnify', 'name enquiry finds no such account', { ofOneAccount: true });
      }
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
      const response = await client.call(request, signal);
      const outcome = sendOutcome(response);
      if (outcome.kind === 'report') return checked(report(outcome.transfer), instruction);
      if (outcome.kind !== 'ask') throw client.failure(request, response, outcome);
      const found = await find(reference, signal);
      if (found !== null) return checked(found, instruction);
      switch (outcome.ifAbsent) {
        case 'refused':
          throw client.refusal(response);
        case 'duplicate_guard': {
          const providerMessage = client.messageOf(response);
          throw new RailNotReadyError('duplicate_guard', `monnify: ${providerMessage}`, {
            providerMessage,
            retryAfterMs: DUPLICATE_GUARD_MS,
          });
        }
        case 'unknown': {
          const providerMessage = client.messageOf(response);
          const message = `monnify: the reference exists, and its status is not found: ${providerMessage}`;
          throw new RailUnavailableError(message, { providerMessage, ofOneAccount: true, knowsReference: true });
        }
      }
    },

    /**
     * Once its silence would be final, Monnify must also not have paid the reference from the wallet: the statement is
     * searched.
     */
    async status(
      { reference, since }: { reference: string; since?: Date | undefined },
      signal?: AbortSignal,
    ): Promise<TransferReport | null> {
      const found = await find(reference, signal, since);
      if (found !== null || since === undefined) return found;
      const now = clock();
      if (now.getTime() - since.getTime() < UNKNOWN_IS_FINAL_AFTER_MS) return null;
      const period = {
        from: new Date(since.getTime() - CLOCKS_MAX_MS - ZONES_MAX_MS),
        to: new Date(now.getTime() + CLOCKS_MAX_MS),
      };
      const isPaid = await isInWallet(client, walletAccountNumber, reference, period, signal);
      if (isPaid === false) return null;
      const knowsReference = isPaid === true;
      const providerMessage = knowsReference
        ? 'the status is unknown, but the wallet statement has the reference'
        : 'the wallet statement is too long to be searched for the reference';
      throw unclear('monnify', providerMessage, { ofOneAccount: true, knowsReference });
    },
  };
}
