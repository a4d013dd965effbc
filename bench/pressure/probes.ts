// What customers wait for, measured while a scenario loads the service: a probe of each kind starts at a fixed
// interval, whether the previous ones have ended or not, so that a delay is sampled as often as it lasts.
import { setTimeout as pause } from 'node:timers/promises';
import { requireUuid } from '../../src/ids.ts';
import { type Measured, percentile } from '../measure.ts';
import { AMOUNT, type Client, PAYEE } from './client.ts';
import type { Receiver } from './receiver.ts';

/** Starts one probe; resolves with its latency in milliseconds. */
export type Probe = () => Promise<number>;
export type Probes = Record<string, Probe>;

/** Interval of the statement that finds what has ended. */
const POLL_MS = 20;

/** Probes that have not ended this long after the load count with the time that they have taken by then. */
const LIMIT_MS = 60_000;

/** Finds out when the payments and transfers of a client have got on, by one statement for all of a kind. */
export class Watch {
  readonly #client: Client;
  readonly #settled = new Map<string, () => void>();
  readonly #accepted = new Map<string, () => void>();
  readonly #stopping = new AbortController();
  readonly #polling: Promise<void>;

  constructor(client: Client) {
    this.#client = client;
    this.#polling = this.#poll();
  }

  untilSettled(paymentId: string): Promise<void> {
    return new Promise((resolve) => this.#settled.set(requireUuid('payment', paymentId), resolve));
  }

  /** Resolves when the bank has accepted the transfer with this reference. */
  untilAccepted(reference: string): Promise<void> {
    return new Promise((resolve) => this.#accepted.set(reference, resolve));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#polling;
  }

  async #poll(): Promise<void> {
    const { book, bank } = this.#client;
    const { organisationId } = book.book;
    while (!this.#stopping.signal.aborted) {
      await pause(POLL_MS);
      await resolveFound(
        this.#settled,
        (ids) => book.sql<{ id: string }[]>`
        SELECT id FROM payments
        WHERE organisation_id = ${organisationId} AND status = 'settled' AND id = ANY (${ids}::uuid[])`,
      );
      await resolveFound(
        this.#accepted,
        (ids) => bank.sql<{ id: string }[]>`
        SELECT reference AS id FROM sandbox_bank.transfers
        WHERE organisation_id = ${organisationId} AND reference = ANY (${ids}::text[])`,
      );
    }
  }
}

async function resolveFound(
  waiting: Map<string, () => void>,
  find: (ids: string[]) => PromiseLike<{ id: string }[]>,
): Promise<void> {
  if (waiting.size === 0) return;
  for (const { id } of await find([...waiting.keys()])) {
    waiting.get(id)?.();
    waiting.delete(id);
  }
}

/** A client, what finds out how it gets on, and its endpoint if it has one. */
export interface Probed {
  client: Client;
  watch: Watch;
  receiver: Receiver | null;
}

/** The probes of one client. The names say whose they are. */
export function probesOf(of: string, { client, watch, receiver }: Probed): Probes {
  return {
    [`credit to settled, ${of}`]: async () => {
      const payment = await client.createPayment(86_400);
      const { accountNumber } = payment.virtualAccount as { accountNumber: string };
      await client.bank.credit(client, accountNumber, payment.payableAmount as number);
      return await timed(() => watch.untilSettled(payment.id as string));
    },
    [`withdrawal to the bank, ${of}`]: () =>
      timed(async () => {
        const wallet = client.wallet();
        const { id } = await client.post(`/wallets/${wallet}/withdraw`, { amount: AMOUNT, ...PAYEE });
        await watch.untilAccepted(id as string);
      }),
    [`transfer, ${of}`]: () => timed(() => accepted(client.transfer())),
    [`balance, ${of}`]: () => timed(() => accepted(client.call('GET', `/wallets/${client.wallet()}/balance`))),
    ...(receiver && {
      [`event to its endpoint, ${of}`]: async () => {
        const { data } = await client.transfer();
        return await timed(() => receiver.untilReceived(data.id as string));
      },
    }),
  };
}

async function accepted(answer: Promise<{ status: number }>): Promise<void> {
  const { status } = await answer;
  if (status >= 300) throw new Error(`a probe was refused: ${status}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** The latencies of one kind of probe. Those that have not ended count with the time until then. */
interface Samples {
  latencies: number[];
  open: number;
  refused: number;
}

/** Starts probes at this interval until `work` is done; resolves when they have ended, or after a limit. */
export async function probeWhile(
  probes: Probes,
  everyMs: number,
  work: () => Promise<void>,
): Promise<Map<string, Samples>> {
  const samples = new Map<string, Samples>();
  const open = new Map<string, Set<number>>();
  const running = new Set<Promise<void>>();
  const start = (name: string, probe: Probe): void => {
    const { latencies } = samples.get(name) as Samples;
    const startedAt = performance.now();
    open.get(name)?.add(startedAt);
    const done = probe()
      .then((latency) => void latencies.push(latency))
      .catch(() => {
        (samples.get(name) as Samples).refused += 1;
      })
      .finally(() => {
        open.get(name)?.delete(startedAt);
        running.delete(done);
      });
    running.add(done);
  };
  for (const name of Object.keys(probes)) {
    samples.set(name, { latencies: [], open: 0, refused: 0 });
    open.set(name, new Set());
  }
  let working = true;
  const loading = work().finally(() => {
    working = false;
  });
  while (working) {
    for (const [name, probe] of Object.entries(probes)) start(name, probe);
    await Promise.race([pause(everyMs), loading]);
  }
  await loading;
  await Promise.race([Promise.all(running), pause(LIMIT_MS)]);
  for (const [name, of] of samples) {
    const unfinished = [...(open.get(name) ?? [])].map((startedAt) => performance.now() - startedAt);
    of.open = unfinished.length;
    of.latencies.push(...unfinished);
  }
  return samples;
}

/** The results of a scenario, one series for each kind of probe. */
export function measuredOf(scenario: string, samples: Map<string, Samples>): Measured[] {
  return [...samples].map(([name, { latencies, open, refused }]) => ({
    name: `${scenario}: ${name}`,
    unit: 'ms',
    rounds: [percentile(latencies, 0.99)],
    min: Math.min(...latencies),
    median: percentile(latencies, 0.5),
    max: Math.max(...latencies),
    details: {
      'p99 ms': percentile(latencies, 0.99),
      probes: latencies.length,
      ...(open > 0 && { unfinished: open }),
      ...(refused > 0 && { refused }),
    },
  }));
}
