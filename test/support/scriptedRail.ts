// A rail whose transfer statuses are set by the test, and which counts the sends of each transfer. All other operations
// are the sandbox bank's.
import type { BankRail, TransferReport } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';

/** The status that the rail reports. `unknown`: the rail has no such transfer. */
export type Word = TransferReport['status'] | 'unknown';

/** A report that tells only the status. */
export const reportOf = (reference: string, status: TransferReport['status']): TransferReport => ({
  reference,
  status,
  sessionId: `session-${reference}`,
  reason: null,
  amount: null,
  accountNumber: null,
  bankCode: null,
  charge: null,
});

export class ScriptedRail {
  readonly #reports = new Map<string, TransferReport | null>();
  readonly #failures = new Map<string, Error>();
  readonly #sends = new Map<string, number>();
  /** The last query about each transfer. */
  readonly queries = new Map<string, Parameters<BankRail['transferStatus']>[0]>();

  /** Sets the status of a transfer, which is `unknown` before the first call. */
  say(reference: string, status: Word): void {
    this.#reports.set(reference, status === 'unknown' ? null : reportOf(reference, status));
  }

  /** Sets the whole report of a transfer. */
  setReport(reference: string, report: TransferReport): void {
    this.#reports.set(reference, report);
  }

  /** Sets the error with which sends of a transfer, or queries of its status, fail; null: they work. */
  fail(what: 'send' | 'status', reference: string, error: Error | null): void {
    if (error === null) this.#failures.delete(`${what} ${reference}`);
    else this.#failures.set(`${what} ${reference}`, error);
  }

  #throwIfFailing(what: 'send' | 'status', reference: string): void {
    const error = this.#failures.get(`${what} ${reference}`);
    if (error !== undefined) throw error;
  }

  sendsOf(reference: string): number {
    return this.#sends.get(reference) ?? 0;
  }

  /** Replaces the sandbox bank: for the option `rails` of `startTestApi`. */
  within(rails: Rails): Rails {
    const sandbox = rails.shared('test') as BankRail;
    const report = (reference: string): TransferReport | null => this.#reports.get(reference) ?? null;
    return new Rails({
      test: {
        ...sandbox,
        transferStatus: async (query) => {
          const { reference } = query;
          this.queries.set(reference, query);
          this.#throwIfFailing('status', reference);
          return await Promise.resolve(report(reference));
        },
        sendTransfer: async ({ reference }) => {
          this.#throwIfFailing('send', reference);
          this.#sends.set(reference, this.sendsOf(reference) + 1);
          if (report(reference) === null) this.say(reference, 'processing');
          return await Promise.resolve(report(reference) as TransferReport);
        },
      },
    });
  }
}
