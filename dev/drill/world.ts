// What happens at the service before a restore: transfers, payouts and payments that end before the time of the
// restore, during it and after it.
import { Callers } from '../chaos/callers.ts';
import type { Body, OperationKind } from '../chaos/facts.ts';
import { createParticipants, type Participants } from '../chaos/participants.ts';
import { DESTINATIONS, type Destination } from '../chaos/requests.ts';
import type { ChaosStack } from '../chaos/stack.ts';
import { Traffic } from '../chaos/traffic.ts';
import { until } from '../until.ts';

const AMOUNT = 50_000;
const ENDS_WITHIN_MS = 60_000;

export class World {
  readonly participants: Participants;
  readonly callers: Callers;
  readonly traffic: Traffic;
  readonly #stack: ChaosStack;
  #keys = 0;

  private constructor(stack: ChaosStack, participants: Participants) {
    this.#stack = stack;
    this.participants = participants;
    this.callers = new Callers(stack.directUrls, participants.apiKey);
    this.traffic = new Traffic(this.callers, {
      run: 'drill',
      expireUntilMs: 0,
      clocksAgree: true,
      expiresSoonSeconds: 60,
    });
  }

  /** An organisation, two operators, and wallets with money. */
  static async enter(stack: ChaosStack): Promise<World> {
    const world = new World(stack, await createParticipants(stack.sql, { name: 'Drill', operators: ['ada', 'bola'] }));
    await world.traffic.open();
    return world;
  }

  async withdraw(destination: Destination, count: number): Promise<string[]> {
    return await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const wallet = this.traffic.wallets[index % this.traffic.wallets.length];
        const body = { amount: AMOUNT + index, accountNumber: DESTINATIONS[destination], bankCode: '058' };
        return idOf(await this.#money('withdrawal', `/wallets/${wallet?.id}/withdraw`, body));
      }),
    );
  }

  /** A payout of which the bank holds some items. */
  async payOut(completes: number, holds: number): Promise<{ id: string; items: string[] }> {
    const destinations = [
      ...Array<string>(completes).fill(DESTINATIONS.completes),
      ...Array<string>(holds).fill(DESTINATIONS.holds),
    ];
    const items = destinations.map((accountNumber) => ({
      amount: AMOUNT,
      bankAccount: { accountNumber, bankCode: '058' },
    }));
    const payout = await this.#money('payout', '/payouts', { sourceWalletId: this.traffic.wallets[0]?.id, items });
    return { id: idOf(payout), items: ((payout.items ?? []) as Body[]).map(idOf) };
  }

  async requestPayment(): Promise<{ id: string; accountNumber: string; payable: number }> {
    const body = { method: 'bank_transfer', baseAmount: AMOUNT, targetWalletId: this.traffic.wallets[1]?.id };
    const payment = await this.#money('payment', '/payments', body);
    const { accountNumber } = payment.virtualAccount as { accountNumber: string };
    return { id: idOf(payment), accountNumber, payable: Number(payment.payableAmount) };
  }

  /** `callback`: whether the bank reports it. */
  async credit(accountNumber: string, amount: number, callback = true): Promise<void> {
    await this.callers.ask('POST', '/simulations/inbound-credits', { accountNumber, amount, callback });
  }

  /** The bank ends what it holds, now and later. */
  async endHeld(references: readonly string[]): Promise<void> {
    for (const reference of references)
      await this.callers.ask('POST', `/simulations/bank-transfers/${reference}/resolve`, { outcome: 'complete' });
  }

  async statusOf(path: string): Promise<string | undefined> {
    return (await this.callers.ask('GET', path))?.status;
  }

  /** Resolves when each resource has this status. */
  async untilStatus(status: string, paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      const hasIt = async (): Promise<true | undefined> => (await this.statusOf(path)) === status || undefined;
      await until(`${path} to be ${status}`, hasIt, ENDS_WITHIN_MS);
    }
  }

  /** Resolves when the bank has these references. */
  async untilSent(references: readonly string[]): Promise<void> {
    const { sql } = this.#stack;
    const haveAll = async (): Promise<true | undefined> => {
      const rows = await sql`SELECT FROM sandbox_bank.requests WHERE reference = ANY (${[...references]})`;
      return rows.length === references.length || undefined;
    };
    await until('the bank to have the transfers', haveAll, ENDS_WITHIN_MS);
  }

  async #money(kind: OperationKind, path: string, body: Record<string, unknown>): Promise<Body> {
    this.#keys += 1;
    const { answer } = await this.callers.send({ kind, path, body, key: `drill-${this.#keys}` });
    if (answer === null || answer.status >= 300)
      throw new Error(`${path} was refused: ${JSON.stringify(answer?.body)}`);
    return answer.body;
  }
}

function idOf({ id }: Body): string {
  if (id === undefined) throw new Error('a resource without an id');
  return id;
}
