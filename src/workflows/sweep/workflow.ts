// The sweep, started by its Schedule every half minute.
//
//   1. Find accepted resources without a flow and start their flows again.   Undo: none; a start that was not needed
//      meets an open flow, or one that finds its work done.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { SweepActivities, Swept } from './messages.ts';

const { startMissingFlows } = proxyActivities<SweepActivities>({
  // It pages through everything that is open; a worker that died with it is noticed by the heartbeat.
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

export async function sweep(): Promise<Swept> {
  const swept = await startMissingFlows();
  const flows = swept.started.map((id) => `\n- \`${id}\``).join('');
  setCurrentDetails(`${swept.looked} open resources; ${swept.startedCount} had no flow and got one.${flows}`);
  return swept;
}
