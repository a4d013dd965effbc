// A rail that, as set by the test, does not confirm credits, is unreachable for their confirmation, or is unreachable
// for closing an account. All other operations are the sandbox bank's.
import { RailUnavailableError } from '../../src/rail/errors.ts';
import type { BankRail } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';

/** The response of the rail to a query for a credit. `less`: a smaller amount than in the callback. */
export type CreditWord = 'denied' | 'failed' | 'less' | 'away' | 'known';

export class UnsureRail {
  readonly #responses = new Map<string, CreditWord>();
  readonly #queries = new Map<string, number>();
  readonly #cannotClose = new Set<string>();
  readonly #held = new Map<string, Promise<void>>();

  /** Sets the response for the credit with this session id. Default: the rail confirms it. */
  say(sessionId: string, response: CreditWord): void {
    this.#responses.set(sessionId, response);
  }

  /** The next query for a credit has no response until the returned function is called. */
  holdNext(sessionId: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.set(sessionId, promise);
    return resolve;
  }

  /** The number of queries for a credit. */
  asksOf(sessionId: string): number {
    return this.#queries.get(sessionId) ?? 0;
  }

  /** Sets whether the rail is reachable for closing this account number. */
  canClose(accountNumber: string, can: boolean): void {
    if (can) this.#cannotClose.delete(accountNumber);
    else this.#cannotClose.add(accountNumber);
  }

  /** Replaces the sandbox bank: for the option `rails` of `startTestApi`. */
  within(rails: Rails): Rails {
    const sandbox = rails.shared('test') as BankRail;
    return new Rails({
      test: {
        ...sandbox,
        findInboundCredit: async (request, signal) => {
          const { sessionId } = request;
          this.#queries.set(sessionId, this.asksOf(sessionId) + 1);
          const held = this.#held.get(sessionId);
          this.#held.delete(sessionId);
          await held;
          const response = this.#responses.get(sessionId) ?? 'known';
          if (response === 'away') throw new RailUnavailableError('the bank does not respond');
          if (response === 'failed') return 'failed';
          const report = response === 'denied' ? null : await sandbox.findInboundCredit(request, signal);
          if (report === null || typeof report === 'string') return report;
          return { ...report, amount: response === 'less' ? report.amount - 1 : report.amount };
        },
        closeVirtualAccount: async (request, signal) => {
          if (this.#cannotClose.has(request.accountNumber)) throw new RailUnavailableError('the bank does not respond');
          await sandbox.closeVirtualAccount(request, signal);
        },
      },
    });
  }
}
