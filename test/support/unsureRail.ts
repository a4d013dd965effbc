// A rail that does not confirm some credits, and cannot be reached about others or to close an account, as a test tells it. For all
// else it is the sandbox bank.
import { type BankRail, RailUnavailableError } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';

/** What the rail says when it is asked about a credit. `less`: another amount than its callback told. */
export type CreditWord = 'denied' | 'less' | 'away' | 'known';

export class UnsureRail {
  readonly #words = new Map<string, CreditWord>();
  readonly #asked = new Map<string, number>();
  readonly #cannotClose = new Set<string>();

  /** From now on, of the credit with this session id. Until then the rail confirms it. */
  say(sessionId: string, word: CreditWord): void {
    this.#words.set(sessionId, word);
  }

  /** How often the rail was asked about a credit. */
  asksOf(sessionId: string): number {
    return this.#asked.get(sessionId) ?? 0;
  }

  /** Whether the rail can be reached to close this account number. */
  canClose(accountNumber: string, can: boolean): void {
    if (can) this.#cannotClose.delete(accountNumber);
    else this.#cannotClose.add(accountNumber);
  }

  /** In the place of the sandbox bank: for the option `rails` of `startTestApi`. */
  within(rails: Rails): Rails {
    const sandbox = rails.of('test') as BankRail;
    return new Rails({
      test: {
        ...sandbox,
        findInboundCredit: async (request, signal) => {
          const { sessionId } = request;
          this.#asked.set(sessionId, this.asksOf(sessionId) + 1);
          const word = this.#words.get(sessionId) ?? 'known';
          if (word === 'away') throw new RailUnavailableError('the bank does not answer');
          const report = word === 'denied' ? null : await sandbox.findInboundCredit(request, signal);
          return report && { ...report, amount: word === 'less' ? report.amount - 1 : report.amount };
        },
        closeVirtualAccount: async (request, signal) => {
          if (this.#cannotClose.has(request.accountNumber)) throw new RailUnavailableError('the bank does not answer');
          await sandbox.closeVirtualAccount(request, signal);
        },
      },
    });
  }
}
