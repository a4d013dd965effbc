// The activity of the scan for failing flows.
import { heartbeat } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import { scanFailingFlows } from '../recovery/failingFlows.ts';
import { failingFlowScans } from '../telemetry/metrics.ts';
import type { FailingFlowsActivities } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';

export function createFailingFlowsActivities({
  sql,
  client,
  config,
}: Pick<ActivityDependencies, 'sql'> & {
  client: Client;
  config: Pick<Config, 'attention' | 'temporal'>;
}): FailingFlowsActivities {
  return {
    async scanForFailingFlows() {
      const { activityFailingMs, workflowTaskFailingMs, taskStalledMs } = config.attention;
      const result = await scanFailingFlows(
        { sql, client },
        {
          taskQueue: config.temporal.taskQueue,
          limits: { activityFailingMs, workflowTaskFailingMs, taskStalledMs },
          onProgress: (described) => {
            requireTimeLeft(0);
            heartbeat(described);
          },
        },
      );
      failingFlowScans.inc();
      return result;
    },
  };
}
