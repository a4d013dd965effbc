// A worker with fault injection: it runs the real activities, but a test can make them fail, lose their result, or run
// more than once. Everything else is configured as in the service's worker.
import { activityInfo } from '@temporalio/activity';
import { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createAdjustmentActivities } from '../../src/activities/adjustments.ts';
import { createAttentionActivities } from '../../src/activities/attention.ts';
import { createInboundCreditActivities } from '../../src/activities/inboundCredits.ts';
import { createPaymentActivities } from '../../src/activities/payments.ts';
import { createPayoutActivities } from '../../src/activities/payouts.ts';
import { createRecallActivities } from '../../src/activities/recalls.ts';
import { createRefundActivities } from '../../src/activities/refunds.ts';
import { createReviewCaseActivities } from '../../src/activities/reviewCases.ts';
import { createWebhookActivities } from '../../src/activities/webhooks.ts';
import { createWithdrawalActivities } from '../../src/activities/withdrawals.ts';
import type { ApiDependencies } from '../../src/api/dependencies.ts';
import type { Uuid } from '../../src/ids.ts';
import { createRelay } from '../../src/outbox/relay.ts';
import { startFlow, wakeFlow } from '../../src/outbox/startFlow.ts';
import { createDispatcher } from '../../src/webhooks/dispatcher.ts';
import { deliveryFlowId, webhookDeliveryFlow } from '../../src/webhooks/flow.ts';
import { type FlowScope, taskQueueOf } from '../../src/workflows/flows.ts';
import { deliveryChanged } from '../../src/workflows/webhookDelivery/messages.ts';
import { testStack } from './stack.ts';

/** How an activity call is executed. `run` is the real activity, `attempt` counts from 1. */
export type FaultMode = (run: () => Promise<unknown>, attempt: number) => Promise<unknown>;

/** A failure that Temporal retries immediately. */
function fault(message: string): ApplicationFailure {
  return ApplicationFailure.create({ message, type: 'TEST_FAULT', nextRetryDelay: '1 millisecond' });
}

/** More than there are database connections, so that some calls queue. */
const CONCURRENT_RUNS = 20;

/** The key describes what happens to every activity of a flow. */
export const FAULT_MODES = {
  'fails before its effect, then loses its result, then runs twice': async (run, attempt) => {
    if (attempt === 1) throw fault('failed before the activity ran');
    await run();
    if (attempt === 2) throw fault('the result was lost');
    return await run();
  },
  'runs twenty times concurrently': async (run) => {
    const results = await Promise.all(Array.from({ length: CONCURRENT_RUNS }, run));
    return results[0];
  },
} satisfies Record<string, FaultMode>;

/** An activity. The first argument of every activity but `identifyOperator` is the input of its flow. */
type Activity = (input: FlowScope, ...rest: unknown[]) => Promise<unknown>;

/** The activities of the money flows, by name. */
export function moneyActivities(dependencies: ApiDependencies): Record<string, Activity> {
  return {
    ...createPaymentActivities(dependencies),
    ...createInboundCreditActivities(dependencies),
    ...createRecallActivities(dependencies),
    ...createWithdrawalActivities(dependencies),
    ...createRefundActivities(dependencies),
    ...createPayoutActivities(dependencies),
    ...createReviewCaseActivities(dependencies),
    ...createAdjustmentActivities(dependencies),
    ...createAttentionActivities(dependencies),
  } as object as Record<string, Activity>;
}

/** The activities of all flows of an organisation, by name. */
export function flowActivities(dependencies: ApiDependencies): Record<string, Activity> {
  return {
    ...moneyActivities(dependencies),
    ...(createWebhookActivities(deliveryDependenciesOf(dependencies)) as object),
  };
}

const deliveryDependenciesOf = ({ sql, log, config }: ApiDependencies) => ({
  sql,
  log,
  config,
  keyring: config.keyring,
});

/**
 * Starts a worker for these dependencies. `faultModeOf` selects how an activity is executed, by its name and the
 * organisation of its flow.
 */
export async function startFaultInjectingWorker(
  dependencies: ApiDependencies,
  faultModeOf: (organisationId: Uuid, name: string) => FaultMode,
): Promise<{ stop: () => Promise<void> }> {
  const { config, log, asyncCommitSql, sandboxBank } = dependencies;
  const { taskQueue } = config.temporal;
  /** `identifyOperator` has no organisation: another activity of the same flow has run before it. */
  const organisationOf = new Map<string, Uuid>();
  const activities = Object.fromEntries(
    Object.entries(flowActivities(dependencies)).map(([name, activity]) => [
      name,
      (input: FlowScope, ...rest: unknown[]) => {
        const { workflowExecution, attempt } = activityInfo();
        const flow = workflowExecution?.workflowId ?? '';
        const organisationId = input.organisationId ?? organisationOf.get(flow);
        organisationOf.set(flow, organisationId);
        return faultModeOf(organisationId, name)(() => activity(input, ...rest), attempt);
      },
    ]),
  );
  const connection = await NativeConnection.connect({ address: testStack().temporalAddress });
  const common = { connection, activities, workflowBundle: { codePath: testStack().workflowBundlePath } };
  const workers = await Promise.all(
    [taskQueue, taskQueueOf(taskQueue, 'payouts')].map((queue) => Worker.create({ ...common, taskQueue: queue })),
  );
  const client = new Client({ connection });
  const dispatcher = createDispatcher({
    ...deliveryDependenciesOf(dependencies),
    startDelivery: (input, redelivered) => startFlow(client, taskQueue, webhookDeliveryFlow(input, redelivered)),
    wakeDelivery: (input) => wakeFlow(client, deliveryFlowId(input), deliveryChanged.name),
  });
  const loops = [createRelay({ asyncCommitSql, client, taskQueue, dispatcher, log }), sandboxBank.clock()];
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
