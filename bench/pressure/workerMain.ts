// The worker process with a live rail.
import { Runtime } from '@temporalio/worker';
import { readConfig } from '../../src/config.ts';
import { createRuntime, onShutdown } from '../../src/runtime.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { temporalLog } from '../../src/temporal/sdkRuntime.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { withLiveRail } from './liveRail.ts';

const config = readConfig(process.env);
const log = createLog('worker', config.logLevel);
Runtime.install({ shutdownSignals: [], logger: temporalLog(log) });
const runtime = withLiveRail(createRuntime(config, log));
const worker = await startWorker(runtime);

onShutdown(log, async () => {
  await worker.stop();
  await runtime.close();
});
await worker.stopped;
