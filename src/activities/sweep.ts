// The activity of the sweep: restarts the flows of accepted resources that have none.
import { heartbeat } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import { findMissingFlows, restartFlow } from '../recovery/missingFlows.ts';
import { flowsRestarted, sweeps } from '../telemetry/metrics.ts';
import type { SweepActivities, SweepResult } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';

/** Ids in a result. After the loss of all Temporal data a sweep may restart a hundred thousand flows. */
const NAMED_MAX = 50;

export function createSweepActivities({
  sql,
  log,
  client,
  config,
}: Pick<ActivityDependencies, 'sql' | 'log'> & {
  client: Client;
  config: Pick<Config, 'maintenance'>;
}): SweepActivities {
  return {
    async restartMissingFlows(): Promise<SweepResult> {
      const result: SweepResult = { scanned: 0, restartedCount: 0, restarted: [] };
      const onPage = (scanned: number): void => {
        requireTimeLeft(0);
        result.scanned = scanned;
        heartbeat(scanned);
      };
      for await (const missing of findMissingFlows(
        { sql, client },
        { ageMinMs: config.maintenance.sweepAgeMinMs, onPage },
      )) {
        await restartFlow(sql, missing);
        flowsRestarted.inc();
        const { workflow, id } = missing.start.message;
        log.warn({ workflow, workflowId: id }, 'restarted the missing flow of an accepted resource');
        result.restartedCount += 1;
        if (result.restarted.length < NAMED_MAX) result.restarted.push(id);
        heartbeat(result.scanned);
      }
      sweeps.inc();
      return result;
    },
  };
}
