// The dependencies of the request handlers, created once per process.
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import type { Keyring } from '../keyring.ts';
import type { FeeSchedules } from '../ledger/fees.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Rails } from '../rail/rails.ts';
import type { SandboxBank } from '../rail/sandbox/bank.ts';
import type { Log } from '../telemetry/log.ts';
import type { TemporalStatus } from '../temporal/health.ts';

export interface ApiDependencies {
  config: Config;
  log: Log;
  keyring: Keyring;
  /** Durable connections: money, resources, reads. */
  sql: Sql;
  /** Connections whose commits do not wait for the disk: rate counters. */
  asyncCommitSql: Sql;
  journal: Journal;
  rails: Rails;
  /** By the name of the rail. */
  fees: FeeSchedules;
  /** For the simulation routes of the test environment. */
  sandboxBank: SandboxBank;
  /** Whether Temporal can start flows, for the health check. A rejection counts as `unreachable`. */
  temporalStatus: () => Promise<TemporalStatus>;
}
