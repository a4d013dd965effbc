// The scan for failing flows, started every minute by its Schedule.
//
//   1. List the open flows with a task that fails again and again.   Compensation: none, it changes no flow.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { FailingFlowsActivities, FailingFlowsResult } from './messages.ts';

const { scanForFailingFlows } = proxyActivities<FailingFlowsActivities>({
  // At a bounded rate, so many open flows take long; the heartbeat detects a worker that died.
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

export async function failingFlows(): Promise<FailingFlowsResult> {
  const result = await scanForFailingFlows();
  setCurrentDetails(
    `**${result.failing} failing flows** among ${result.described} described. List them with \`npm run cli -- attention list\`.`,
  );
  return result;
}
