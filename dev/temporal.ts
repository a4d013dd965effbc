// The Temporal server of the embedded stack, `temporal server start-dev`, and what the service requires of any server:
// the namespace and the search attributes.
import { randomInt } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { connect } from '../src/temporal/connect.ts';
import { type Credentials, DEFAULT_NAMESPACE, type TemporalTarget } from '../src/temporal/profile.ts';
import { SEARCH_ATTRIBUTES as searchAttributes } from '../src/workflows/searchAttributes.ts';
import { freePort, retryWhenTaken } from './freePort.ts';
import type { Supervisor } from './supervisor.ts';

/** The variables that select a server and prove who is calling. TEMPORAL_GRPC_META_<NAME> adds headers. */
export const PROFILE_SETTINGS = [
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS',
  'TEMPORAL_TLS_CLIENT_CERT_PATH',
  'TEMPORAL_TLS_CLIENT_CERT_DATA',
  'TEMPORAL_TLS_CLIENT_KEY_PATH',
  'TEMPORAL_TLS_CLIENT_KEY_DATA',
  'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  'TEMPORAL_TLS_SERVER_CA_CERT_DATA',
  'TEMPORAL_TLS_SERVER_NAME',
  'TEMPORAL_PROFILE',
  'TEMPORAL_CONFIG_FILE',
] as const;

/** A server without TLS, such as the development server. */
export const unsecured = (address: string, namespace: string): TemporalTarget => ({
  address,
  namespace,
  credentials: () => ({ tls: false }),
});

const TYPE_NAMES: Record<(typeof searchAttributes)[number]['type'], keyof typeof INDEXED_VALUE_TYPES> = {
  KEYWORD: 'Keyword',
  INT: 'Int',
  DATETIME: 'Datetime',
};

/** The search attributes of the flows, each with its type as the command line of Temporal spells it. */
export const SEARCH_ATTRIBUTES = Object.fromEntries(searchAttributes.map(({ name, type }) => [name, TYPE_NAMES[type]]));

/**
 * Priority and fairness of waiting tasks (src/workflows/priority.ts). Both settings are needed: a worker's sticky queue
 * has no fairness, and priority only with the new matcher.
 */
export const TASK_ORDER = { 'matching.enableFairness': true, 'matching.useNewMatcher': true };

/** Dynamic configuration that differs from the development server's defaults. */
const DYNAMIC_CONFIG = {
  // The default limit of 2,400 calls a second protects shared servers; here it would only slow down a benchmark.
  'frontend.namespaceRPS': 50_000,
  // The default reads the search attributes from the database on each use, a third of all its database calls. They do
  // not change after the start.
  'system.forceSearchAttributesCacheRefreshOnRead': false,
  // Eager execution: the worker receives a flow's next activity in the response to its workflow task, without another
  // poll.
  'system.enableActivityEagerExecution': true,
  ...TASK_ORDER,
  // The order is kept within each partition of a queue. Partitions spread a queue over servers; here there is one.
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // Its HTTP API starts and ends flows without a login, also for a page of another site, and nothing here uses it: no
  // request has this Host.
  'frontend.httpAllowedHosts': ['nobody.invalid'],
};

/** temporal.api.enums.v1.IndexedValueType */
const INDEXED_VALUE_TYPES = { Keyword: 2, Int: 3, Datetime: 6 } as const;

/** temporal.api.enums.v1.TaskQueueType */
const WORKFLOW_TASKS = 1;

interface TemporalOptions {
  program: string;
  /** Used when they are free. Without a UI port no UI is started. */
  portPreferred?: number;
  uiPortPreferred?: number;
  /** Without it the state is in memory and lost when the server stops. */
  databaseFile?: string;
  /** In addition to DYNAMIC_CONFIG. */
  dynamicConfig?: Record<string, number>;
}

/**
 * The UI's server takes anything from anyone and checks no Host, so a page of another site whose name leads to it could
 * use it. Linux has 16 million addresses of this machine, of which no page can guess one; elsewhere there is one.
 */
const uiAddress = (): string =>
  process.platform === 'linux' ? `127.${[1, 2, 3].map(() => randomInt(1, 255)).join('.')}` : '127.0.0.1';

const NO_TLS = (): Credentials => ({ tls: false });

/** Starts the development server. */
export async function startTemporal(
  supervisor: Supervisor,
  options: TemporalOptions,
): Promise<{ address: string; uiUrl: string }> {
  const { program, portPreferred, uiPortPreferred, databaseFile, dynamicConfig } = options;
  return await retryWhenTaken(async () => {
    const port = await freePort(portPreferred);
    const uiIp = uiAddress();
    const uiPort = uiPortPreferred === undefined ? undefined : await freePort(uiPortPreferred, [port], uiIp);
    const httpPort = await freePort(undefined, [port, ...(uiPort === undefined ? [] : [uiPort])]);
    const address = `127.0.0.1:${port}`;
    await supervisor.start({
      name: 'temporal',
      kind: 'server',
      command: program,
      args: [
        'server',
        'start-dev',
        '--ip=127.0.0.1',
        `--port=${port}`,
        `--http-port=${httpPort}`,
        ...(uiPort === undefined ? ['--headless'] : [`--ui-ip=${uiIp}`, `--ui-port=${uiPort}`]),
        '--log-level=warn',
        ...(databaseFile === undefined ? [] : [`--db-filename=${databaseFile}`]),
        // Six times the workflows a second of SQLite's defaults; a machine crash still leaves a consistent file.
        '--sqlite-pragma=journal_mode=wal',
        '--sqlite-pragma=synchronous=normal',
        ...Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => `--search-attribute=${name}=${type}`),
        ...Object.entries({ ...DYNAMIC_CONFIG, ...dynamicConfig }).map(
          ([name, value]) => `--dynamic-config-value=${name}=${JSON.stringify(value)}`,
        ),
      ],
      stopSignal: 'SIGTERM',
      stopWithinMs: 10_000,
      readyWithinMs: 60_000,
      isReady: async () => {
        await checkTemporal(address, DEFAULT_NAMESPACE);
        return true;
      },
    });
    return { address, uiUrl: uiPort === undefined ? '' : `http://${uiIp}:${uiPort}` };
  });
}

/** Whether a worker has polled this task queue since that time. */
export async function workerPolls(
  address: string,
  namespace: string,
  taskQueue: string,
  since: Date,
  credentials = NO_TLS,
): Promise<boolean> {
  const connection = await connect(Connection, { address, namespace, credentials }, { connectTimeout: 3_000 });
  try {
    const { pollers } = await connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: taskQueue },
      taskQueueType: WORKFLOW_TASKS,
    });
    return (pollers ?? []).some(
      ({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000 >= since.getTime() - 1_000,
    );
  } finally {
    await connection.close();
  }
}

/**
 * Throws unless a server responds at the address and has the namespace. Adds the search attributes that are missing.
 */
export async function checkTemporal(address: string, namespace: string, credentials = NO_TLS): Promise<void> {
  const connection = await connect(Connection, { address, namespace, credentials }, { connectTimeout: 3_000 });
  try {
    await connection.withDeadline(Date.now() + 5_000, async () => {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      const missing = Object.entries(SEARCH_ATTRIBUTES).filter(([name]) => !(name in (customAttributes ?? {})));
      if (missing.length === 0) return;
      await connection.operatorService.addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(missing.map(([name, type]) => [name, INDEXED_VALUE_TYPES[type]])),
      });
    });
  } finally {
    await connection.close();
  }
}
