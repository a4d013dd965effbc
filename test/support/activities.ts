// A worker that runs the real activities in a way of the test's own: failing them, losing their answers, running them more
// than once. All the rest of it is as the service runs it.
import { activityInfo } from '@temporalio/activity';
import { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createAttentionActivities } from '../../src/activities/attention.ts';
import { createInboundCreditActivities } from '../../src/activities/inboundCredits.ts';
import { createPaymentActivities } from '../../src/activities/payments.ts';
import { createPayoutActivities } from '../../src/activities/payouts.ts';
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

/** How one call of an activity is run. `run` is the real activity, `attempt` counts from 1. */
export type FaultMode = (run: () => Promise<unknown>, attempt: number) => Promise<unknown>;

/** Fails, to be tried again at once. */
function fault(what: string): ApplicationFailure {
  return ApplicationFailure.create({ message: what, type: 'TEST_FAULT', nextRetryDelay: '1 millisecond' });
}

/** As many at once as there are connections, and then some more in the queue. */
const AT_ONCE = 20;

/** By what it does to every step of a flow. */
export const FAULT_MODES = {
  'fails before its effect, then loses its answer, then runs twice': async (run, attempt) => {
    if (attempt === 1) throw fault('failed before it began');
    await run();
    if (attempt === 2) throw fault('the answer was lost');
    return await run();
  },
  'runs twenty times at once': async (run) => {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, run));
    return answers[0];
  },
} satisfies Record<string, FaultMode>;

/** An activity as a worker sees it: the first argument of every one is the input of its flow. */
type Activity = (input: FlowScope, ...rest: unknown[]) => Promise<unknown>;

/** All activities on money, by name. */
export function moneyActivities(services: ApiDependencies): Record<string, Activity> {
  return {
    ...createPaymentActivities(services),
    ...createInboundCreditActivities(services),
    ...createWithdrawalActivities(services),
    ...createRefundActivities(services),
    ...createPayoutActivities(services),
    ...createReviewCaseActivities(services),
    ...createAttentionActivities(services),
  } as object as Record<string, Activity>;
}

/** All activities that a flow of an organisation takes, by name. */
export function flowActivities(services: ApiDependencies): Record<string, Activity> {
  return { ...moneyActivities(services), ...(createWebhookActivities(courierOf(services)) as object) };
}

const courierOf = ({ sql, log, config }: ApiDependencies) => ({ sql, log, config, keyring: config.keyring });

/**
 * Runs the flows of these services. `conductOf` chooses how an activity is run, by its name and the organisation whose
 * flow it belongs to.
 */
export async function startFaultInjectingWorker(
  services: ApiDependencies,
  conductOf: (organisationId: Uuid, name: string) => FaultMode,
): Promise<{ stop: () => Promise<void> }> {
  const { config, log, asyncCommitSql, sandboxBank } = services;
  const { taskQueue } = config.temporal;
  const activities = Object.fromEntries(
    Object.entries(flowActivities(services)).map(([name, activity]) => [
      name,
      (input: FlowScope, ...rest: unknown[]) =>
        conductOf(input.organisationId, name)(() => activity(input, ...rest), activityInfo().attempt),
    ]),
  );
  const connection = await NativeConnection.connect({ address: testStack().temporalAddress });
  const common = { connection, activities, workflowBundle: { codePath: testStack().workflowBundlePath } };
  const workers = await Promise.all(
    [taskQueue, taskQueueOf(taskQueue, 'payouts')].map((queue) => Worker.create({ ...common, taskQueue: queue })),
  );
  const client = new Client({ connection });
  const dispatcher = createDispatcher({
    ...courierOf(services),
    startDelivery: (input, news) => startFlow(client, taskQueue, webhookDeliveryFlow(input, news)),
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
