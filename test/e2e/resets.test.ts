// Resetting a finished flow from the Temporal UI cannot break money: each story is played to its end, then its flow is
// reset to every workflow task in turn, and what it left behind stays the same, to the kobo, event and bank transfer.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { retry } from '../../src/workflows/attention/messages.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { type Outcome, openTheatre, type Stage } from '../support/stage.ts';
import { type Played, STORIES, STORY_SETTINGS } from '../support/stories.ts';
import { until } from '../support/until.ts';

/** The stories play at the same time, and each flow is reset some ten times. */
const LIMIT_MS = 900_000;

const RESET = STORIES.filter(({ flow }) => ['payment', 'withdrawal', 'refund', 'inboundCredit'].includes(flow));

const FREED = { operator: 'ada', reason: 'it was reset' };

let flows: TestFlows;
const told = new Map<string, Promise<{ before: Outcome; after: Outcome[] }>>();

beforeAll(async () => {
  flows = await startTestFlows({ settings: STORY_SETTINGS });
  const openStage = await openTheatre(flows);
  for (const story of RESET) {
    const tell = async () => {
      const stage = await openStage();
      const played = await story.play(stage);
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
  expect(findings).toEqual([]);
});

/** Resets the last finished run to each of its workflow tasks. Answers what there was after each time. */
async function resetToEachTask(stage: Stage, { workflowId, path }: Played): Promise<Outcome[]> {
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
    await until(`${workflowId} to end again`, async () => {
      const { status, typedSearchAttributes } = await again.describe();
      if (status.name !== 'RUNNING') return true;
      // Reset to the task that parked it, it is parked again: the decisions come before it asks for them. An operator has
      // it look once more, and it finds that it is decided.
      if (typedSearchAttributes.get(ATTENTION) !== undefined) await again.signal(retry, FREED);
      return false;
    });
    outcomes.push(await stage.outcome(workflowId, path));
  }
  return outcomes;
}

test.each(RESET.map(({ flow, ending }) => `${flow}: ${ending}`))('%s, reset to every workflow task', async (name) => {
  const story = await told.get(name);
  expect(story?.after.length).toBeGreaterThan(0);
  expect(story?.after).toEqual(story?.after.map(() => story.before));
});
