// Versioned deployment: which version of the code a worker says it runs, and which flows go with it. Off without a build id.
import type { WorkerOptions } from '@temporalio/worker';
import type { Config } from '../config.ts';

/**
 * Every flow moves to the current version with its next workflow task (AUTO_UPGRADE). A pinned one would keep to the version
 * that began it, and stand still from the day that its workers are gone: a parked withdrawal may wait for weeks, a webhook
 * is tried for three days, and even a flow of a second parks when the rail is down. That old flows fit new code is held by
 * `patched` and the recorded histories, which are needed anyway for whoever runs without versions (docs/replaying.md).
 */
export function versionOf({ temporal }: Pick<Config, 'temporal'>): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  const { buildId, taskQueue } = temporal;
  if (buildId === '') return {};
  return {
    workerDeploymentOptions: {
      // Installations that share a namespace have a task queue each.
      version: { deploymentName: taskQueue, buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}
