// What the request handlers work with, made once for each process.
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import type { Keyring } from '../keyring.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Rails } from '../rail/rails.ts';
import type { SandboxBank } from '../rail/sandbox/bank.ts';
import type { Log } from '../telemetry/log.ts';

export interface ApiDependencies {
  config: Config;
  log: Log;
  keyring: Keyring;
  /** Durable connections: money, resources, reads. */
  sql: Sql;
  /** Connections whose commits do not wait for the disk: in-progress marks and rate counters. */
  asyncCommitSql: Sql;
  journal: Journal;
  rails: Rails;
  /** For the simulations of the test environment. */
  sandboxBank: SandboxBank;
  /** Whether Temporal can start flows; health reports it. */
  temporalIsUp: () => Promise<boolean>;
}
