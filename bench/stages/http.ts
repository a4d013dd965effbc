// Transfers over HTTP through the API with production settings: authentication, rate limiting, validation and
// idempotency, each response after the commit is on disk. Baselines: GET /health of the same Koa stack, pgbench TPC-B
// without HTTP, which shows the current speed of the machine, and other ledgers when configured.
import { type BenchApi, startBenchApi, startBenchTemporal } from '../api.ts';
import { type BenchBook, openBook, WALLETS } from '../book.ts';
import { runLoad } from '../load.ts';
import { type Measured, measureInterleaved, ratio, type Series } from '../measure.ts';
import { type OtherLedger, openOtherLedgers } from '../others/otherLedgers.ts';
import { NO_PGBENCH, prepareTpcb } from '../pgbench.ts';
import { transferRequest } from '../requests.ts';
import type { Stage, StageResult } from '../stage.ts';

const UNIT = 'requests/s';
const CONNECTIONS = 64;

/** The goal for hot transfers a second, on a machine whose TPC-B result is `TPCB_WANTED_ON`. */
const HOT_WANTED = 2_300;
const TPCB_WANTED_ON = 2_490;

export const http: Stage = {
  name: 'http',
  title: `POST /wallets/:id/transfer with ${CONNECTIONS} connections; ${WALLETS.toLocaleString('en')} wallets. Hot: the settlement wallet is in every transfer.`,
  run: async (bench) => {
    const rounds = bench.quick ? 1 : 3;
    const seconds = bench.quick ? 2 : 6;
    const temporal = await startBenchTemporal(bench.supervisor, bench.say);
    const book = await openBook(await bench.createDatabase('books'));
    try {
      const api = await startBenchApi(bench.supervisor, book, temporal);
      const notes: string[] = [];
      const others = await openOtherLedgers(process.env, (line) => notes.push(line));
      if (notes.length === 0 && others.length === 0) notes.push('No other ledger was named (FORMANCE_URL, BLNK_URL).');
      const tpcb = await prepareTpcb(bench, seconds);
      if (tpcb === undefined) notes.push(NO_PGBENCH);
      const measured = await measureInterleaved(
        [
          ...(tpcb === undefined ? [] : [tpcb.simple]),
          ...series(api, book, seconds),
          ...others.map((other) => otherSeries(other, seconds, notes)),
        ],
        rounds,
        bench.say,
      );
      return report(await withMoneyProven(measured, others, notes), tpcb?.simple.name, notes);
    } finally {
      await book.close();
    }
  },
};

const HEALTH = `GET /health, ${CONNECTIONS} connections`;
const transferName = (load: 'hot' | 'uniform', connections: number): string =>
  `POST transfer, ${load}, ${connections} connections`;

function series(api: BenchApi, book: BenchBook, seconds: number): Series[] {
  const transfer = (load: 'hot' | 'uniform', connections: number): Series => ({
    name: transferName(load, connections),
    unit: UNIT,
    measure: () => runLoad({ url: api.url, connections, seconds, request: () => transferRequest(api, book, load) }),
  });
  return [
    {
      name: HEALTH,
      unit: UNIT,
      measure: () =>
        runLoad({
          url: api.url,
          connections: CONNECTIONS,
          seconds,
          request: () => ({ method: 'GET', path: '/v1/health', headers: {} }),
        }),
    },
    transfer('hot', CONNECTIONS),
    transfer('uniform', CONNECTIONS),
    transfer('hot', 8),
  ];
}

const otherName = (name: string): string => `${name}: POST transaction, hot, ${CONNECTIONS} connections`;

function otherSeries({ name, url, request, judge }: OtherLedger, seconds: number, notes: string[]): Series {
  return {
    name: otherName(name),
    unit: UNIT,
    measure: () => runLoad({ url, connections: CONNECTIONS, seconds, request, judge }),
    optional: (error) => notes.push(`${name} has no figures: ${error.message}`),
  };
}

/** What was measured, but for other ledgers whose money is not right: their figures are worth nothing. */
async function withMoneyProven(
  measured: readonly Measured[],
  others: readonly OtherLedger[],
  notes: string[],
): Promise<Measured[]> {
  const wrong = new Set<string>();
  for (const { name, proveMoney } of others) {
    if (!measured.some((one) => one.name === otherName(name))) continue;
    try {
      await proveMoney();
      notes.push(
        `${name} holds the money it was given, and moved no less than it answered and no more than it was asked for.`,
      );
    } catch (error) {
      wrong.add(otherName(name));
      notes.push(`${name} has no figures: ${(error as Error).message}`);
    }
  }
  return measured.filter((one) => !wrong.has(one.name));
}

function report(measured: Measured[], tpcb: string | undefined, notes: string[]): StageResult {
  const hot = measured.find(({ name }) => name === transferName('hot', CONNECTIONS));
  return {
    measured,
    goals: [
      { text: `${transferName('hot', CONNECTIONS)}, a second`, atLeast: HOT_WANTED, got: hot?.median ?? Number.NaN },
      ...(tpcb === undefined
        ? []
        : [
            {
              text: `${transferName('hot', CONNECTIONS)} ÷ pgbench TPC-B`,
              atLeast: HOT_WANTED / TPCB_WANTED_ON,
              got: ratio(measured, transferName('hot', CONNECTIONS), tpcb),
            },
          ]),
      {
        text: `${transferName('hot', CONNECTIONS)} ÷ GET /health`,
        atLeast: 0.5,
        got: ratio(measured, transferName('hot', CONNECTIONS), HEALTH),
      },
      {
        text: `${transferName('hot', CONNECTIONS)}, p99 ÷ p50`,
        atMost: 5,
        got: (hot?.details['p99 ms'] ?? Number.NaN) / (hot?.details['p50 ms'] ?? Number.NaN),
      },
    ],
    plots: [
      {
        name: 'throughput',
        title: 'Requests answered a second',
        unit: `${UNIT} (median; whisker: least to most)`,
        bars: measured,
      },
    ],
    notes,
  };
}
