// The workflow of someone who has access to Temporal and nothing else: it schedules any activity of the service.
import { proxyActivities } from '@temporalio/workflow';

export async function ownWorkflow(taskQueue: string, activity: string, args: unknown[]): Promise<unknown> {
  const { [activity]: run } = proxyActivities<Record<string, (...args: unknown[]) => Promise<unknown>>>({
    taskQueue,
    startToCloseTimeout: '20 seconds',
    retry: { maximumAttempts: 2, initialInterval: '10 milliseconds' },
  });
  return await run?.(...args);
}
