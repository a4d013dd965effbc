// The activity of a resume, and of news of a balance: signals the flows that wait for the rail.
import { heartbeat } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { requireTimeLeft } from '../concurrency/attempt.ts';
import type { Config } from '../config.ts';
import { signalFlowsOfRail } from '../recovery/pausedFlows.ts';
import type { RailResumeActivities } from '../workflows/railResume/messages.ts';

export const createRailResumeActivities = ({
  client,
  config,
}: {
  client: Client;
  config: Pick<Config, 'temporal'>;
}): RailResumeActivities => ({
  async signalPausedFlows(input) {
    const { taskQueue } = config.temporal;
    const onProgress = (flows: number): void => {
      requireTimeLeft(0);
      heartbeat(flows);
    };
    return { flows: await signalFlowsOfRail(client, input, { taskQueue, onProgress }) };
  },
});
