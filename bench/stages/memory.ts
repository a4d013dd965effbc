// Memory growth of API and worker: ten minutes of transfers and reads over HTTP, whose events the worker relays, with
// the memory of both processes sampled throughout. Runs only when it is named, because it takes ten minutes.
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../../dev/freePort.ts';
import { type BenchApi, startBenchApi, startBenchTemporal, startBenchWorker } from '../api.ts';
import { openBook } from '../book.ts';
import { type LoadRequest, runLoad } from '../load.ts';
import { type Measured, median, type Sample, summarise } from '../measure.ts';
import { RESIDENT_MEMORY, readMegabytes } from '../metrics.ts';
import { balanceRequest, transferRequest } from '../requests.ts';
import type { Stage, StageResult } from '../stage.ts';

const CONNECTIONS = 32;
/** For each kind of request. Constant and below the machine's capacity, so that no backlog builds up. */
const REQUESTS_PER_SECOND = 100;
const SAMPLES = 60;
/** The last third of the run relative to the second third; the first third is the warm-up. */
const GROWTH_MAX = 1.1;

const METRICS = {
  'resident memory': RESIDENT_MEMORY,
  'heap in use': 'manilla_nodejs_heap_size_used_bytes',
};

export const memory: Stage = {
  name: 'memory',
  title: `Memory of API and worker over ten minutes of ${REQUESTS_PER_SECOND} transfers and ${REQUESTS_PER_SECOND} balance reads a second.`,
  onRequest: true,
  run: async (bench) => {
    const seconds = bench.quick ? 60 : 600;
    const temporal = await startBenchTemporal(bench.supervisor, bench.say);
    const book = await openBook(await bench.createDatabase('books'));
    try {
      const apiPort = await freePort();
      const workerPort = await freePort(undefined, [apiPort]);
      const settings = { METRICS_PORT: String(apiPort), WORKER_METRICS_PORT: String(workerPort) };
      const api = await startBenchApi(bench.supervisor, book, temporal, 'api', settings);
      await startBenchWorker(bench.supervisor, api, temporal);
      const [measured] = await Promise.all([
        sampleMemory({ api: apiPort, worker: workerPort }, seconds),
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

/** Reads the metrics of the processes at equal intervals, in megabytes by process and kind. */
async function sampleMemory(ports: Record<string, number>, seconds: number): Promise<Measured[]> {
  const samplesByName = new Map<string, Sample[]>();
  const started = performance.now();
  for (let index = 1; index <= SAMPLES; index += 1) {
    await setTimeout(Math.max(0, started + (index * seconds * 1000) / SAMPLES - performance.now()));
    for (const [process, port] of Object.entries(ports)) {
      for (const [kind, value] of Object.entries(await readMegabytes(port, METRICS))) {
        const name = `${process}, ${kind}`;
        samplesByName.set(name, [...(samplesByName.get(name) ?? []), { value }]);
      }
    }
  }
  return [...samplesByName].map(([name, samples]) => summarise(name, 'MB', samples));
}

function report(measured: Measured[]): StageResult {
  const third = SAMPLES / 3;
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
