// The API process.
import { readConfig } from '../config.ts';
import { requireServiceLogin } from '../database/serviceLogin.ts';
import { createRuntime, exitWith, onShutdown } from '../runtime.ts';
import { createLog } from '../telemetry/log.ts';
import { startTracing } from '../telemetry/tracing.ts';
import { createTemporalHealth } from '../temporal/health.ts';
import { startApi } from './server.ts';

/** Timeout of the health check's call to Temporal. */
const TEMPORAL_ANSWER_MS = 1_000;

const config = readConfig(process.env);
const log = createLog('api', config.logLevel);
const stopTracing = await startTracing(config, 'api');
const runtime = createRuntime(config, log);
await requireServiceLogin(runtime.sql, log, exitWith(log));
const { address, namespace } = config.temporal;
const temporal = createTemporalHealth(address, namespace, TEMPORAL_ANSWER_MS);

const api = await startApi({
  ...runtime,
  keyring: config.keyring,
  temporalIsUp: async () => {
    await temporal.check();
    return true;
  },
});
log.info({ ports: api.ports }, 'listening');

onShutdown(log, async () => {
  await api.close();
  await temporal.close();
  await runtime.close();
  await stopTracing();
});
