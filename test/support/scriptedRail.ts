// A rail whose transfer statuses are set by the test, and which counts the sends of each transfer. All other operations
// are the sandbox bank's.
import type { BankRail, TransferReport } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';

/** The status that the rail reports. `unknown`: the rail has no such transfer. */
export type Word = TransferReport['status'] | 'unknown';

export class ScriptedRail {
  readonly #statuses = new Map<string, Word>();
  readonly #sends = new Map<string, number>();

  /** Sets the status of a transfer, which is `unknown` before the first call. */
  say(reference: string, status: Word): void {
    this.#statuses.set(reference, status);
  }

  sendsOf(reference: string): number {
    return this.#sends.get(reference) ?? 0;
  }

  /** Replaces the sandbox bank: for the option `rails` of `startTestApi`. */
  within(rails: Rails): Rails {
    const sandbox = rails.of('test') as BankRail;
    const report = (reference: string): TransferReport | null => {
      const status = this.#statuses.get(reference) ?? 'unknown';
      return status === 'unknown' ? null : { reference, status, sessionId: `session-${reference}`, reason: null };
    };
    return new Rails({
      test: {
        ...sandbox,
        transferStatus: ({ reference }) => Promise.resolve(report(reference)),
        sendTransfer: ({ reference }) => {
          this.#sends.set(reference, this.sendsOf(reference) + 1);
          if (report(reference) === null) this.say(reference, 'processing');
          return Promise.resolve(report(reference) as TransferReport);
        },
      },
    });
  }
}
