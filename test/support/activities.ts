// A worker with fault injection: it runs the real activities, but a test can make them fail, lose their result, or run
// more than once. Everything else is configured as in the service's worker.
import { activityInfo } from '@temporalio/activity';
import { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createMoneyActivities } from '../../src/activities/moneyActivities.ts';
import type { ApiDependencies } from '../../src/api/dependencies.ts';
import type { Uuid } from '../../src/ids.ts';
import { createRelay } from '../../src/outbox/relay.ts';
import { createDispatcher } from '../../src/webhooks/dispatcher.ts';
import { type FlowScope, taskQueuesOf } from '../../src/workflows/flows.ts';
import { testStack } from './stack.ts';

/** How an activity call is executed. `run` is the real activity, `attempt` counts from 1. */
export type FaultMode = (run: () => Promise<unknown>, attempt: number) => Promise<unknown>;

/** A failure that Temporal retries immediately. */
function fault(message: string): ApplicationFailure {
  return ApplicationFailure.create({ message, type: 'TEST_FAULT', nextRetryDelay: '1 millisecond' });
}

/** More than there are database connections, so that some calls queue. */
const CONCURRENT_RUNS = 20;

/**
 * What happens to every activity of a flow: it fails before it runs, then runs many times at once and its result is
 * lost, then it runs twice more.
 */
export const FAILS_AND_REPEATS: FaultMode = async (run, attempt) => {
  if (attempt === 1) throw fault('failed before the activity ran');
  if (attempt === 2) {
    await Promise.all(Array.from({ length: CONCURRENT_RUNS }, run));
    throw fault('the result was lost');
  }
  await run();
  return await run();
};

/** An activity. The first argument of every activity is the input of its flow. It needs the ids alone. */
type Activity = (input: FlowScope, ...rest: unknown[]) => Promise<unknown>;

/** The activities of the money flows, by name. */
export const moneyActivities = (dependencies: ApiDependencies) =>
  createMoneyActivities(dependencies) as object as Record<string, Activity>;

/** The rest of an input is what a history shows: a client of Temporal can write it. */
function idsOf({ organisationId, environment, ...input }: FlowScope & { walletId?: string }): FlowScope {
  const ids = Object.entries(input).filter(([name]) => name.endsWith('Id') && name !== 'walletId');
  return { organisationId, environment, ...Object.fromEntries(ids) };
}

/**
 * Starts a worker for these dependencies, whose activities get no more than the ids of their input. `faultModeOf`
 * selects how an activity is executed, by its name and the organisation of its flow.
 */
export async function startFaultInjectingWorker(
  dependencies: ApiDependencies,
  faultModeOf: (organisationId: Uuid, name: string) => FaultMode,
): Promise<{ stop: () => Promise<void> }> {
  const { config, log, asyncCommitSql, sandboxBank } = dependencies;
  const { taskQueue } = config.temporal;
  const activities = Object.fromEntries(
    Object.entries(moneyActivities(dependencies)).map(([name, activity]) => [
      name,
      (input: FlowScope, ...rest: unknown[]) => {
        const { attempt } = activityInfo();
        return faultModeOf(input.organisationId, name)(() => activity(idsOf(input), ...rest), attempt);
      },
    ]),
  );
  const connection = await NativeConnection.connect({ address: testStack().temporalAddress });
  const common = { connection, activities, workflowBundle: { codePath: testStack().workflowBundlePath } };
  const workers = await Promise.all(
    taskQueuesOf(taskQueue).map((queue) => Worker.create({ ...common, taskQueue: queue })),
  );
  const client = new Client({ connection });
  const { dispatchEvent, retries } = createDispatcher({ ...dependencies, keyring: config.keyring });
  const loops = [createRelay({ asyncCommitSql, client, taskQueue, dispatchEvent, log }), retries, sandboxBank.clock()];
  for (const loop of loops) loop.start();
  const runs = workers.map((worker) => worker.run());
  return {
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
      for (const worker of workers) worker.shutdown();
      await Promise.all(runs);
      await connection.close();
    },
  };
}
