// The sweep, started by its Schedule every half minute.
//
//   1. Find accepted resources without a flow and start their flows again.   Undo: none; a start that was not needed
//      meets an open flow, or one that finds its work done.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { SweepActivities, SweepResult } from './messages.ts';

const { restartMissingFlows } = proxyActivities<SweepActivities>({
  // It pages through everything that is open; a worker that died with it is noticed by the heartbeat.
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

export async function sweep(): Promise<SweepResult> {
  const swept = await restartMissingFlows();
  const flows = swept.restarted.map((id) => `\n- \`${id}\``).join('');
  setCurrentDetails(`${swept.scanned} open resources; ${swept.restartedCount} had no flow and got one.${flows}`);
  return swept;
}
