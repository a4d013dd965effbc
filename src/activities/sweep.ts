// The sweep's one step: accepted resources that have no flow get theirs again.
import { heartbeat } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import { findMissingFlows, restartFlow } from '../outbox/missingFlows.ts';
import { flowsRestarted, sweeps } from '../telemetry/metrics.ts';
import type { SweepActivities, SweepResult } from '../workflows/sweep/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';

/** Ids in a result stay few: a whole Temporal that was lost may bring back a hundred thousand flows. */
const NAMED_MAX = 50;

export function createSweepActivities({
  sql,
  journal,
  log,
  client,
  config,
}: Pick<ActivityDependencies, 'sql' | 'journal' | 'log'> & {
  client: Client;
  config: Pick<Config, 'maintenance'>;
}): SweepActivities {
  return {
    async restartMissingFlows(): Promise<SweepResult> {
      const swept: SweepResult = { scanned: 0, restartedCount: 0, restarted: [] };
      const onPage = (looked: number): void => {
        requireTimeLeft(0);
        swept.scanned = looked;
        heartbeat(looked);
      };
      for await (const missing of findMissingFlows(
        { sql, client },
        { ageMinMs: config.maintenance.sweepAgeMinMs, onPage },
      )) {
        await restartFlow(journal, missing);
        flowsRestarted.inc();
        const { workflow, id } = missing.start.message;
        log.warn({ workflow, workflowId: id }, 'an accepted resource had no flow; it is started again');
        swept.restartedCount += 1;
        if (swept.restarted.length < NAMED_MAX) swept.restarted.push(id);
        heartbeat(swept.scanned);
      }
      sweeps.inc();
      return swept;
    },
  };
}
