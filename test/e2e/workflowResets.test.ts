// Resetting a finished flow from the Temporal UI cannot break money: each story is played to its end, then its flow is
// reset to every workflow task in turn, and what it left behind stays the same, to the kobo, event and bank transfer.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { publicId, type Uuid } from '../../src/ids.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { TEST_EVENT_TYPE } from '../../src/resources/events.ts';
import { retry } from '../../src/workflows/attention/messages.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { LOOK_PAUSE_MIN_MS, type Outcome, openScenarios, type ScenarioContext } from '../support/scenarioContext.ts';
import { recordingOf, SCENARIO_SETTINGS, SCENARIOS, type ScenarioRun, SIDE_SCENARIOS } from '../support/scenarios.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

/** The stories play at the same time, and each flow is reset some ten times. */
const LIMIT_MS = 900_000;
const STORY_LIMIT_MS = 180_000;

/** Flows of these kinds are reset from each of their endings; of the others, with their many tasks, from these. */
const WHOLE = ['payment', 'withdrawal', 'refund', 'inboundCredit'];
const CHOSEN = [
  'payout-partiallyCompleted',
  'payoutItem-returnedLate',
  'payoutItem-failedByOperators',
  'payoutPage-completed',
  'reviewCase-credited',
  'reviewCase-refusedThenReturnedToSender',
  'reviewCase-breakClosed',
  'webhookDelivery-deliveredAfterRetries',
];
const RESET = [...SCENARIOS, ...SIDE_SCENARIOS].filter(
  (story) => WHOLE.includes(story.flow) || CHOSEN.includes(recordingOf(story)),
);

const FREED = { operator: 'ada', reason: 'it was reset' };

let flows: TestFlows;
let receiver: Receiver;
const told = new Map<string, Promise<{ before: Outcome; after: Outcome[] }>>();

beforeAll(async () => {
  flows = await startTestFlows({ settings: SCENARIO_SETTINGS });
  receiver = await startReceiver();
  const openStage = await openScenarios(flows);
  for (const story of RESET) {
    const tell = async () => {
      const stage = await openStage();
      await stage.organisation.test.post('/webhook-endpoints', { url: receiver.url });
      const played = await story.run(stage);
      const before = await stage.outcome(played.workflowId, played.path);
      return { before, after: await resetToEachTask(stage, played) };
    };
    told.set(`${story.flow}: ${story.ending}`, tell());
  }
  await Promise.allSettled(told.values());
}, LIMIT_MS);

afterAll(async () => {
  const { findings } = await verifyLedger(flows.sql);
  await flows.close();
  await receiver.close();
  expect(findings).toEqual([]);
});

/** Resets the last finished run to each of its workflow tasks. Answers what there was after each time. */
async function resetToEachTask(stage: ScenarioContext, { workflowId, path }: ScenarioRun): Promise<Outcome[]> {
  const { workflow, workflowService } = flows.temporal;
  const { runId } = await workflow.getHandle(workflowId).describe();
  const { events } = await workflow.getHandle(workflowId, runId).fetchHistory();
  const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
  const outcomes: Outcome[] = [];
  for (const { eventId } of tasks) {
    const reset = await workflowService.resetWorkflowExecution({
      namespace: flows.services.config.temporal.namespace,
      workflowExecution: { workflowId, runId },
      workflowTaskFinishEventId: eventId ?? null,
      reason: 'a person wanted to see what happens',
      requestId: randomUUID(),
    });
    const again = workflow.getHandle(workflowId, reset.runId);
    const ended = async (): Promise<boolean> => {
      const { status, typedSearchAttributes } = await again.describe();
      if (status.name !== 'RUNNING') return true;
      // Reset to the task that parked it, it is parked again: the decisions come before it asks for them. An operator has
      // it look once more, and it finds that it is decided.
      if (typedSearchAttributes.get(ATTENTION) !== undefined) {
        await again.signal(retry, FREED).catch((error: unknown) => {
          if (!(error instanceof WorkflowNotFoundError)) throw error; // it has ended meanwhile
        });
      }
      return false;
    };
    await waitFor(`${workflowId} to end again`, ended, STORY_LIMIT_MS, LOOK_PAUSE_MIN_MS);
    outcomes.push(await stage.outcome(workflowId, path));
  }
  return outcomes;
}

test('every event of it all was delivered', async () => {
  const events = await flows.sql<{ id: Uuid }[]>`SELECT id FROM events WHERE type <> ${TEST_EVENT_TYPE}`;
  expect(events.length).toBeGreaterThan(RESET.length);
  await waitFor('all deliveries', () => {
    const got = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
    return Promise.resolve(events.every(({ id }) => got.has(publicId('event', id))));
  });
});

test.each(RESET.map(({ flow, ending }) => `${flow}: ${ending}`))('%s, reset to every workflow task', async (name) => {
  const story = await told.get(name);
  expect(story?.after.length).toBeGreaterThan(0);
  expect(story?.after).toEqual(story?.after.map(() => story.before));
});
