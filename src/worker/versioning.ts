// Worker versioning: the deployment version of a worker, and the versioning behaviour of flows. Off without a build id.
import type { WorkerOptions } from '@temporalio/worker';
import type { Config } from '../config.ts';

/**
 * Every flow moves to the current version with its next workflow task (AUTO_UPGRADE). A pinned flow would stay on the
 * version that started it and stop as soon as that version's workers are removed: a parked withdrawal may wait for
 * weeks, a webhook is retried for three days, and even a flow of one second parks while the rail is down. Compatibility
 * of old flows with new code is ensured by `patched` and the recorded histories, which are also needed for deployments
 * without versioning (docs/replaying.md).
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
