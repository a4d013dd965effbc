// The listener that Prometheus scrapes: a port of its own, off unless one is configured, and never one that customers
// reach. A scrape cannot hurt the service: what must be asked for is asked for at most once in a while, and not waited for.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Log } from './log.ts';
import { gaugeSourceUp, registry, watchProcess } from './metrics.ts';

/** Gauges that somebody else has to be asked for. */
export interface Collector {
  name: string;
  /** Asks, and resolves with what sets the gauges; it is not called when the answer came too late. */
  collect: () => Promise<() => void>;
  /** Takes the gauges away: a stale value would look like a true one. */
  reset: () => void;
}

export interface MetricsServer {
  port: number;
  /** Adds gauges that are looked up from now on, when somebody scrapes. */
  add: (source: Collector) => void;
  close: () => Promise<void>;
}

export interface MetricsServerOptions {
  port: number;
  bindAddress: string;
  log: Log;
  /** However many scrape, a source is asked no more often than this. */
  cacheMs?: number;
  /** A scrape waits for its sources no longer than this; Prometheus itself gives up after 10 s. */
  waitMs?: number;
}

const CACHE_MS = 10_000;
const WAIT_MS = 3_000;
const PATH = '/metrics';

export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { log, cacheMs = CACHE_MS, waitMs = WAIT_MS } = options;
  watchProcess();
  const looks: (() => Promise<void>)[] = [];

  const add = (source: Collector): void => {
    let lookedAt = Number.NEGATIVE_INFINITY;
    let looking: Promise<void> | null = null;
    const look = async (): Promise<void> => {
      try {
        const show = await withinTime(source.collect(), waitMs);
        source.reset(); // what is no more
        show();
        gaugeSourceUp.set({ source: source.name }, 1);
      } catch (error) {
        log.warn({ err: error, source: source.name }, 'gauges could not be read');
        source.reset();
        gaugeSourceUp.set({ source: source.name }, 0);
      }
      lookedAt = Date.now();
      looking = null;
    };
    looks.push(async () => {
      if (Date.now() - lookedAt < cacheMs) return;
      looking ??= look();
      await looking;
    });
  };

  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      if (request.method !== 'GET' || request.url !== PATH) {
        response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end(`Metrics are at GET ${PATH}\n`);
        return;
      }
      await Promise.all(looks.map((look) => look()));
      const text = await registry.metrics();
      response.writeHead(200, { 'content-type': registry.contentType }).end(text);
    };
    answer().catch((error: unknown) => {
      log.error({ err: error }, 'metrics could not be written');
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.bindAddress, resolve);
  });
  return { port: (server.address() as AddressInfo).port, add, close: () => closeServer(server) };
}

/** Rejects when the work takes longer; what it does after that is nobody's concern. */
async function withinTime<Answer>(work: Promise<Answer>, limitMs: number): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs);
  });
  work.catch(() => {}); // heard below, unless it is late
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
