// A rail that says of each transfer what a test tells it to say, and counts how often it was told to send one. For all
// else it is the sandbox bank.
import type { BankRail, TransferReport } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';

/** What the rail answers when it is asked. `unknown`: it has no such transfer. */
export type Word = TransferReport['status'] | 'unknown';

export class ScriptedRail {
  readonly #words = new Map<string, Word>();
  readonly #sends = new Map<string, number>();

  /** From now on, of this transfer. Until then it is unknown. */
  say(reference: string, word: Word): void {
    this.#words.set(reference, word);
  }

  sendsOf(reference: string): number {
    return this.#sends.get(reference) ?? 0;
  }

  /** In the place of the sandbox bank: for the option `rails` of `startTestApi`. */
  within(rails: Rails): Rails {
    const sandbox = rails.of('test') as BankRail;
    const report = (reference: string): TransferReport | null => {
      const word = this.#words.get(reference) ?? 'unknown';
      return word === 'unknown' ? null : { reference, status: word, sessionId: `session-${reference}`, reason: null };
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
