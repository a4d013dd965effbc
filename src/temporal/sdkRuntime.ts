// The runtime of the Temporal SDK. Its log goes to the log of the process. Its metrics (pollers, failed tasks,
// latencies, rejected requests) it exports on a port of its own, on the loopback interface only; the worker's metrics
// port serves them with our own.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { DefaultLogger, type Logger, Runtime, type RuntimeOptions } from '@temporalio/worker';
import type { Log } from '../telemetry/log.ts';

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

export const temporalLog = (log: Log): Logger =>
  new DefaultLogger('TRACE', ({ level, message, meta }) => log[LEVELS[level]](meta ?? {}, message));

const LOOPBACK = '127.0.0.1';
/** Another process may take the free port before the SDK does. */
const TRIES_MAX = 5;

/** Where this process's SDK exports its metrics. The SDK has one runtime per process. */
let exporter: string | null = null;

/** Installs the SDK's runtime with its metrics (`readSdkMetrics`). Call it before anything else of the SDK. */
export async function installWithMetrics({ telemetryOptions, ...options }: RuntimeOptions): Promise<void> {
  for (let tries = 1; exporter === null; tries += 1) {
    const bindAddress = `${LOOPBACK}:${await freePort()}`;
    try {
      const runtime = Runtime.install({
        ...options,
        telemetryOptions: {
          ...telemetryOptions,
          // The names are Temporal's; durations are in seconds, as everywhere in Prometheus.
          metrics: { prometheus: { bindAddress, useSecondsForDurations: true }, attachServiceName: false },
        },
      });
      // Without a connection the SDK would end its runtime, and could not start it again once its port is taken.
      Object.assign(runtime, { shutdownIfIdle: async () => {} });
      exporter = `http://${bindAddress}/metrics`;
    } catch (error) {
      if (tries === TRIES_MAX || !/in use/.test(String(error))) throw error;
    }
  }
}

/** The SDK's metrics in the text format of Prometheus; nothing when they are off. */
export async function readSdkMetrics(): Promise<string> {
  if (exporter === null) return '';
  const response = await fetch(exporter);
  if (!response.ok) throw new Error(`the exporter of the Temporal SDK answered ${response.status}`);
  return await response.text();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, LOOPBACK);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
