// The API process with a live rail.
import { startApi } from '../../src/api/server.ts';
import { readConfig } from '../../src/config.ts';
import { createRuntime, onShutdown } from '../../src/runtime.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createTemporalHealth } from '../../src/temporal/health.ts';
import { withLiveRail } from './liveRail.ts';

const config = readConfig(process.env);
const log = createLog('api', config.logLevel);
const runtime = withLiveRail(createRuntime(config, log));
const temporal = createTemporalHealth(config.temporal, { log, timeoutMs: 1_000, searchAttributes: [] });
const api = await startApi({ ...runtime, keyring: config.keyring, temporalStatus: () => temporal.check() });

onShutdown(log, async () => {
  await api.close();
  await temporal.close();
  await runtime.close();
});
