// Starts the service's API and worker processes with production settings, and creates an API key for the load.
import { fileURLToPath } from 'node:url';
import { freePort } from '../dev/freePort.ts';
import { serviceUrl } from '../dev/postgres.ts';
import type { Supervisor } from '../dev/supervisor.ts';
import { startTemporal, workerPolls } from '../dev/temporal.ts';
import { findTemporal } from '../dev/temporalInstall.mjs';
import { insertApiKey } from '../src/resources/apiKeys.ts';
import { makeApiKey, SCOPES } from '../src/resources/keys.ts';
import { OWNER_PROOF } from '../src/resources/proofs.ts';
import { DEFAULT_NAMESPACE } from '../src/temporal/profile.ts';
import type { BenchBook } from './book.ts';
import { CannotRun } from './stage.ts';

/** A fixed keyring: the data that it encrypts is deleted when the benchmark ends. */
export const KEYS = `bench:${Buffer.alloc(32, 7).toString('base64url')}`;

/** Above what a machine can serve in a minute: requests are counted, but the limit is not reached. */
const RATE_LIMIT_PER_MINUTE = 100_000_000;

export interface BenchApi {
  /** Includes `/v1`. */
  url: string;
  /** The same for the live environment. */
  liveUrl: string;
  /** The Authorization header. */
  authorization: string;
  /** The environment variables of the process. */
  settings: NodeJS.ProcessEnv;
}

/** Starts a Temporal server. Throws CannotRun when none is installed and none can be downloaded or built. */
export async function startBenchTemporal(supervisor: Supervisor, say: (line: string) => void): Promise<string> {
  let program: string;
  try {
    program = await findTemporal({ say });
  } catch (error) {
    throw new CannotRun(`no Temporal server is available: ${(error as Error).message.split('\n')[0]}`);
  }
  return (await startTemporal(supervisor, { program })).address;
}

/** Creates an API key for everything in a book. Returns the Authorization header. */
export async function createAuthorization({ sql, book }: BenchBook): Promise<string> {
  const { environment, organisationId } = book;
  const unlimited = { expiresAt: null, allowedIps: null, rateLimit: null };
  const { key, row } = makeApiKey(organisationId, { environment, name: null, scopes: [...SCOPES], ...unlimited });
  await insertApiKey(sql, row, OWNER_PROOF);
  return `Bearer ${key}`;
}

/** Starts the API on the book's database, with production settings except for the rate limit. */
export async function startBenchApi(
  supervisor: Supervisor,
  book: BenchBook,
  temporalAddress: string,
  name = 'api',
  more: NodeJS.ProcessEnv = {},
  main = new URL('../src/api/main.ts', import.meta.url),
): Promise<BenchApi> {
  const authorization = await createAuthorization(book);
  const sandboxPort = await freePort();
  const livePort = await freePort(undefined, [sandboxPort]);
  const url = `http://127.0.0.1:${sandboxPort}/v1`;
  const settings = {
    ...process.env,
    DATABASE_URL: serviceUrl(book.url, new URL(book.url).pathname),
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
  await supervisor.start({
    name,
    kind: 'application',
    command: process.execPath,
    args: [fileURLToPath(main)],
    env: settings,
    stopSignal: 'SIGTERM',
    stopWithinMs: 15_000,
    readyWithinMs: 60_000,
    isReady: async () => (await fetch(`${url}/health`)).ok,
  });
  return { url, liveUrl: `http://127.0.0.1:${livePort}/v1`, authorization, settings };
}

/** The task queue of the service's flows; the name of the payouts queue is derived from it. */
export const TASK_QUEUE = 'bench';

/** Starts a worker process with the settings of an API process. */
export async function startBenchWorker(
  supervisor: Supervisor,
  api: BenchApi,
  temporalAddress: string,
  main = new URL('../src/worker/main.ts', import.meta.url),
): Promise<void> {
  await supervisor.start({
    name: 'worker',
    kind: 'application',
    command: process.execPath,
    args: [fileURLToPath(main)],
    env: { ...api.settings, TEMPORAL_TASK_QUEUE: TASK_QUEUE, SCHEDULES: 'off' },
    stopSignal: 'SIGTERM',
    stopWithinMs: 30_000,
    readyWithinMs: 120_000,
    isReady: (startedAt) => workerPolls(temporalAddress, DEFAULT_NAMESPACE, TASK_QUEUE, startedAt),
  });
}
