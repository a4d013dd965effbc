// What adapters do alike: before and after a send; and opening and closing an account number at a provider that keeps
// our reference of it, so that what was opened by a request whose response was lost is found again.
import type { ProviderClient, ProviderResponse } from './client.ts';
import { RailUnavailableError, unclear } from './errors.ts';
import type { HttpRequest } from './http.ts';
import type { BankRail, TransferInstruction, TransferReport, VirtualAccount } from './port.ts';

/**
 * What precedes a send: the login, and the name of the account's holder, for a provider that demands it: as given, or
 * as name enquiry returns it. If it fails, nothing was sent.
 */
export async function holderBeforeSend(
  rail: string,
  client: Pick<ProviderClient, 'login'>,
  instruction: TransferInstruction,
  enquire: () => ReturnType<BankRail['resolveAccount']>,
): Promise<string> {
  try {
    await client.login();
    const name = instruction.accountName ?? (await enquire())?.accountName;
    if (name === undefined) throw unclear(rail, 'name enquiry finds no such account', { ofOneAccount: true });
    return name;
  } catch (error) {
    if (!(error instanceof RailUnavailableError)) throw error;
    const { message, timedOut, ofOneAccount, providerMessage } = error;
    throw new RailUnavailableError(message, { timedOut, ofOneAccount, providerMessage, isNotSent: true });
  }
}

/** A report of nothing but the status, and its reason. */
export function emptyReport(reference: string, status: TransferReport['status'], reason?: string): TransferReport {
  return {
    reference,
    status,
    sessionId: null,
    reason: reason ?? null,
    amount: null,
    accountNumber: null,
    bankCode: null,
    charge: null,
  };
}

/** Whether a report is about this instruction, as far as it reports. */
export const isAbout = (report: TransferReport, instruction: TransferInstruction): boolean =>
  report.reference === instruction.reference &&
  (['amount', 'accountNumber', 'bankCode'] as const).every(
    (name) => report[name] === null || report[name] === instruction[name],
  );

/** The report of a transfer that exists under our reference. Throws RailUnavailableError if it is another transfer. */
export function requireAbout(rail: string, report: TransferReport, instruction: TransferInstruction): TransferReport {
  if (isAbout(report, instruction)) return report;
  const providerMessage = 'the response has another amount, account or bank than the instruction';
  throw unclear(rail, providerMessage, { ofOneAccount: true, knowsReference: true });
}

/** `read`: the account of a response. `find`: the account under our reference; null: there is none. */
export async function openAccount(
  client: ProviderClient,
  creation: HttpRequest,
  read: (response: ProviderResponse) => VirtualAccount | Promise<VirtualAccount>,
  find: () => Promise<VirtualAccount | null>,
  signal?: AbortSignal,
): Promise<VirtualAccount> {
  let lost: Error;
  try {
    const response = await client.call(creation, signal);
    const { kind } = response.outcome;
    if (kind === 'ok') return await read(response);
    lost = kind === 'refused' ? response.refusal() : response.failure();
    if (kind === 'not_ready') throw lost;
  } catch (error) {
    if (!(error instanceof RailUnavailableError)) throw error;
    lost = error;
  }
  // It may be open all the same, by this request or by an earlier one.
  const account = await find();
  if (account === null) throw lost;
  return account;
}

/** `isClosed`: what the provider reports of an account that it did not close now, whatever the refusal says. */
export async function closeAccount(
  client: ProviderClient,
  removal: HttpRequest,
  isClosed: () => Promise<boolean>,
  signal?: AbortSignal,
): Promise<void> {
  const response = await client.call(removal, signal);
  const { kind } = response.outcome;
  if (kind === 'ok' || kind === 'absent') return;
  if (kind === 'not_ready' || !(await isClosed())) throw response.failure();
}
