// The runtime of every process of the service: connection pools, the journal and the rails, created from the
// configuration; and the graceful shutdown.
import type { Notice } from 'postgres';
import { PROCESS_STOP_MAX_MS } from './concurrency/timeLimits.ts';
import type { Config } from './config.ts';
import { connect, type Sql } from './database/pool.ts';
import { createFeeDirectory, type FeeDirectory } from './ledger/feeSchedules.ts';
import { Journal } from './ledger/journal.ts';
import { ConnectedContracts } from './rail/contracts.ts';
import { type Breakers, guardedRail } from './rail/guarded.ts';
import type { BankRail } from './rail/port.ts';
import { Rails } from './rail/rails.ts';
import { createSandboxRail } from './rail/sandbox/adapter.ts';
import { SandboxBank } from './rail/sandbox/bank.ts';
import { sandboxCapabilities } from './rail/sandbox/capabilities.ts';
import type { Log } from './telemetry/log.ts';

export interface ServiceRuntime {
  config: Config;
  log: Log;
  /** Durable connections: money, resources, reads. */
  sql: Sql;
  /** Connections whose commits do not wait for the disk, such as those of rate counters. */
  asyncCommitSql: Sql;
  /** For the long statements of maintenance: it has no statement timeout and no stall timeout. */
  maintenanceSql: Sql;
  journal: Journal;
  rails: Rails;
  fees: FeeDirectory;
  sandboxBank: SandboxBank;
  close: () => Promise<void>;
}

/** How long `close` waits for running statements, in seconds. */
const CLOSE_TIMEOUT_SECONDS = 5;

/** One each for verification, reconciliation and retention. They are opened on first use. */
const MAINTENANCE_CONNECTIONS_MAX = 3;

export function createRuntime(config: Config, log: Log): ServiceRuntime {
  const { keyring } = config;
  const { databaseUrl, databaseConnectionsMax: connectionsMax } = config;
  const onNotice = logNotices(log);
  const options = { connectionsMax, closeWhenStalled: true, onNotice };
  const sql = connect(databaseUrl, options);
  const asyncCommitSql = connect(databaseUrl, { ...options, synchronousCommit: 'off' });
  const maintenanceSql = connect(databaseUrl, { connectionsMax: MAINTENANCE_CONNECTIONS_MAX, onNotice });
  const pools = [sql, asyncCommitSql, maintenanceSql];
  const breakers: Breakers = new Map();
  const guarded = (rail: BankRail): BankRail => guardedRail(rail, breakers);
  const sandboxBank = new SandboxBank({
    sql,
    keyring,
    log,
    ...config.sandboxRail,
    capabilities: sandboxCapabilities(config.sandboxRail),
  });
  const contracts = new ConnectedContracts({
    sql: asyncCommitSql,
    keyring,
    guard: guarded,
    checkRequired: config.railCheckRequired,
  });
  return {
    config,
    log,
    sql,
    asyncCommitSql,
    maintenanceSql,
    journal: new Journal(sql, config.journalStatementsMax),
    rails: new Rails({ test: guarded(createSandboxRail(sandboxBank, keyring)) }, contracts),
    fees: createFeeDirectory(asyncCommitSql),
    sandboxBank,
    close: async () => {
      await Promise.all(pools.map((pool) => pool.end({ timeout: CLOSE_TIMEOUT_SECONDS })));
    },
  };
}

/** Warnings of Postgres, such as a changed collation, are logged as warnings; other notices only for debugging. */
const logNotices =
  (log: Log) =>
  ({ severity = '', code, message = '' }: Notice): void => {
    log[severity === 'WARNING' ? 'warn' : 'debug']({ code, notice: message }, 'notice from Postgres');
  };

/** Ends the process at once on an error that it cannot run with. */
export const exitWith =
  (log: Log) =>
  (error: Error): void => {
    log.fatal({ err: error }, error.message);
    log.flush();
    process.exit(1);
  };

/**
 * Graceful shutdown: the first SIGTERM or SIGINT calls `close`, which has `limitMs` to finish the work in progress; a
 * second signal exits at once. The exit code is 1 when work was cut off. Accepted work is durable in the database and
 * continues in another process.
 */
export function onShutdown(log: Log, close: () => Promise<void>, limitMs: number = PROCESS_STOP_MAX_MS): void {
  let closing = false;
  const end = (signal: NodeJS.Signals): void => {
    if (closing) process.exit(1);
    closing = true;
    log.info({ signal }, 'shutting down');
    setTimeout(() => {
      log.error({ limitMs }, 'shutdown timed out; exiting with work unfinished');
      log.flush();
      process.exit(1);
    }, limitMs).unref();
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'shutdown failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
}
