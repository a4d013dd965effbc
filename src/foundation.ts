// What every process of the service stands on: connections, the journal and the rails, made from the configuration.
import type { Config } from './config.ts';
import { connect, type Sql } from './database.ts';
import { Journal } from './ledger/journal.ts';
import type { Log } from './log.ts';
import { measuredRail } from './rail/measuredRail.ts';
import { Rails } from './rail/rails.ts';
import { SandboxBank } from './rail/sandbox/bank.ts';
import { createSandboxRail } from './rail/sandbox/rail.ts';

export interface Foundation {
  config: Config;
  log: Log;
  sql: Sql;
  volatileSql: Sql;
  /** For the long statements of upkeep. */
  patientSql: Sql;
  journal: Journal;
  rails: Rails;
  sandboxBank: SandboxBank;
  close: () => Promise<void>;
}

/** How long a closing process waits for statements that are still running, in seconds. */
const CLOSE_TIMEOUT_SECONDS = 5;

/** Opened when upkeep runs, which is one verification, one reconciliation and one housekeeping at a time. */
const UPKEEP_CONNECTIONS_MAX = 3;

export function createFoundation(config: Config, log: Log): Foundation {
  const { keyring } = config;
  const { databaseUrl, databaseConnectionsMax: connectionsMax } = config;
  const sql = connect(databaseUrl, { connectionsMax, temper: 'restless' });
  const volatileSql = connect(databaseUrl, { connectionsMax, temper: 'restless', durability: 'volatile' });
  const patientSql = connect(databaseUrl, { connectionsMax: UPKEEP_CONNECTIONS_MAX });
  const pools = [sql, volatileSql, patientSql];
  const sandboxBank = new SandboxBank({ sql, keyring, log, ...config.sandboxRail });
  return {
    config,
    log,
    sql,
    volatileSql,
    patientSql,
    journal: new Journal(sql),
    rails: new Rails({ test: measuredRail(createSandboxRail(sandboxBank, keyring)) }),
    sandboxBank,
    close: async () => {
      await Promise.all(pools.map((pool) => pool.end({ timeout: CLOSE_TIMEOUT_SECONDS })));
    },
  };
}
