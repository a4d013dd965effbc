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
  journal: Journal;
  rails: Rails;
  sandboxBank: SandboxBank;
  close: () => Promise<void>;
}

/** How long a closing process waits for statements that are still running, in seconds. */
const CLOSE_TIMEOUT_SECONDS = 5;

export function createFoundation(config: Config, log: Log): Foundation {
  const { keyring } = config;
  const sql = connect(config.databaseUrl, { connectionsMax: config.databaseConnectionsMax });
  const volatileSql = connect(config.databaseUrl, {
    connectionsMax: config.databaseConnectionsMax,
    durability: 'volatile',
  });
  const sandboxBank = new SandboxBank({ sql, keyring, log, ...config.sandboxRail });
  return {
    config,
    log,
    sql,
    volatileSql,
    journal: new Journal(sql),
    rails: new Rails({ test: measuredRail(createSandboxRail(sandboxBank, keyring)) }),
    sandboxBank,
    close: async () => {
      await Promise.all([
        sql.end({ timeout: CLOSE_TIMEOUT_SECONDS }),
        volatileSql.end({ timeout: CLOSE_TIMEOUT_SECONDS }),
      ]);
    },
  };
}
