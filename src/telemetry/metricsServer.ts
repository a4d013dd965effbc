// The HTTP listener for Prometheus and for health probes: on a port of its own, off unless configured, and never
// reachable by customers. Scrapes put a bounded load on the service: gauges that need a query are cached, and their
// query times out.
import { shared } from '../concurrency/shared.ts';
import { withTimeout } from '../concurrency/withTimeout.ts';
import { type HttpListener, listen, type RequestHandler, withoutForeignHosts } from '../httpListener.ts';
import type { Log } from './log.ts';
import { gaugeSourceUp, registry, watchProcess } from './metrics.ts';

/** Gauges whose values are queried from another system. */
export interface Collector {
  name: string;
  /** Queries the values and resolves with a function that sets the gauges; it is not called after a timeout. */
  collect: () => Promise<() => void>;
  /** Removes the values of the gauges: a stale value would look current. */
  reset: () => void;
  /** Values that were read are served for this long, instead of for the interval of the server. */
  cacheMs?: number;
}

export interface MetricsServer extends Pick<HttpListener, 'port' | 'close'> {
  /** Adds a collector, which runs on scrapes from now on. */
  add: (source: Collector) => void;
}

/** Answers a path with JSON and the status 200 or 503. It must not fail. */
export type Probe = () => Promise<{ ok: boolean; body: object }>;

export interface MetricsServerOptions {
  port: number;
  bindAddress: string;
  log: Log;
  /** Another exporter of this process: `read` resolves with its metrics in the text format, served after ours. */
  more?: { name: string; read: () => Promise<string> };
  /** Health probes by their path. */
  probes?: Record<string, Probe>;
  /** A collector runs at most once per this interval, however many scrapers there are. */
  cacheMs?: number;
  /** Timeout of a collector. Shorter than the scrape timeout of Prometheus, 10 s by default. */
  waitMs?: number;
}

const CACHE_MS = 10_000;
const WAIT_MS = 3_000;
const PATH = '/metrics';

export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { log, more, probes = {}, cacheMs = CACHE_MS, waitMs = WAIT_MS } = options;
  watchProcess();
  const collectors: (() => Promise<void>)[] = [];

  /** Reads a source within the time limit, uses what it gives, and notes whether that worked. Null: it did not. */
  const readSource = async <Read, Used>(
    name: string,
    read: () => Promise<Read>,
    use: (result: Read) => Used,
  ): Promise<Used | null> => {
    try {
      const used = use(await withTimeout(read(), waitMs));
      gaugeSourceUp.set({ source: name }, 1);
      return used;
    } catch (error) {
      log.warn({ err: error, source: name }, 'reading metrics failed');
      gaugeSourceUp.set({ source: name }, 0);
      return null;
    }
  };

  const add = (source: Collector): void => {
    let freshUntil = Number.NEGATIVE_INFINITY;
    const collect = shared(async () => {
      const isSet = await readSource(source.name, source.collect, (setGauges) => {
        source.reset(); // removes label values that no longer exist
        setGauges();
        return true;
      });
      if (isSet === null) source.reset();
      freshUntil = performance.now() + (isSet === null ? cacheMs : (source.cacheMs ?? cacheMs));
    });
    collectors.push(async () => {
      if (performance.now() >= freshUntil) await collect();
    });
  };

  const readMore = async (): Promise<string> =>
    more === undefined ? '' : ((await readSource(more.name, more.read, (text) => text)) ?? '');

  const handle: RequestHandler = (request, response) => {
    const respond = async (): Promise<void> => {
      const { method, url = '' } = request;
      if (method === 'GET' && Object.hasOwn(probes, url)) {
        const { ok, body } = (await probes[url]?.()) ?? { ok: false, body: {} };
        response.writeHead(ok ? 200 : 503, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
        return;
      }
      if (method !== 'GET' || url !== PATH) {
        response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end(`Metrics are at GET ${PATH}\n`);
        return;
      }
      const [others] = await Promise.all([readMore(), ...collectors.map((collect) => collect())]);
      const text = await registry.metrics();
      response.writeHead(200, { 'content-type': registry.contentType }).end(text + others);
    };
    respond().catch((error: unknown) => {
      log.error({ err: error }, 'the metrics response failed');
      response.destroy();
    });
  };
  const { port, close } = await listen(withoutForeignHosts(options.bindAddress, handle), {
    port: options.port,
    host: options.bindAddress,
  });
  return { port, add, close };
}
