// Flows: payments settled a second, end to end, and a payout of a thousand items. The baseline of each is minimal
// workflows on the same Temporal server with the same worker settings.
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { request } from 'undici';
import { publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { type BenchApi, startBenchApi, startBenchTemporal, startBenchWorker } from '../api.ts';
import { type BaselineWorker, startBaselineWorker } from '../baseline/worker.ts';
import { type BenchBook, openBook } from '../book.ts';
import {
  callInParallel,
  formatted,
  type Measured,
  measureInterleaved,
  ratio,
  type Sample,
  type Series,
} from '../measure.ts';
import type { Stage, StageResult } from '../stage.ts';

/** Concurrent flows. */
const CALLERS = 50;
const PAYOUT_ITEMS = 1_000;
/** Of a payment that is divided. */
const SPLITS = 3;
/** A payout item runs two activities: send, and check the outcome. */
const ACTIVITIES_AN_ITEM = 2;
/** Interval of the query that finds the settled payments, one query for all. */
const POLL_MS = 10;

const PAYMENTS = `payments settled, ${CALLERS} under way`;
const HOT = [0, SPLITS].map((splits) => ({ splits, name: `payments settled into one wallet, ${splits} splits` }));
const BARE_FLOWS = `bare workflows of one signal and one activity, ${CALLERS} under way`;

export const flows: Stage = {
  name: 'flows',
  title:
    'Payments through the whole path (request, credit at the sandbox bank, callback, workflow, posting, event), and payouts; processes and load share one machine.',
  run: async (bench) => {
    const rounds = bench.quick ? 1 : 3;
    const seconds = bench.quick ? 5 : 20;
    const items = bench.quick ? 100 : PAYOUT_ITEMS;
    const temporal = await startBenchTemporal(bench.supervisor, bench.say);
    const book = await openBook(await bench.createDatabase('books'));
    const bare = await startBaselineWorker(temporal);
    const settlements = new Settlements(book);
    const weight = new Weight(book);
    try {
      const api = await startBenchApi(bench.supervisor, book, temporal);
      await startBenchWorker(bench.supervisor, api, temporal);
      const payer = new Payer(api, book, settlements);
      return report(
        await measureInterleaved(
          [
            {
              name: BARE_FLOWS,
              unit: 'flows/s',
              measure: untilIdle(bare, () => callInParallel(CALLERS, seconds, bare.runSignalled)),
            },
            {
              name: PAYMENTS,
              unit: 'flows/s',
              measure: weight.weighed(
                untilIdle(bare, () => callInParallel(CALLERS, seconds, () => payer.settlePayment())),
              ),
            },
            ...HOT.map(({ splits, name }) => ({
              name,
              unit: 'flows/s',
              measure: untilIdle(bare, () => callInParallel(CALLERS, seconds, () => payer.settlePayment(splits))),
            })),
            ...payoutSeries(bare, payer, items),
          ],
          rounds,
          bench.say,
        ),
        items,
        weight,
      );
    } finally {
      settlements.stop();
      await bare.close();
      await book.close();
    }
  },
};

const payoutName = (items: number): string => `a payout of ${items} items`;
const parentName = (items: number): string =>
  `a bare parent of ${items} children with ${ACTIVITIES_AN_ITEM} activities each`;

function payoutSeries(bare: BaselineWorker, payer: Payer, items: number): Series[] {
  const timed = (run: () => Promise<void>) => async (): Promise<Sample> => {
    const startedAt = performance.now();
    await run();
    return { value: (performance.now() - startedAt) / 1000 };
  };
  return [
    {
      name: parentName(items),
      unit: 's',
      measure: untilIdle(
        bare,
        timed(() => bare.runParent(items, ACTIVITIES_AN_ITEM)),
      ),
    },
    {
      name: payoutName(items),
      unit: 's',
      measure: untilIdle(
        bare,
        timed(() => payer.payOut(items)),
      ),
    },
  ];
}

/** Tables whose rows are deleted within minutes, and of which a payment leaves nothing. */
const PASSING = ['outbox', 'rate_counters'];
/** Deleted within a week: not in the sum. */
const KEPT_BRIEFLY = 'idempotency_keys';

/**
 * What a settled payment takes in the database: the growth of the tables of the service with their indexes, without
 * those of the sandbox bank, over all rounds, because a table grows by pages.
 */
class Weight {
  readonly #book: BenchBook;
  readonly #grown = new Map<string, number>();
  #payments = 0;

  constructor(book: BenchBook) {
    this.#book = book;
  }

  /** Adds the sum of a round to its figures. */
  weighed(measure: () => Promise<Sample>): () => Promise<Sample> {
    return async () => {
      const before = await this.#weigh();
      const sample = await measure();
      const after = await this.#weigh();
      const payments = after.payments - before.payments;
      this.#payments += payments;
      let sum = 0;
      for (const [table, bytes] of after.tables) {
        const grown = bytes - (before.tables.get(table) ?? 0);
        this.#grown.set(table, (this.#grown.get(table) ?? 0) + grown);
        if (table !== KEPT_BRIEFLY) sum += grown;
      }
      return { ...sample, details: { ...sample.details, 'bytes a payment': sum / payments } };
    };
  }

  note(): string {
    const bytes = [...this.#grown].map(([table, grown]) => ({ table, bytes: Math.round(grown / this.#payments) }));
    const texts = bytes
      .filter((one) => one.bytes > 0)
      .toSorted((a, b) => b.bytes - a.bytes)
      .map((one) => `${one.table} ${one.bytes.toLocaleString('en')}`);
    return `Bytes that a settled payment leaves, with indexes: ${texts.join(', ')}.`;
  }

  async #weigh(): Promise<{ tables: Map<string, number>; payments: number }> {
    const { sql } = this.#book;
    const tables = await sql<{ name: string; bytes: number }[]>`
      SELECT CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname AS name,
             pg_total_relation_size(c.oid) AS bytes
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind = 'r' AND n.nspname IN ('ledger', 'public') AND c.relname <> ALL (${PASSING}::text[])`;
    const [row] = await sql<{ payments: number }[]>`SELECT count(*) AS payments FROM payments`;
    return { tables: new Map(tables.map(({ name, bytes }) => [name, bytes])), payments: row?.payments ?? 0 };
  }
}

/** Waits until no workflow is running, so that the leftovers of one series do not slow down the next. */
function untilIdle(bare: BaselineWorker, measure: () => Promise<Sample>): () => Promise<Sample> {
  return async () => {
    const sample = await measure();
    while ((await bare.client.workflow.count("ExecutionStatus = 'Running'")).count > 0) await setTimeout(200);
    return sample;
  };
}

/** Calls the API as an integrator, and the sandbox bank as its payers. */
class Payer {
  readonly #api: BenchApi;
  readonly #book: BenchBook;
  readonly #settlements: Settlements;

  constructor(api: BenchApi, book: BenchBook, settlements: Settlements) {
    this.#api = api;
    this.#book = book;
    this.#settlements = settlements;
  }

  /** Creates a payment, credits it and waits until it is settled. With `splits`, even none, into the hot wallet. */
  async settlePayment(splits?: number): Promise<void> {
    const { wallets, hot } = this.#book;
    const first = Math.floor(Math.random() * wallets.length);
    const [target, ...others] = Array.from({ length: 1 + (splits ?? 0) }, (_, index) =>
      publicId('wallet', wallets[(first + index) % wallets.length] as Uuid),
    );
    const payment = await this.#post('/payments', {
      method: 'bank_transfer',
      baseAmount: 1_000,
      targetWalletId: splits === undefined ? target : publicId('wallet', hot),
      ...(others.length > 0 && { splits: others.map((walletId) => ({ walletId, basisPoints: 1_000 })) }),
    });
    const { accountNumber } = payment.virtualAccount as { accountNumber: string };
    const settled = this.#settlements.of(requireUuid('payment', payment.id as string));
    await this.#post('/simulations/inbound-credits', { accountNumber, amount: payment.payableAmount });
    await settled;
  }

  /** Creates a payout from the settlement wallet to accounts at other banks and waits until it has completed. */
  async payOut(itemCount: number): Promise<void> {
    const payout = await this.#post('/payouts', {
      items: Array.from({ length: itemCount }, () => ({
        amount: 1_000,
        bankAccount: { accountNumber: '0123456789', bankCode: '058' },
      })),
    });
    const uuid = requireUuid('payout', payout.id as string);
    for (;;) {
      const [row] = await this.#book.sql<{ status: string }[]>`
        SELECT status FROM payouts WHERE organisation_id = ${this.#book.book.organisationId} AND id = ${uuid}`;
      if (row?.status === 'completed') return;
      if (row?.status !== 'processing') throw new Error(`a payout ended as ${row?.status}`);
      await setTimeout(50);
    }
  }

  async #post(path: string, payload: object): Promise<Record<string, unknown>> {
    // undici's request instead of fetch, which needs several times the CPU time: the load generator shares the
    // processors with the service.
    const response = await request(`${this.#api.url}${path}`, {
      method: 'POST',
      headers: {
        authorization: this.#api.authorization,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify(payload),
    });
    const body = (await response.body.json()) as { data: Record<string, unknown> };
    if (response.statusCode >= 300) {
      throw new Error(`POST ${path} returned ${response.statusCode}: ${JSON.stringify(body)}`);
    }
    return body.data;
  }
}

