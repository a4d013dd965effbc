// Read throughput of one and of two API processes on the same database: what a second process adds on this machine.
import { type BenchApi, startBenchApi, startBenchTemporal } from '../api.ts';
import { type BenchBook, openBook } from '../book.ts';
import { runLoad } from '../load.ts';
import { type Measured, measureInterleaved, type Sample, type Series } from '../measure.ts';
import { balanceRequest } from '../requests.ts';
import type { Stage, StageResult } from '../stage.ts';

const UNIT = 'requests/s';
/** In total, over all processes. */
const CONNECTIONS = 64;

export const processes: Stage = {
  name: 'processes',
  title: `GET /wallets/:id/balance with ${CONNECTIONS} connections, over one and two API processes on one database.`,
  run: async (bench) => {
    const rounds = bench.quick ? 1 : 5;
    const seconds = bench.quick ? 2 : 6;
    const temporal = await startBenchTemporal(bench.supervisor, bench.say);
    const book = await openBook(await bench.createDatabase('books'));
    try {
      const apis = [
        await startBenchApi(bench.supervisor, book, temporal, 'api'),
        await startBenchApi(bench.supervisor, book, temporal, 'api-2'),
      ];
      return report(
        await measureInterleaved(
          [reads(apis.slice(0, 1), book, seconds), reads(apis, book, seconds)],
          rounds,
          bench.say,
        ),
      );
    } finally {
      await book.close();
    }
  },
};

const readsName = (count: number): string => `GET balance, ${count} API process${count === 1 ? '' : 'es'}`;

function reads(apis: readonly BenchApi[], book: BenchBook, seconds: number): Series {
  const load = (api: BenchApi): Promise<Sample> =>
    runLoad({
      url: api.url,
      connections: CONNECTIONS / apis.length,
      seconds,
      request: () => balanceRequest(api, book),
    });
  return {
    name: readsName(apis.length),
    unit: UNIT,
    measure: async () => {
      const samples = await Promise.all(apis.map(load));
      return {
        value: samples.reduce((sum, { value }) => sum + value, 0),
        details: { 'p99 ms': Math.max(...samples.map(({ details }) => details?.['p99 ms'] ?? 0)) },
      };
    },
  };
}

function report(measured: Measured[]): StageResult {
  return {
    measured,
    goals: [],
    plots: [{ name: 'reads', title: 'Reads answered a second', unit: UNIT, bars: measured }],
    notes: ['The load and Postgres share the processors: once all are busy, a second API process adds nothing here.'],
  };
}
