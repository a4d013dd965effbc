// The codec server process: shows operators encrypted flows in the Temporal UI and in Temporal's command line.
import { readConfig } from '../../config.ts';
import { connect } from '../../database/pool.ts';
import { requireServiceLogin } from '../../database/serviceLogin.ts';
import { answerVersion } from '../../release.ts';
import { exitWith, onShutdown } from '../../runtime.ts';
import { createLog } from '../../telemetry/log.ts';
import { startCodecServer } from './server.ts';

/** It looks operators up, nothing else. */
const CONNECTIONS_MAX = 2;

answerVersion();
const config = readConfig(process.env);
const log = createLog('codec', config.logLevel);
const sql = connect(config.databaseUrl, { connectionsMax: CONNECTIONS_MAX, closeWhenStalled: true });
await requireServiceLogin(sql, config.databaseUrl, log, exitWith(log));
const server = await startCodecServer({ config, sql, log });
log.info({ port: server.port }, 'listening');

onShutdown(log, async () => {
  await server.close();
  await sql.end({ timeout: 1 });
});
