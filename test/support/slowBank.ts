// A bank that is slow to answer: it holds each send until the test lets it go, whether or not its customer still waits, and
// knows nothing of a transfer before that. For all else it is the sandbox bank.
import { instrumentedRail } from '../../src/rail/instrumented.ts';
import type { TransferReport } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';

export class SlowBank {
  readonly #limits: { callLimitMs: number; unknownIsFinalAfterMs: number };
  readonly #taken = new Map<string, TransferReport>();
  readonly #sends = new Map<string, number>();
  readonly #asked = new Map<string, number>();
  readonly #inFlight = new Map<string, number>();
  readonly #atOnce = new Map<string, number>();
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  constructor(limits: { callLimitMs: number; unknownIsFinalAfterMs: number }) {
    this.#limits = limits;
  }

  /** The bank is done with this transfer; a later send of it is answered at once. */
  release(reference: string): void {
    this.#gateOf(reference).resolve();
  }

  /** The bank is done with everything that it was sent so far. */
  releaseAll(): void {
    for (const gate of this.#gates.values()) gate.resolve();
  }

  /** How often the bank was told to make this transfer. */
  sendsOf(reference: string): number {
    return this.#sends.get(reference) ?? 0;
  }

  /** How many sends of this transfer the bank had in hand at the same time, at most. */
  sendsAtOnce(reference: string): number {
    return this.#atOnce.get(reference) ?? 0;
  }

  /** How often it was asked about this transfer since the first send of it. */
  asksSinceSend(reference: string): number {
    return this.#asked.get(reference) ?? 0;
  }

  /** In the place of the sandbox bank: for the option `rails` of `startTestApi`. */
  within(rails: Rails): Rails {
    const sandbox = rails.of('test');
    if (sandbox === null) throw new Error('there is no sandbox bank to take the place of');
    const slow = {
      ...sandbox,
      ...this.#limits,
      resolveAccount: () => Promise.resolve({ accountName: 'ADA OBI' }),
      sendTransfer: ({ reference }: { reference: string }) => this.#take(reference),
      transferStatus: ({ reference }: { reference: string }) => {
        if (this.sendsOf(reference) > 0) this.#asked.set(reference, this.asksSinceSend(reference) + 1);
        return Promise.resolve(this.#taken.get(reference) ?? null);
      },
    };
    return new Rails({ test: instrumentedRail(slow) });
  }

  async #take(reference: string): Promise<TransferReport> {
    this.#sends.set(reference, this.sendsOf(reference) + 1);
    const inFlight = (this.#inFlight.get(reference) ?? 0) + 1;
    this.#inFlight.set(reference, inFlight);
    this.#atOnce.set(reference, Math.max(inFlight, this.sendsAtOnce(reference)));
    await this.#gateOf(reference).promise;
    this.#inFlight.set(reference, (this.#inFlight.get(reference) ?? 0) - 1);
    const report: TransferReport = { reference, status: 'completed', sessionId: `session-${reference}`, reason: null };
    this.#taken.set(reference, report);
    return report;
  }

  #gateOf(reference: string): PromiseWithResolvers<void> {
    const gate = this.#gates.get(reference) ?? Promise.withResolvers<void>();
    this.#gates.set(reference, gate);
    return gate;
  }
}