/** Resolves when payments have settled. Polls with one query for all waiting payments. */
class Settlements {
  readonly #book: BenchBook;
  readonly #waiting = new Map<Uuid, () => void>();
  readonly #stopping = new AbortController();

  constructor(book: BenchBook) {
    this.#book = book;
    void this.#poll();
  }

  of(paymentId: Uuid): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(paymentId, resolve));
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #poll(): Promise<void> {
    const { sql, book } = this.#book;
    while (!this.#stopping.signal.aborted) {
      await setTimeout(POLL_MS);
      if (this.#waiting.size === 0) continue;
      const settled = await sql<{ id: Uuid }[]>`
        SELECT id FROM payments
        WHERE organisation_id = ${book.organisationId} AND status = 'settled' AND id = ANY (${[...this.#waiting.keys()]}::uuid[])`;
      for (const { id } of settled) {
        this.#waiting.get(id)?.();
        this.#waiting.delete(id);
      }
    }
  }
}

function report(measured: Measured[], items: number, weight: Weight): StageResult {
  const payout = measured.find(({ name }) => name === payoutName(items));
  const flowSeries = measured.filter(({ unit }) => unit === 'flows/s');
  return {
    measured,
    goals: [
      { text: `${PAYMENTS} ÷ bare workflows`, atLeast: 0.6, got: ratio(measured, PAYMENTS, BARE_FLOWS) },
      {
        text: `with ${SPLITS} splits ÷ without`,
        atLeast: 0.9,
        got: ratio(measured, HOT[1]?.name ?? '', HOT[0]?.name ?? ''),
      },
      {
        text: `${payoutName(items)} ÷ a bare parent's time`,
        atMost: 1.5,
        got: ratio(measured, payoutName(items), parentName(items)),
      },
    ],
    plots: [
      { name: 'payments', title: 'Flows ended a second', unit: 'flows/s', bars: flowSeries },
      { name: 'payouts', title: 'Wall time', unit: 's', bars: measured.filter(({ unit }) => unit === 's') },
    ],
    notes: [
      `Payout items a second: ${formatted(items / (payout?.median ?? Number.NaN))}, including the work of the sandbox bank.`,
      weight.note(),
    ],
  };
}
