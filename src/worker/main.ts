// The worker process.
import { Runtime } from '@temporalio/worker';
import { readConfig } from '../config.ts';
import { requireServiceLogin } from '../database/serviceLogin.ts';
import { answerVersion } from '../release.ts';
import { createRuntime, exitWith, onShutdown } from '../runtime.ts';
import { createLog } from '../telemetry/log.ts';
import { startTracing } from '../telemetry/tracing.ts';
import { installWithMetrics, temporalLog } from '../temporal/sdkRuntime.ts';
import { startWorker } from './worker.ts';

answerVersion();
const config = readConfig(process.env);
const log = createLog('worker', config.logLevel);
// No shutdown signals: onShutdown handles them, for the relay as well as for the SDK's worker.
const options = { shutdownSignals: [], logger: temporalLog(log) };
if (config.metrics.ports.worker === null) Runtime.install(options);
else await installWithMetrics(options);
const stopTracing = await startTracing(config.tracing, 'worker');
const runtime = createRuntime(config, log);
await requireServiceLogin(runtime.sql, config.databaseUrl, log, exitWith(log));
const worker = await startWorker(runtime);
log.info({ taskQueue: config.temporal.taskQueue, roles: config.worker.roles }, 'worker started');

onShutdown(log, async () => {
  await worker.stop();
  await runtime.close();
  await stopTracing();
});
await worker.stopped;
