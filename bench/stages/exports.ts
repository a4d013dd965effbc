// The memory of an API process in service while it exports a million rows as CSV, beside its memory before: an export
// is read page by page, and must not need more for more rows.
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../../dev/freePort.ts';
import { publicId } from '../../src/ids.ts';
import { startBenchApi, startBenchTemporal } from '../api.ts';
import { openBook } from '../book.ts';
import { grow } from '../growth.ts';
import { runLoad } from '../load.ts';
import { type Measured, type Sample, summarise } from '../measure.ts';
import { RESIDENT_MEMORY, readMegabytes } from '../metrics.ts';
import { transferRequest } from '../requests.ts';
import type { Stage } from '../stage.ts';

/** The hot wallet is in two of three postings. */
const SIZE = { postings: 1_500_000, payments: 1_000_000, wallets: 1_000 };
const SIZE_QUICK = { postings: 75_000, payments: 50_000, wallets: 1_000 };
/** Ordinary requests before: the heap of a process that has just started grows with the first load, whatever it is. */
const WARM_UP_SECONDS = 20;
const CONNECTIONS = 64;
const SAMPLE_EVERY_MS = 250;
const MORE_MEGABYTES_MAX = 64;
const BEFORE = 'before';

export const csvExports: Stage = {
  name: 'exports',
  title: 'Resident memory of an API process in service before and during exports of a million rows as CSV.',
  onRequest: true,
  run: async (bench) => {
    const temporal = await startBenchTemporal(bench.supervisor, bench.say);
    const book = await openBook(await bench.createDatabase('books'));
    try {
      await grow(book, bench.quick ? SIZE_QUICK : SIZE, () => Promise.resolve(null), bench.say);
      const metricsPort = await freePort();
      const api = await startBenchApi(bench.supervisor, book, temporal, 'api', { METRICS_PORT: String(metricsPort) });
      const lists = {
        'statement of a wallet': `/wallets/${publicId('wallet', book.hot)}/transactions`,
        payments: '/payments',
      };
      const read = (path: string) =>
        readRows(`${api.url}${path}`, { accept: 'text/csv', authorization: api.authorization });
      const request = () => transferRequest(api, book, 'uniform');
      await runLoad({ url: api.url, connections: CONNECTIONS, seconds: WARM_UP_SECONDS, request });
      const measured: Measured[] = [];
      const notes: string[] = [];
      for (const [name, path] of Object.entries(lists)) {
        measured.push(await sampled(`${name}, ${BEFORE}`, metricsPort, setTimeout(10 * SAMPLE_EVERY_MS)));
        const started = performance.now();
        const exported = read(path);
        measured.push(await sampled(name, metricsPort, exported));
        const rows = await exported;
        notes.push(`${name}: ${rows.toLocaleString('en')} rows in ${seconds(started)} s`);
      }
      return {
        measured,
        goals: Object.keys(lists).map((name) => ({
          text: `${name}: most memory during the export, less the most before, MB`,
          atMost: MORE_MEGABYTES_MAX,
          got: most(measured, name) - most(measured, `${name}, ${BEFORE}`),
        })),
        plots: [],
        notes,
      };
    } finally {
      await book.close();
    }
  },
};

const seconds = (started: number): string => ((performance.now() - started) / 1000).toFixed(0);
const most = (measured: readonly Measured[], name: string): number =>
  measured.find((one) => one.name === name)?.max ?? Number.NaN;

/** The memory of a process until something has happened. */
async function sampled(name: string, port: number, until: Promise<unknown>): Promise<Measured> {
  const samples: Sample[] = [];
  let waiting = true;
  const ended = until.finally(() => {
    waiting = false;
  });
  while (waiting) {
    samples.push(await readMegabytes(port, { value: RESIDENT_MEMORY }));
    await Promise.race([ended, setTimeout(SAMPLE_EVERY_MS)]);
  }
  await ended;
  return summarise(name, 'MB', samples);
}

/** Reads a list as CSV. Returns the number of its rows. */
async function readRows(url: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(url, { headers });
  if (!response.ok || response.body === null) throw new Error(`GET ${url}: ${response.status}`);
  let lines = 0;
  for await (const chunk of response.body) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
  }
  return lines - 1; // the first line has the names of the columns
}
