// The activities that find flows in need: without a run, with a task that keeps failing, or waiting for the rail.
import { heartbeat } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import { scanFailingFlows } from '../recovery/failingFlows.ts';
import { findMissingFlows, restartFlow } from '../recovery/missingFlows.ts';
import { signalFlowsOfRail } from '../recovery/pausedFlows.ts';
import { endRepaidCases } from '../recovery/repaidDebts.ts';
import { failingFlowScans, flowsRestarted, sweeps } from '../telemetry/metrics.ts';
import type { MaintenanceActivities, SweepResult } from '../workflows/maintenance/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';

/** Ids in a result. After the loss of all Temporal data a sweep may restart a hundred thousand flows. */
const NAMED_MAX = 50;

type Dependencies = Pick<ActivityDependencies, 'sql' | 'journal' | 'log'> & {
  client: Client;
  config: Pick<Config, 'attention' | 'maintenance' | 'temporal'>;
};

type RecoveryActivities = Pick<
  MaintenanceActivities,
  'restartMissingFlows' | 'scanForFailingFlows' | 'signalPausedFlows'
>;

export function createRecoveryActivities({ sql, journal, log, client, config }: Dependencies): RecoveryActivities {
  const { taskQueue } = config.temporal;
  const onProgress = (flows: number): void => {
    requireTimeLeft(0);
    heartbeat(flows);
  };
  return {
    async restartMissingFlows() {
      const result: SweepResult = { scanned: 0, restartedCount: 0, restarted: [] };
      const onPage = (scanned: number): void => {
        result.scanned = scanned;
        onProgress(scanned);
      };
      const { sweepAgeMinMs: ageMinMs } = config.maintenance;
      for await (const missing of findMissingFlows({ sql, client }, { ageMinMs, onPage })) {
        await restartFlow(sql, missing);
        flowsRestarted.inc();
        const { workflow, id } = missing.start.message;
        log.warn({ workflow, workflowId: id }, 'restarted the missing flow of an accepted resource');
        result.restartedCount += 1;
        if (result.restarted.length < NAMED_MAX) result.restarted.push(id);
        heartbeat(result.scanned);
      }
      await endRepaidCases(sql, journal);
      sweeps.inc();
      return result;
    },

    async scanForFailingFlows() {
      const result = await scanFailingFlows({ sql, client }, { taskQueue, limits: config.attention, onProgress });
      failingFlowScans.inc();
      return result;
    },

    signalPausedFlows: async (input) => ({
      flows: await signalFlowsOfRail({ sql, client }, input, { taskQueue, onProgress }),
    }),
  };
}
