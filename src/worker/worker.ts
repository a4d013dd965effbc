// The worker: by the roles of the process it runs the flows, maintenance, the outbox relay and the sandbox bank's
// background loops. Any number may run.
import { Client } from '@temporalio/client';
import { Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { WORKER_FORCE_MS, WORKER_GRACE_MS } from '../concurrency/timeLimits.ts';
import { createRelay } from '../outbox/relay.ts';
import { type MetricsServer, startMetricsServer } from '../telemetry/metricsServer.ts';
import { isTracing } from '../telemetry/tracing.ts';
import { dataConverterOf } from '../temporal/dataConverter.ts';
import { readSdkMetrics } from '../temporal/sdkRuntime.ts';
import { createDispatcher } from '../webhooks/dispatcher.ts';
import { taskQueueOf } from '../workflows/flows.ts';
import { databaseGauges, parkedFlowGauges } from './backlogGauges.ts';
import { capacityOf } from './capacity.ts';
import { openConnection, type WorkerConnection } from './connection.ts';
import { healthProbes, type WorkerStage } from './health.ts';
import { attemptOfActivity, suspectOfActivity, watchWorkflowTasks } from './interceptors.ts';
import { pollerGauges } from './pollerGauges.ts';
import { QUEUES, type WorkerRuntime } from './queues.ts';
import { guardRestore } from './restoreGuard.ts';
import { restoreSchedules, syncSchedules } from './schedules.ts';
import { TRACED_WORKFLOWS, traceOfActivity, traceOfClient, traceSinks } from './tracing.ts';
import { bundleWorkflows } from './workflowBundle.ts';

export interface RunningWorker {
  /** Resolves when the worker has stopped; rejects when it failed. */
  stopped: Promise<void>;
  /** Accepts no more work and finishes what is in progress. */
  stop: () => Promise<void>;
}

type WorkflowBundle = WorkerOptions['workflowBundle'];

/** Connects, retrying until Temporal responds, and starts the worker. The default bundle is that of src/workflows. */
export async function startWorker(runtime: WorkerRuntime, workflowBundle?: WorkflowBundle): Promise<RunningWorker> {
  const { config, log, sql } = runtime;
  const closing = new AbortController();
  let stage: WorkerStage = 'starting';
  let connected: WorkerConnection | null = null;
  // First, so that metrics are available while the worker waits for Temporal.
  const probes = healthProbes({ config, sql, stage: () => stage, connection: () => connected });
  const metrics = await startMetrics(runtime, probes);
  const connection = await openConnection(config.temporal, log);
  connected = connection;
  const client = new Client({
    connection,
    namespace: config.temporal.namespace,
    dataConverter: dataConverterOf(config.temporal.payloadKeys),
    ...(isTracing() && { interceptors: { workflow: [traceOfClient] } }),
  });
  metrics?.server.add(parkedFlowGauges(client, config.temporal.taskQueue));
  metrics?.server.add(pollerGauges(client, config.temporal.taskQueue));
  await guardRestore({ sql, client, taskQueue: config.temporal.taskQueue, log });
  const workers = await createWorkers(runtime, client, connection, closing.signal, workflowBundle);
  connection.follow(config.temporal, workers, log);
  const loops = await startLoops(runtime, client);
  const stopLoops = async (): Promise<void> => {
    await Promise.all(loops.map((loop) => loop.stop()));
  };
  stage = 'running';
  const run = async (): Promise<void> => {
    try {
      await runAll(workers, closing.signal);
    } finally {
      await stopLoops();
      await metrics?.close();
      await connection.close();
    }
  };
  const stopped = run();
  return {
    stopped,
    stop: async () => {
      stage = 'stopping';
      closing.abort();
      await connection.stopFollowing();
      shutDown(workers);
      await stopLoops();
      await stopped;
    },
  };
}

/** One worker of the SDK for each queue of the roles. */
async function createWorkers(
  runtime: WorkerRuntime,
  client: Client,
  connection: WorkerConnection,
  closing: AbortSignal,
  workflowBundle: WorkflowBundle,
): Promise<Worker[]> {
  const { config } = runtime;
  const { namespace, taskQueue, payloadKeys } = config.temporal;
  const queues = QUEUES.filter(({ role }) => config.worker.roles.includes(role));
  if (queues.length === 0) return [];
  const common = {
    connection: connection.native,
    namespace,
    dataConverter: dataConverterOf(payloadKeys),
    interceptors: {
      activity: [...(isTracing() ? [traceOfActivity] : []), suspectOfActivity(runtime), attemptOfActivity(closing)],
    },
    ...(isTracing() && { sinks: traceSinks }),
    ...versionOf(config),
    shutdownGraceTime: WORKER_GRACE_MS,
    shutdownForceTime: WORKER_FORCE_MS,
  };
  const bundle = workflowBundle ?? (await buildBundle(payloadKeys !== null));
  // At once: those with workflows load them in a thread each.
  return await Promise.all(
    queues.map(async ({ queue, activities, limits }) => {
      const perSecond = queue === 'rail' ? config.worker.railActivitiesPerSecond : null;
      const worker = await Worker.create({
        ...common,
        taskQueue: taskQueueOf(taskQueue, queue),
        activities: activities(runtime, client),
        ...capacityOf(limits(config.worker)),
        ...(queue !== 'rail' && { workflowBundle: bundle }),
        ...(perSecond !== null && { maxTaskQueueActivitiesPerSecond: perSecond }),
      });
      watchWorkflowTasks(worker, client, runtime);
      return worker;
    }),
  );
}

/**
 * The deployment version of a worker; none without a build id. Every flow moves to the current version with its next
 * workflow task (AUTO_UPGRADE). A pinned flow would stay on the version that started it and stop as soon as that
 * version's workers are removed: a parked withdrawal may wait for weeks. Compatibility of old flows with new code is
 * ensured by `patched` and the recorded histories (docs/replaying.md).
 */
function versionOf({ temporal: { buildId, taskQueue } }: WorkerRuntime['config']) {
  if (buildId === '') return {};
  return {
    workerDeploymentOptions: {
      // Installations that share a namespace have a task queue each.
      version: { deploymentName: taskQueue, buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  } satisfies Partial<WorkerOptions>;
}

/** The loops outside of Temporal: relay, webhook deliveries and sandbox bank, and what keeps the Schedules. */
async function startLoops(runtime: WorkerRuntime, client: Client): Promise<{ stop: () => Promise<void> }[]> {
  const { config, log, sql, asyncCommitSql } = runtime;
  const { roles } = config.worker;
  const { taskQueue } = config.temporal;
  const loops: { stop: () => Promise<void> }[] = [];
  if (roles.includes('maintenance') && config.maintenance.schedules) {
    await syncSchedules(client, config);
    loops.push(restoreSchedules(client, config, log));
  }
  if (roles.includes('relay')) {
    const { dispatchEvent, retries } = createDispatcher({ sql, keyring: config.keyring, config, log });
    const relay = createRelay({ asyncCommitSql, client, taskQueue, dispatchEvent, log });
    const bank = runtime.sandboxBank.clock();
    const started = [relay, retries, bank];
    for (const loop of started) loop.start();
    loops.push(...started);
  }
  return loops;
}

/** Starts the metrics listener with the database gauges; null when none is configured. */
async function startMetrics(
  { config, log, rails }: Pick<WorkerRuntime, 'config' | 'log' | 'rails'>,
  probes: ReturnType<typeof healthProbes>,
): Promise<{ server: MetricsServer; close: () => Promise<void> } | null> {
  const { ports, bindAddress } = config.metrics;
  if (ports.worker === null) return null;
  const server = await startMetricsServer({
    port: ports.worker,
    bindAddress,
    log,
    probes,
    more: { name: 'sdk', read: readSdkMetrics },
  });
  const database = databaseGauges(config.databaseUrl, rails, config.railBalanceLow);
  server.add(database);
  return {
    server,
    close: async (): Promise<void> => {
      await server.close();
      await database.close();
    },
  };
}

const buildBundle = (encodeFailures: boolean) =>
  bundleWorkflows({
    interceptors: isTracing() ? [TRACED_WORKFLOWS] : [],
    encodeFailures,
    logger: Runtime.instance().logger,
  });

/** Until all have stopped and the process closes. When one fails, all are shut down: none polls alone. */
async function runAll(workers: Worker[], closing: AbortSignal): Promise<void> {
  const runs = workers.map((worker) => worker.run());
  const closed = new Promise<void>((resolve) => closing.addEventListener('abort', () => resolve()));
  try {
    await Promise.all([...runs, closed]);
  } finally {
    shutDown(workers);
    await Promise.allSettled(runs);
  }
}

function shutDown(workers: Worker[]): void {
  for (const worker of workers) {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  }
}
