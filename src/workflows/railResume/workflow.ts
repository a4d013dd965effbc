// The flow of one resume of a rail, started with the statement that ends the pause; or of news of the balance of a
// contract, started by the callback.
//
//   1. Signal the flows that wait for the rail.   Compensation: none; a flow that finds the rail paused again waits on.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { InstallationScope } from '../flows.ts';
import type { MaintenanceActivities } from '../maintenance/messages.ts';

const { signalPausedFlows } = proxyActivities<Pick<MaintenanceActivities, 'signalPausedFlows'>>({
  // There may be a hundred thousand; the heartbeat detects a worker that died. A retry finds those that still wait.
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

export async function railResume(input: InstallationScope): Promise<{ flows: number }> {
  const result = await signalPausedFlows(input);
  const news = input.organisationId === undefined ? 'is resumed' : 'has another balance';
  setCurrentDetails(`The ${input.environment} rail ${news}: ${result.flows} flows were signalled.`);
  return result;
}
