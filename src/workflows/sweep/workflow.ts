// The sweep, started every 30 seconds by its Schedule.
//
//   1. Find accepted resources without a flow and restart their flows.   Compensation: none; an unnecessary start has
//      no effect on a running flow, and a new run of a flow whose work is done ends at once.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { SweepActivities, SweepResult } from './messages.ts';

const { restartMissingFlows } = proxyActivities<SweepActivities>({
  // It pages through all open resources; the heartbeat detects a worker that died.
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

export async function sweep(): Promise<SweepResult> {
  const result = await restartMissingFlows();
  const flows = result.restarted.map((id) => `\n- \`${id}\``).join('');
  setCurrentDetails(`${result.scanned} open resources; ${result.restartedCount} missing flows restarted.${flows}`);
  return result;
}
