// What adapters do alike before and after a send.
import { RailUnavailableError, unclear } from './errors.ts';
import type { BankRail, TransferInstruction, TransferReport } from './port.ts';

/** Runs what precedes a send, such as a login. If it fails, nothing was sent. */
export async function beforeSend<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RailUnavailableError)) throw error;
    const { message, timedOut, ofOneAccount, providerMessage } = error;
    throw new RailUnavailableError(message, { timedOut, ofOneAccount, providerMessage, isNotSent: true });
  }
}

/** The name of the account's holder, for a provider that demands it: as given, or as name enquiry returns it. */
export async function holderNameOf(
  rail: string,
  instruction: TransferInstruction,
  resolve: BankRail['resolveAccount'],
  signal?: AbortSignal,
): Promise<string> {
  const name = instruction.accountName ?? (await resolve(instruction, signal))?.accountName;
  if (name === undefined) throw unclear(rail, 'name enquiry finds no such account', { ofOneAccount: true });
  return name;
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
