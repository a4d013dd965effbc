// A bank with slow responses: it blocks each send until the test releases it, also when the caller has timed out, and
// reports a transfer as unknown until then. All other operations are the sandbox bank's.
import { guardedRail } from '../../src/rail/guarded.ts';
import type { TransferReport } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';
import { reportOf } from './scriptedRail.ts';

export class SlowBank {
  readonly #limits: { callLimitMs: number; notVisibleForMs: number };
  readonly #reports = new Map<string, TransferReport>();
  readonly #sends = new Map<string, number>();
  readonly #queries = new Map<string, number>();
  readonly #inFlight = new Map<string, number>();
  readonly #maxInFlight = new Map<string, number>();
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  constructor(limits: { callLimitMs: number; notVisibleForMs: number }) {
    this.#limits = limits;
  }

  /** Completes the sends of this transfer; later sends return immediately. */
  release(reference: string): void {
    this.#gateOf(reference).resolve();
  }

  /** Completes all sends so far. */
  releaseAll(): void {
    for (const gate of this.#gates.values()) gate.resolve();
  }

  /** The number of sends of this transfer. */
  sendsOf(reference: string): number {
    return this.#sends.get(reference) ?? 0;
  }

  /** The maximum number of concurrent sends of this transfer. */
  sendsAtOnce(reference: string): number {
    return this.#maxInFlight.get(reference) ?? 0;
  }

  /** The number of status queries for this transfer since its first send. */
  asksSinceSend(reference: string): number {
    return this.#queries.get(reference) ?? 0;
  }

  /** Replaces the sandbox bank: for the option `rails` of `startTestApi`. */
  within(rails: Rails): Rails {
    const sandbox = rails.shared('test');
    if (sandbox === null) throw new Error('there is no sandbox bank to replace');
    const { callLimitMs, notVisibleForMs } = this.#limits;
    const slow = {
      ...sandbox,
      capabilities: {
        ...sandbox.capabilities,
        calls: { ...sandbox.capabilities.calls, limitMs: callLimitMs },
        transfers: { ...sandbox.capabilities.transfers, notVisibleForMs },
      },
      resolveAccount: () => Promise.resolve({ accountName: 'ADA OBI' }),
      sendTransfer: ({ reference }: { reference: string }) => this.#send(reference),
      transferStatus: ({ reference }: { reference: string }) => {
        if (this.sendsOf(reference) > 0) this.#queries.set(reference, this.asksSinceSend(reference) + 1);
        return Promise.resolve(this.#reports.get(reference) ?? null);
      },
    };
    return new Rails({ test: guardedRail(slow) });
  }

  async #send(reference: string): Promise<TransferReport> {
    this.#sends.set(reference, this.sendsOf(reference) + 1);
    const inFlight = (this.#inFlight.get(reference) ?? 0) + 1;
    this.#inFlight.set(reference, inFlight);
    this.#maxInFlight.set(reference, Math.max(inFlight, this.sendsAtOnce(reference)));
    await this.#gateOf(reference).promise;
    this.#inFlight.set(reference, (this.#inFlight.get(reference) ?? 0) - 1);
    const report = reportOf(reference, 'completed');
    this.#reports.set(reference, report);
    return report;
  }

  #gateOf(reference: string): PromiseWithResolvers<void> {
    const gate = this.#gates.get(reference) ?? Promise.withResolvers<void>();
    this.#gates.set(reference, gate);
    return gate;
  }
}
