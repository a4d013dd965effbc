// The HTTP listener that Prometheus scrapes: on a port of its own, off unless configured, and never reachable by
// customers. Scrapes put a bounded load on the service: gauges that need a query are cached, and their query times out.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withTimeout } from '../concurrency/withTimeout.ts';
import type { Log } from './log.ts';
import { gaugeSourceUp, registry, watchProcess } from './metrics.ts';

/** Gauges whose values are queried from another system. */
export interface Collector {
  name: string;
  /** Queries the values and resolves with a function that sets the gauges; it is not called after a timeout. */
  collect: () => Promise<() => void>;
  /** Removes the values of the gauges: a stale value would look current. */
  reset: () => void;
}

export interface MetricsServer {
  port: number;
  /** Adds a collector, which runs on scrapes from now on. */
  add: (source: Collector) => void;
  close: () => Promise<void>;
}

export interface MetricsServerOptions {
  port: number;
  bindAddress: string;
  log: Log;
  /** A collector runs at most once per this interval, however many scrapers there are. */
  cacheMs?: number;
  /** Timeout of a collector. Shorter than the scrape timeout of Prometheus, 10 s by default. */
  waitMs?: number;
}

const CACHE_MS = 10_000;
const WAIT_MS = 3_000;
const PATH = '/metrics';

export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { log, cacheMs = CACHE_MS, waitMs = WAIT_MS } = options;
  watchProcess();
  const collectors: (() => Promise<void>)[] = [];

  const add = (source: Collector): void => {
    let collectedAt = Number.NEGATIVE_INFINITY;
    let inFlight: Promise<void> | null = null;
    const collect = async (): Promise<void> => {
      try {
        const setGauges = await withTimeout(source.collect(), waitMs);
        source.reset(); // removes label values that no longer exist
        setGauges();
        gaugeSourceUp.set({ source: source.name }, 1);
      } catch (error) {
        log.warn({ err: error, source: source.name }, 'collecting gauges failed');
        source.reset();
        gaugeSourceUp.set({ source: source.name }, 0);
      }
      collectedAt = Date.now();
      inFlight = null;
    };
    collectors.push(async () => {
      if (Date.now() - collectedAt < cacheMs) return;
      inFlight ??= collect();
      await inFlight;
    });
  };

  const server = createServer((request, response) => {
    const respond = async (): Promise<void> => {
      if (request.method !== 'GET' || request.url !== PATH) {
        response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end(`Metrics are at GET ${PATH}\n`);
        return;
      }
      await Promise.all(collectors.map((collect) => collect()));
      const text = await registry.metrics();
      response.writeHead(200, { 'content-type': registry.contentType }).end(text);
    };
    respond().catch((error: unknown) => {
      log.error({ err: error }, 'the metrics response failed');
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.bindAddress, resolve);
  });
  return { port: (server.address() as AddressInfo).port, add, close: () => closeServer(server) };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
