// The sweep's one step: accepted resources that have no flow get theirs again.
import { heartbeat } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import { findMissingFlows, restartFlow } from '../outbox/missingFlows.ts';
import { flowsStartedAgain, sweeps } from '../telemetry/metrics.ts';
import type { SweepActivities, Swept } from '../workflows/sweep/messages.ts';
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
  config: Pick<Config, 'upkeep'>;
}): SweepActivities {
  return {
    async startMissingFlows(): Promise<Swept> {
      const swept: Swept = { looked: 0, startedCount: 0, started: [] };
      const onPage = (looked: number): void => {
        requireTimeLeft(0);
        swept.looked = looked;
        heartbeat(looked);
      };
      for await (const missing of findMissingFlows(
        { sql, client },
        { ageMinMs: config.upkeep.sweepAgeMinMs, onPage },
      )) {
        await restartFlow(journal, missing);
        flowsStartedAgain.inc();
        const { workflow, id } = missing.start.message;
        log.warn({ workflow, workflowId: id }, 'an accepted resource had no flow; it is started again');
        swept.startedCount += 1;
        if (swept.started.length < NAMED_MAX) swept.started.push(id);
        heartbeat(swept.looked);
      }
      sweeps.inc();
      return swept;
    },
  };
}
