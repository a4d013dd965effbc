// Resetting a finished flow in the Temporal UI does not affect money: each scenario runs to its end, then its flow is
// reset to every workflow task in turn, and the outcome stays the same, to the kobo, event and bank transfer.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { publicId, type Uuid } from '../../src/ids.ts';
import { TEST_EVENT_TYPE } from '../../src/resources/events.ts';
import { retry } from '../../src/workflows/attention/messages.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { withCode } from '../support/operators.ts';
import { LOOK_PAUSE_MIN_MS, type Outcome, openScenarios, type ScenarioContext } from '../support/scenarioContext.ts';
import { recordingOf, SCENARIO_SETTINGS, SCENARIOS, type ScenarioRun } from '../support/scenarios.ts';
import { violationsOf } from '../support/violations.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

/** The scenarios run concurrently, and each flow is reset about ten times. */
const LIMIT_MS = 900_000;
const SCENARIO_LIMIT_MS = 600_000;

/**
 * Flows of these kinds are reset from each of their endings, except those that leave the rows of another ending and run
 * no step that it does not run; the others, which have many tasks, from the selected ones.
 */
const ALL_ENDINGS = ['payment', 'withdrawal', 'refund', 'inboundCredit'];
/** Each with the ending that contains it. */
const CONTAINED: Record<string, string> = {
  'payment-settled': 'payment-partialThenSettled',
  'payment-expired': 'payment-partialThenExpired',
  'payment-accountClosedLater': 'payment-partialThenSettled',
  'withdrawal-completed': 'withdrawal-completedAfterLostAnswer',
  'withdrawal-returnedLate': 'withdrawal-returned',
};
const SELECTED = [
  'payout-partiallyCompleted',
  'payoutItem-returnedLate',
  'payoutItem-failedByOperators',
  'reviewCase-credited',
  'reviewCase-refusedThenReturnedToSender',
  'reviewCase-breakClosed',
  'hold-released',
  'hold-cancelledByRequest',
  'hold-refusedThenReleased',
  'adjustment-posted',
  'adjustment-refusedThenRejected',
];
const RESET = SCENARIOS.filter((scenario) => {
  const name = recordingOf(scenario);
  return SELECTED.includes(name) || (ALL_ENDINGS.includes(scenario.flow) && !(name in CONTAINED));
});

/** Of the second retry; then twice as long each time, because a busy machine may need longer for a task. */
const RETRY_GAP_MS = 1_000;
const RETRY_REQUEST = { operator: 'ada', reason: 'it was reset' };

let flows: TestFlows;
let receiver: Receiver;
const results = new Map<string, Promise<{ before: Outcome; after: Outcome[] }>>();

beforeAll(async () => {
  flows = await startTestFlows({ settings: SCENARIO_SETTINGS });
  receiver = await startReceiver();
  const openContext = await openScenarios(flows);
  for (const scenario of RESET) {
    const runScenario = async () => {
      const context = await openContext();
      await context.organisation.test.post('/webhook-endpoints', { url: receiver.url });
      const run = await scenario.run(context);
      const before = await context.outcome(run.workflowId, run.path);
      return { before, after: await resetToEachTask(context, run) };
    };
    results.set(`${scenario.flow}: ${scenario.ending}`, runScenario());
  }
  await Promise.allSettled(results.values());
}, LIMIT_MS);

afterAll(async () => {
  const findings = await violationsOf(flows.sql);
  await flows.close();
  await receiver.close();
  expect(findings).toEqual([]);
});

/** Resets the last finished run to each of its workflow tasks. Returns the outcome after each reset. */
async function resetToEachTask(context: ScenarioContext, { workflowId, path }: ScenarioRun): Promise<Outcome[]> {
  const { workflow, workflowService } = flows.temporal;
  const { runId } = await workflow.getHandle(workflowId).describe();
  const { events } = await workflow.getHandle(workflowId, runId).fetchHistory();
  const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
  const outcomes: Outcome[] = [];
  for (const { eventId } of tasks) {
    const reset = await workflowService.resetWorkflowExecution({
      namespace: flows.dependencies.config.temporal.namespace,
      workflowExecution: { workflowId, runId },
      workflowTaskFinishEventId: eventId ?? null,
      reason: 'test',
      requestId: randomUUID(),
    });
    const again = workflow.getHandle(workflowId, reset.runId);
    let retryAt = 0;
    let gapMs = RETRY_GAP_MS;
    const hasEnded = async (): Promise<boolean> => {
      const { status, typedSearchAttributes } = await again.describe();
      if (status.name !== 'RUNNING') return true;
      // A flow reset to the task that parked it is parked again, because the decisions precede that task. An operator's
      // retry makes it check again, and it finds that it has been decided. Not at every look: a flow cannot end in a
      // task during which a signal arrives.
      if (typedSearchAttributes.get(ATTENTION) !== undefined && Date.now() > retryAt) {
        retryAt = Date.now() + gapMs;
        gapMs *= 2;
        await again.signal(retry, await withCode(flows.sql, workflowId, RETRY_REQUEST)).catch((error: unknown) => {
          if (!(error instanceof WorkflowNotFoundError)) throw error; // the flow has already ended
        });
      }
      return false;
    };
    await waitFor(`${workflowId} to end again`, hasEnded, SCENARIO_LIMIT_MS, LOOK_PAUSE_MIN_MS);
    outcomes.push(await context.outcome(workflowId, path));
  }
  return outcomes;
}

test('every event of the scenarios is delivered', async () => {
  const events = await flows.sql<{ id: Uuid }[]>`SELECT id FROM events WHERE type <> ${TEST_EVENT_TYPE}`;
  expect(events.length).toBeGreaterThan(RESET.length);
  await waitFor('all deliveries', () => {
    const got = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
    return Promise.resolve(events.every(({ id }) => got.has(publicId('event', id))));
  });
});

test.each(RESET.map(({ flow, ending }) => `${flow}: ${ending}`))(
  '%s has the same outcome after a reset to every workflow task',
  async (name) => {
    const scenario = await results.get(name);
    expect(scenario?.after.length).toBeGreaterThan(0);
    expect(scenario?.after).toEqual(scenario?.after.map(() => scenario.before));
  },
);
