// Whether API and worker keep their size: ten minutes of transfers and reads over HTTP, their events relayed by the worker,
// and both processes' memory looked at all along. Runs only when it is named: it takes its time.
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../../dev/freePort.ts';
import { type BenchApi, startBenchApi, startBenchTemporal, startBenchWorker } from '../api.ts';
import { openBook } from '../book.ts';
import { type LoadRequest, runLoad } from '../load.ts';
import { type Measured, median, type Sample, summarise } from '../measure.ts';
import { balanceRequest, transferRequest } from '../requests.ts';
import type { Stage, StageResult } from '../stage.ts';

const CONNECTIONS = 32;
/** Of each kind. Steady and below what the machine can do, so that nothing piles up for other reasons. */
const REQUESTS_PER_SECOND = 100;
const LOOKS = 60;
/** The last third of the run against the third before it; the first is for warming up. */
const GROWTH_MAX = 1.1;

const METRICS = {
  'resident memory': 'manilla_process_resident_memory_bytes',
  'heap in use': 'manilla_nodejs_heap_size_used_bytes',
};

export const memory: Stage = {
  name: 'memory',
  title: `Memory of API and worker over ten minutes of ${REQUESTS_PER_SECOND} transfers and ${REQUESTS_PER_SECOND} balance reads a second.`,
  onRequest: true,
  run: async (bench) => {
    const seconds = bench.quick ? 60 : 600;
    const temporal = await startBenchTemporal(bench.parts, bench.say);
    const book = await openBook(await bench.createDatabase('books'));
    try {
      const apiPort = await freePort();
      const workerPort = await freePort(undefined, [apiPort]);
      const settings = { METRICS_PORT: String(apiPort), WORKER_METRICS_PORT: String(workerPort) };
      const api = await startBenchApi(bench.parts, book, temporal, 'api', settings);
      await startBenchWorker(bench.parts, api, temporal);
      const [measured] = await Promise.all([
        lookAt({ api: apiPort, worker: workerPort }, seconds),
        load(api, seconds, () => transferRequest(api, book, 'hot')),
        load(api, seconds, () => balanceRequest(api, book)),
      ]);
      return report(measured);
    } finally {
      await book.close();
    }
  },
};

const load = ({ url }: BenchApi, seconds: number, request: () => LoadRequest): Promise<Sample> =>
  runLoad({ url, connections: CONNECTIONS, seconds, perSecond: REQUESTS_PER_SECOND, request });

/** Reads the processes' own metrics at even times, in megabytes by process and kind. */
async function lookAt(ports: Record<string, number>, seconds: number): Promise<Measured[]> {
  const seen = new Map<string, Sample[]>();
  const started = performance.now();
  for (let look = 1; look <= LOOKS; look += 1) {
    await setTimeout(Math.max(0, started + (look * seconds * 1000) / LOOKS - performance.now()));
    for (const [process, port] of Object.entries(ports)) {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      for (const [kind, metric] of Object.entries(METRICS)) {
        const bytes = Number(new RegExp(`^${metric} (\\S+)$`, 'm').exec(text)?.[1]);
        if (Number.isNaN(bytes)) throw new Error(`${process} shows no ${metric}`);
        const name = `${process}, ${kind}`;
        seen.set(name, [...(seen.get(name) ?? []), { value: bytes / 2 ** 20 }]);
      }
    }
  }
  return [...seen].map(([name, samples]) => summarise(name, 'MB', samples));
}

function report(measured: Measured[]): StageResult {
  const third = LOOKS / 3;
  return {
    measured,
    goals: measured.map(({ name, rounds }) => ({
      text: `${name}: last third ÷ the third before`,
      atMost: GROWTH_MAX,
      got: median(rounds.slice(2 * third)) / median(rounds.slice(third, 2 * third)),
    })),
    plots: [
      { name: 'size', title: 'Memory over the run', unit: 'MB (median; whisker: least to most)', bars: measured },
    ],
    notes: [],
  };
}
