// What every process of the service is built on: connections, the journal and the rails, made from the configuration; and how it
// ends.

import { PROCESS_STOP_MAX_MS } from './concurrency/timeLimits.ts';
import type { Config } from './config.ts';
import { connect, type Sql } from './database/pool.ts';
import { Journal } from './ledger/journal.ts';
import { instrumentedRail } from './rail/instrumented.ts';
import { Rails } from './rail/rails.ts';
import { createSandboxRail } from './rail/sandbox/adapter.ts';
import { SandboxBank } from './rail/sandbox/bank.ts';
import type { Log } from './telemetry/log.ts';

export interface ServiceRuntime {
  config: Config;
  log: Log;
  sql: Sql;
  asyncCommitSql: Sql;
  /** For the long statements of maintenance. */
  maintenanceSql: Sql;
  journal: Journal;
  rails: Rails;
  sandboxBank: SandboxBank;
  close: () => Promise<void>;
}

/** How long a closing process waits for statements that are still running, in seconds. */
const CLOSE_TIMEOUT_SECONDS = 5;

/** Opened when maintenance runs, which is one verification, one reconciliation and one housekeeping at a time. */
const MAINTENANCE_CONNECTIONS_MAX = 3;

export function createRuntime(config: Config, log: Log): ServiceRuntime {
  const { keyring } = config;
  const { databaseUrl, databaseConnectionsMax: connectionsMax } = config;
  const sql = connect(databaseUrl, { connectionsMax, closeWhenStalled: true });
  const asyncCommitSql = connect(databaseUrl, { connectionsMax, closeWhenStalled: true, synchronousCommit: 'off' });
  const maintenanceSql = connect(databaseUrl, { connectionsMax: MAINTENANCE_CONNECTIONS_MAX });
  const pools = [sql, asyncCommitSql, maintenanceSql];
  const sandboxBank = new SandboxBank({ sql, keyring, log, ...config.sandboxRail });
  return {
    config,
    log,
    sql,
    asyncCommitSql,
    maintenanceSql,
    journal: new Journal(sql),
    rails: new Rails({ test: instrumentedRail(createSandboxRail(sandboxBank, keyring)) }),
    sandboxBank,
    close: async () => {
      await Promise.all(pools.map((pool) => pool.end({ timeout: CLOSE_TIMEOUT_SECONDS })));
    },
  };
}

/**
 * Ends the process in order: the first SIGTERM or SIGINT finishes what is under way, within a time limit; a second one ends it at
 * once. Where work was cut off the exit code is 1; what was accepted is safe in the database and goes on in another process.
 */
export function onShutdown(log: Log, close: () => Promise<void>, limitMs: number = PROCESS_STOP_MAX_MS): void {
  let closing = false;
  const end = (signal: NodeJS.Signals): void => {
    if (closing) process.exit(1);
    closing = true;
    log.info({ signal }, 'shutting down');
    setTimeout(() => {
      log.error({ limitMs }, 'what was under way did not end in time; the process ends without it');
      log.flush();
      process.exit(1);
    }, limitMs).unref();
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the shutdown did not go in order');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
}
