// The worker: runs the flows, the outbox relay and the sandbox bank's background loops. Any number may run.
import { Client } from '@temporalio/client';
import { NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { createAdjustmentActivities } from '../activities/adjustments.ts';
import { createAttentionActivities } from '../activities/attention.ts';
import { createCreditPollingActivities } from '../activities/creditPolling.ts';
import { createHousekeepingActivities } from '../activities/housekeeping.ts';
import { createInboundCreditActivities } from '../activities/inboundCredits.ts';
import { createLedgerSealingActivities } from '../activities/ledgerSealing.ts';
import { createLedgerVerificationActivities } from '../activities/ledgerVerification.ts';
import { createPaymentActivities } from '../activities/payments.ts';
import { createPayoutActivities } from '../activities/payouts.ts';
import { createRecallActivities } from '../activities/recalls.ts';
import { createReconciliationActivities } from '../activities/reconciliation.ts';
import { createRefundActivities } from '../activities/refunds.ts';
import { createReviewCaseActivities } from '../activities/reviewCases.ts';
import { createSweepActivities } from '../activities/sweep.ts';
import { createWebhookActivities } from '../activities/webhooks.ts';
import { createWithdrawalActivities } from '../activities/withdrawals.ts';
import { WORKER_FORCE_MS, WORKER_GRACE_MS } from '../concurrency/timeLimits.ts';
import { createRelay } from '../outbox/relay.ts';
import { startFlow, wakeFlow } from '../outbox/startFlow.ts';
import type { ServiceRuntime } from '../runtime.ts';
import { startMetricsServer } from '../telemetry/metricsServer.ts';
import { isTracing } from '../telemetry/tracing.ts';
import { createDispatcher } from '../webhooks/dispatcher.ts';
import { deliveryFlowId, webhookDeliveryFlow } from '../webhooks/flow.ts';
import { taskQueueOf } from '../workflows/flows.ts';
import { deliveryChanged } from '../workflows/webhookDelivery/messages.ts';
import { logIdsOfActivity } from './activityLog.ts';
import { attemptOfActivity } from './attempts.ts';
import { databaseGauges, parkedFlowGauges } from './backlogGauges.ts';
import { FLOWS_CAPACITY, PAYOUTS_CAPACITY } from './capacity.ts';
import { restoreSchedules, syncSchedules } from './schedules.ts';
import { TRACED_WORKFLOWS, traceOfActivity, traceOfClient, traceSinks } from './tracing.ts';
import { versionOf } from './versioning.ts';
import { bundleWorkflows } from './workflowBundle.ts';

export interface RunningWorker {
  /** Resolves when the worker has stopped; rejects when it failed. */
  stopped: Promise<void>;
  /** Accepts no more work and finishes what is in progress. */
  stop: () => Promise<void>;
}

const CONNECT_RETRY_MS = 500;

/** Connects, retrying until Temporal responds, and starts the worker. The default bundle is that of src/workflows. */
export async function startWorker(
  runtime: Omit<ServiceRuntime, 'close'>,
  workflowBundle?: WorkerOptions['workflowBundle'],
): Promise<RunningWorker> {
  const { config, log, sql, asyncCommitSql } = runtime;
  const maintenance = { ...runtime, sql: runtime.maintenanceSql };
  const { address, namespace, taskQueue } = config.temporal;
  // First, so that metrics are available while the worker waits for Temporal.
  const metrics = await startMetrics(runtime);
  const connection = await connectWithRetry(address, (error) =>
    log.warn({ err: error, address }, 'Temporal is unreachable; retrying'),
  );
  const client = new Client({
    connection,
    namespace,
    ...(isTracing() && { interceptors: { workflow: [traceOfClient] } }),
  });
  metrics?.server.add(parkedFlowGauges(client));
  const dispatcher = createDispatcher({
    sql,
    keyring: config.keyring,
    config,
    log,
    startDelivery: (input, change) => startFlow(client, taskQueue, webhookDeliveryFlow(input, change)),
    wakeDelivery: (input) => wakeFlow(client, deliveryFlowId(input), deliveryChanged.name),
  });
  const closing = new AbortController();
  const common = {
    connection,
    namespace,
    interceptors: {
      activity: [...(isTracing() ? [traceOfActivity] : []), logIdsOfActivity, attemptOfActivity(closing.signal)],
    },
    ...(isTracing() && { sinks: traceSinks }),
    ...versionOf(config),
    shutdownGraceTime: WORKER_GRACE_MS,
    shutdownForceTime: WORKER_FORCE_MS,
    workflowBundle: workflowBundle ?? (await buildBundle()),
  };
  const worker = await Worker.create({
    ...common,
    taskQueue,
    activities: {
      ...createAttentionActivities(runtime),
      ...createPaymentActivities(runtime),
      ...createInboundCreditActivities(runtime),
      ...createRecallActivities(runtime),
      ...createWithdrawalActivities(runtime),
      ...createRefundActivities(runtime),
      ...createReviewCaseActivities(runtime),
      ...createAdjustmentActivities(runtime),
      ...createSweepActivities({ ...runtime, client }),
      ...createLedgerSealingActivities(maintenance),
      ...createLedgerVerificationActivities(maintenance),
      ...createHousekeepingActivities(maintenance),
      ...createReconciliationActivities(maintenance),
      ...createCreditPollingActivities(maintenance),
      ...createWebhookActivities({ sql, keyring: config.keyring, config, log }),
    },
    ...FLOWS_CAPACITY,
  });
  const payoutWorker = await Worker.create({
    ...common,
    taskQueue: taskQueueOf(taskQueue, 'payouts'),
    activities: { ...createAttentionActivities(runtime), ...createPayoutActivities(runtime) },
    ...PAYOUTS_CAPACITY,
  });
  const relay = createRelay({ asyncCommitSql, client, taskQueue, dispatcher, log });
  const bank = runtime.sandboxBank.clock();
  if (config.maintenance.schedules) await syncSchedules(client, config);
  const schedules = config.maintenance.schedules ? restoreSchedules(client, config, log) : null;
  relay.start();
  bank.start();
  const stopLoops = async (): Promise<void> => {
    await Promise.all([relay.stop(), bank.stop(), schedules?.stop()]);
  };
  const run = async (): Promise<void> => {
    try {
      await runAll([worker, payoutWorker]);
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
      closing.abort();
      shutDown([worker, payoutWorker]);
      await stopLoops();
      await stopped;
    },
  };
}

/** Starts the metrics listener with the database gauges; null when none is configured. */
async function startMetrics({ config, log, rails }: Pick<ServiceRuntime, 'config' | 'log' | 'rails'>) {
  const { ports, bindAddress } = config.metrics;
  if (ports.worker === null) return null;
  const server = await startMetricsServer({ port: ports.worker, bindAddress, log });
  const database = databaseGauges(config.databaseUrl, rails);
  server.add(database);
  return {
    server,
    close: async (): Promise<void> => {
      await server.close();
      await database.close();
    },
  };
}

const buildBundle = () =>
  bundleWorkflows({ interceptors: isTracing() ? [TRACED_WORKFLOWS] : [], logger: Runtime.instance().logger });

/** Runs workers until all have stopped. When one fails, all are shut down: a process must not poll only one queue. */
async function runAll(workers: Worker[]): Promise<void> {
  const runs = workers.map((worker) => worker.run());
  try {
    await Promise.all(runs);
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

async function connectWithRetry(address: string, onFailure: (error: unknown) => void): Promise<NativeConnection> {
  for (;;) {
    try {
      return await NativeConnection.connect({ address });
    } catch (error) {
      onFailure(error);
      await new Promise((resolve) => setTimeout(resolve, CONNECT_RETRY_MS));
    }
  }
}
