// The API process.
import { readConfig } from '../config.ts';
import { requireServiceLogin } from '../database/serviceLogin.ts';
import { answerVersion } from '../release.ts';
import { createRuntime, exitWith, onShutdown } from '../runtime.ts';
import { createLog } from '../telemetry/log.ts';
import { startTracing } from '../telemetry/tracing.ts';
import { createTemporalHealth } from '../temporal/health.ts';
import { SEARCH_ATTRIBUTES } from '../workflows/searchAttributes.ts';
import { startApi } from './server.ts';

/** Timeout of the health check's call to Temporal. */
const TEMPORAL_ANSWER_MS = 1_000;
/** At the start, when the connection is not open yet. */
const TEMPORAL_START_MS = 10_000;

answerVersion();
const config = readConfig(process.env);
const log = createLog('api', config.logLevel);
const stopTracing = await startTracing(config.tracing, 'api');
const runtime = createRuntime(config, log);
await requireServiceLogin(runtime.sql, config.databaseUrl, log, exitWith(log));
const temporal = createTemporalHealth(config.temporal, {
  log,
  timeoutMs: TEMPORAL_ANSWER_MS,
  searchAttributes: SEARCH_ATTRIBUTES,
});
void temporal.check(TEMPORAL_START_MS); // its fault is in the log before the first health request

const api = await startApi({
  ...runtime,
  keyring: config.keyring,
  temporalStatus: () => temporal.check(),
});
log.info({ ports: api.ports }, 'listening');

onShutdown(log, async () => {
  await api.close();
  await temporal.close();
  await runtime.close();
  await stopTracing();
});
