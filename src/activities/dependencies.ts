// The dependencies of activities, created once per worker process.
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import type { Journal } from '../ledger/journal.ts';
import type { Rails } from '../rail/rails.ts';
import type { Log } from '../telemetry/log.ts';

export interface ActivityDependencies {
  sql: Sql;
  journal: Journal;
  rails: Rails;
  log: Log;
  config: Pick<Config, 'attention'>;
}
