// Transfers over HTTP through the API as it runs in production: key, rate count, validation and idempotency on, each
// answered when its money is on disk. Beside it a read with the same checks, of one balance, and pgbench's TPC-B, which
// has no HTTP around it and shows how fast the machine is during this run.
import { type BenchApi, startBenchApi, startBenchTemporal } from '../api.ts';
import { type BenchBook, openBook, WALLETS } from '../book.ts';
import { runLoad } from '../load.ts';
import { type Measured, measureInterleaved, ratio, type Series } from '../measure.ts';
import { NO_PGBENCH, prepareTpcb } from '../pgbench.ts';
import { balanceRequest, transferRequest } from '../requests.ts';
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
      const tpcb = await prepareTpcb(bench, seconds);
      if (tpcb === undefined) notes.push(NO_PGBENCH);
      const measured = await measureInterleaved(
        [...(tpcb === undefined ? [] : [tpcb.simple]), ...series(api, book, seconds)],
        rounds,
        bench.say,
      );
      return report(measured, tpcb?.simple.name, notes);
    } finally {
      await book.close();
    }
  },
};

const READ = `GET balance, ${CONNECTIONS} connections`;
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
      name: READ,
      unit: UNIT,
      measure: () =>
        runLoad({ url: api.url, connections: CONNECTIONS, seconds, request: () => balanceRequest(api, book) }),
    },
    transfer('hot', CONNECTIONS),
    transfer('uniform', CONNECTIONS),
    transfer('hot', 8),
  ];
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
        text: `${transferName('hot', CONNECTIONS)} ÷ GET balance`,
        atLeast: 0.5,
        got: ratio(measured, transferName('hot', CONNECTIONS), READ),
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
