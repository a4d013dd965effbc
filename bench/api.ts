// The service's own API process, as it runs in production, and a key to call it with.
import { fileURLToPath } from 'node:url';
import { freePort } from '../dev/freePort.ts';
import type { Supervisor } from '../dev/supervisor.ts';
import { DEFAULT_NAMESPACE, startTemporal, workerPolls } from '../dev/temporal.ts';
import { findTemporal } from '../dev/temporalInstall.ts';
import { hashApiKey, newApiKey } from '../src/api/admission/apiKeys.ts';
import { SCOPES } from '../src/api/route.ts';
import { newUuid } from '../src/ids.ts';
import { insertApiKey } from '../src/resources/apiKeys.ts';
import type { BenchBook } from './book.ts';
import { CannotRun } from './stage.ts';

/** A ring as good as any: what it protects goes when the benchmark ends. */
const KEYS = `bench:${Buffer.alloc(32, 7).toString('base64url')}`;

/** More than any machine answers in a minute: the limit is counted and never met. */
const RATE_LIMIT_PER_MINUTE = 100_000_000;

export interface BenchApi {
  /** With `/v1`. */
  url: string;
  /** The key's Authorization header. */
  authorization: string;
  /** Process id, for looking at its memory. */
  settings: NodeJS.ProcessEnv;
}

/** Starts a Temporal server. Throws CannotRun where there is none and none can be had. */
export async function startBenchTemporal(parts: Supervisor, say: (line: string) => void): Promise<string> {
  let program: string;
  try {
    program = await findTemporal({ say });
  } catch (error) {
    throw new CannotRun(`there is no Temporal server here: ${(error as Error).message.split('\n')[0]}`);
  }
  return (await startTemporal(parts, { program })).address;
}

/** Starts the API on the book's database, with the settings of production but for the rate limit. */
export async function startBenchApi(
  parts: Supervisor,
  book: BenchBook,
  temporalAddress: string,
  name = 'api',
  more: NodeJS.ProcessEnv = {},
): Promise<BenchApi> {
  const key = newApiKey('test');
  await insertApiKey(
    book.sql,
    {
      organisationId: book.book.organisationId,
      environment: 'test',
      id: newUuid(),
      name: null,
      hash: hashApiKey(key),
      hint: key.slice(-4),
      scopes: [...SCOPES],
      expiresAt: null,
    },
    'bench',
  );
  const sandboxPort = await freePort();
  const livePort = await freePort(undefined, [sandboxPort]);
  const url = `http://127.0.0.1:${sandboxPort}/v1`;
  const settings = {
    ...process.env,
    DATABASE_URL: book.url,
    TEMPORAL_ADDRESS: temporalAddress,
    MANILLA_KEYS: KEYS,
    SANDBOX_PORT: String(sandboxPort),
    LIVE_PORT: String(livePort),
    SANDBOX_RAIL_CALLBACK_URL: `${url}/rails/sandbox/callbacks`,
    SANDBOX_RAIL_DELAY_MS: '0',
    RATE_LIMIT_PER_MINUTE: String(RATE_LIMIT_PER_MINUTE),
    LOG_LEVEL: 'info',
    ...more,
  };
  await parts.start({
    name,
    kind: 'application',
    command: process.execPath,
    args: [fileURLToPath(new URL('../src/api/main.ts', import.meta.url))],
    env: settings,
    stopSignal: 'SIGTERM',
    stopWithinMs: 15_000,
    readyWithinMs: 60_000,
    isReady: async () => (await fetch(`${url}/health`)).ok,
  });
  return { url, authorization: `Bearer ${key}`, settings };
}

/** The queue of the service's flows; that of payouts is named after it. */
export const TASK_QUEUE = 'bench';

/** Starts a worker process beside an API, with the API's settings. */
export async function startBenchWorker(parts: Supervisor, api: BenchApi, temporalAddress: string): Promise<void> {
  await parts.start({
    name: 'worker',
    kind: 'application',
    command: process.execPath,
    args: [fileURLToPath(new URL('../src/worker/main.ts', import.meta.url))],
    env: { ...api.settings, TEMPORAL_TASK_QUEUE: TASK_QUEUE, SCHEDULES: 'off' },
    stopSignal: 'SIGTERM',
    stopWithinMs: 30_000,
    readyWithinMs: 120_000,
    isReady: (startedAt) => workerPolls(temporalAddress, DEFAULT_NAMESPACE, TASK_QUEUE, startedAt),
  });
}
