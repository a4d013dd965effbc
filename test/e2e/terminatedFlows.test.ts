// Terminating or cancelling a flow at any of its steps cannot break money. Each story is played while somebody ends the flow
// right after every step's effect, before its answer is heard; the sweeper starts it again, and what it leaves behind is the
// same as ever, to the kobo, event and bank transfer.
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { activityInfo } from '@temporalio/activity';
import { publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { findMissingFlows, restartFlow } from '../../src/outbox/missingFlows.ts';
import { TEST_EVENT_TYPE } from '../../src/resources/events.ts';
import { wakePayoutItem } from '../../src/resources/payouts/flow.ts';
import { findPayoutItem } from '../../src/resources/payouts/queries.ts';
import { retry } from '../../src/workflows/attention/messages.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import { flowActivities, startFaultInjectingWorker } from '../support/activities.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { LOOK_PAUSE_MIN_MS, type Outcome, openScenarios, type ScenarioContext } from '../support/scenarioContext.ts';
import { recordingOf, SCENARIO_SETTINGS, SCENARIOS, type Scenario } from '../support/scenarios.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

const LIMIT_MS = 900_000;
const STORY_LIMIT_MS = 600_000;
/** Twice a second, where the service's own sweeper works twice a minute. */
const SWEEP_EVERY_MS = 500;

/**
 * Between them and the delivery below they take every step of every kind of flow. None of them is one of a late return:
 * its news could reach a flow in the moment in which it is ended here, and is then left for reconciliation to find
 * (docs/decisions/0011-sweeper.md).
 */
const ENDED = [
  'payment-partialThenSettled',
  'payment-lateCredit',
  'payment-unconfirmedThenSettledByAnother',
  'payment-unconfirmedSetAside',
  'inboundCredit-unconfirmedSetAside',
  'inboundCredit-posted',
  'withdrawal-neverReceived',
  'withdrawal-returned',
  'withdrawal-failedByOperators',
  'refund-neverReceived',
  'refund-completed',
  'refund-completedByOperators',
  'payout-partiallyCompleted',
  'payoutItem-neverReceived',
  'payoutItem-failedByOperators',
  'reviewCase-credited',
  'reviewCase-refusedThenReturnedToSender',
  'reviewCase-neverReceivedThenUnclaimed',
  'reviewCase-failedByOperatorsThenCredited',
  'reviewCase-breakClosed',
  'reviewCase-confirmedAfterAll',
];
/**
 * A payment that has ended is not open, so a flow that is ended before it has closed the account does not come back for that. The
 * account stays open, and money that comes to it goes to review.
 */
const NOT_TAKEN_UP_AGAIN = ['closePaymentAccount'];
const TOLD = SCENARIOS.filter((story) => ENDED.includes(recordingOf(story)));

type How = 'terminated' | 'cancelled';
const HOW: How[] = ['terminated', 'cancelled'];

const RETRIED = { operator: 'ada', reason: 'their endpoint is back' };

let flows: TestFlows;
let worker: { stop: () => Promise<void> };
let openStage: () => Promise<ScenarioContext>;
let sweeping = true;
let sweeper: Promise<void>;
let receiver: Receiver;
const told = new Map<string, Promise<Omit<Outcome, 'status'>>>();
const delivered = new Map<How, Promise<void>>();
const how = new Map<Uuid, How>();
/** `<organisation> <step>`: each step is ended once in each story. */
const ended = new Set<string>();
/** What else happens after a step of an organisation's flows, before its answer is heard. */
const happens = new Map<Uuid, (step: string) => Promise<void>>();

async function end(organisationId: Uuid): Promise<void> {
  const { workflowId, runId } = activityInfo().workflowExecution ?? { workflowId: '', runId: '' };
  const flow = flows.temporal.workflow.getHandle(workflowId, runId);
  await (how.get(organisationId) === 'cancelled' ? flow.cancel() : flow.terminate('by mistake'));
}

async function sweep(): Promise<void> {
  const { sql, journal } = flows.services;
  while (sweeping) {
    for await (const missing of findMissingFlows({ sql, client: flows.temporal }, { ageMinMs: 0 })) {
      await restartFlow(journal, missing);
    }
    await setTimeout(SWEEP_EVERY_MS);
  }
}

async function tell(story: Scenario, stage: ScenarioContext): Promise<Omit<Outcome, 'status'>> {
  const { path } = await story.run(stage);
  if (path !== null) await stage.untilStatus(path, story.outcome.status);
  const { status: _status, ...wanted } = story.outcome;
  const text = JSON.stringify(wanted);
  let traces = await stage.traces();
  await waitFor(
    `${story.flow} ${story.ending} to leave behind what it should`,
    async () => {
      traces = await stage.traces();
      return JSON.stringify(traces) === text;
    },
    STORY_LIMIT_MS,
    LOOK_PAUSE_MIN_MS,
  ).catch(() => {}); // the difference says more
  return traces;
}

/** An endpoint refuses this many attempts: those of the schedule, then those of a redelivery. */
const REFUSED = 6;

/**
 * An event that an endpoint takes late. Operators have the attempts made anew; where the flow that they told was ended
 * before it did so, the delivery is over, and the integrator asks for it.
 */
async function deliver(stage: ScenarioContext): Promise<void> {
  const endpoint = await startReceiver((response, _received, count) => {
    response.writeHead(count <= REFUSED ? 500 : 200).end();
  });
  const { test: owner } = stage.organisation;
  const { data: created } = await owner.post('/webhook-endpoints', { url: endpoint.url });
  const { data: event } = await owner.post(`/webhook-endpoints/${created.id}/test`);
  const flow = flows.temporal.workflow.getHandle(`${event.id}/${created.id}`);
  await waitFor(
    'the event to be delivered',
    async () => {
      const { items } = await owner.get(`/events/${event.id}/deliveries`);
      if (items[0]?.status !== 'failed') return items[0]?.status === 'delivered';
      const { status, typedSearchAttributes } = await flow.describe();
      if (status.name !== 'RUNNING') await owner.post(`/events/${event.id}/redeliver`);
      else if (typedSearchAttributes.get(ATTENTION) !== undefined) await flow.signal(retry, RETRIED).catch(() => {}); // ended
      return false;
    },
    STORY_LIMIT_MS,
  );
  await endpoint.close();
}

const nameOf = (story: Scenario, ending: How): string => `${recordingOf(story)} ${ending}`;

beforeAll(async () => {
  flows = await startTestFlows({ settings: SCENARIO_SETTINGS, worker: false });
  receiver = await startReceiver();
  openStage = await openScenarios(flows);
  worker = await startFaultInjectingWorker(flows.services, (organisationId, name) => async (run) => {
    try {
      return await run(); // an attempt to deliver that was in vain throws, to be repeated
    } finally {
      const step = `${organisationId} ${name}`;
      await happens.get(organisationId)?.(name);
      if (how.has(organisationId) && !ended.has(step)) {
        ended.add(step);
        await end(organisationId);
      }
    }
  });
  sweeper = sweep();
  for (const ending of HOW) {
    for (const story of TOLD) {
      const stage = await openStage();
      await stage.organisation.test.post('/webhook-endpoints', { url: receiver.url });
      how.set(stage.organisationId, ending);
      told.set(nameOf(story, ending), tell(story, stage));
    }
    const stage = await openStage();
    how.set(stage.organisationId, ending);
    delivered.set(ending, deliver(stage));
  }
  await Promise.allSettled([...told.values(), ...delivered.values()]);
}, LIMIT_MS);

afterAll(async () => {
  sweeping = false;
  await sweeper;
  await worker.stop();
  const { findings } = await verifyLedger(flows.sql);
  await flows.close();
  await receiver.close();
  expect(findings).toEqual([]);
});

describe.each(HOW)('%s after each step', (ending) => {
  test.each(TOLD)('$flow: $ending', async (story) => {
    const { status: _status, ...wanted } = story.outcome;
    expect(await told.get(nameOf(story, ending))).toEqual(wanted);
  });

  test('a delivery that operators have tried anew', async () => {
    await expect(delivered.get(ending)).resolves.toBeUndefined();
  });
});

test('every event of it all was delivered', async () => {
  const events = await flows.sql<{ id: Uuid }[]>`
    SELECT id FROM events WHERE organisation_id = ANY (${[...how.keys()]}) AND type <> ${TEST_EVENT_TYPE}`;
  expect(events.length).toBeGreaterThan(told.size);
  await waitFor('all deliveries', () => {
    const got = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
    return events.every(({ id }) => got.has(publicId('event', id)));
  });
});

test('a bounce that is told while a payout is rolled up is heard', async () => {
  const stage = await openStage();
  const sourceWalletId = await stage.wallet('owner', 103_000);
  const items = [{ amount: 100_000, bankAccount: { accountNumber: '0123456789', bankCode: '058' } }];
  const payout = await stage.money('/payouts', { sourceWalletId, items });
  const [item] = payout.items as [{ id: string }];
  await stage.untilStatus(`/payouts/${payout.id}`, 'completed');
  await stage.untilQuiet(item.id);

  // The bank tells once more that it paid, and bounces it while the item's flow rolls the payout up.
  let bounced = false;
  happens.set(stage.organisationId, async (step) => {
    if (step !== 'rollUpPayout' || bounced) return;
    bounced = true;
    const { runId } = activityInfo().workflowExecution ?? { runId: '' };
    await stage.endTransfer(item.id, 'return');
    await waitFor('the news to reach the flow', async () => {
      const { events } = await flows.temporal.workflow.getHandle(item.id, runId).fetchHistory();
      return (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes).length > 1;
    });
  });
  const book = { organisationId: stage.organisationId, environment: 'test' as const };
  const sourced = await findPayoutItem(flows.services.sql, book, requireUuid('payoutItem', item.id));
  if (sourced === null) throw new Error('the item is not there');
  await flows.services.journal.post({ book, outbox: [wakePayoutItem(book, sourced)] });
  await stage.untilEvent('payout.failed');
  expect(await stage.traces()).toMatchObject({
    money: { 'clearing:sandbox': -103_000, 'wallet:owner': 103_000 },
    events: ['payout.completed', 'payout.failed'],
  });
});

test('every kind of flow was ended, at each of its steps', () => {
  const steps = [...new Set([...ended].map((one) => one.split(' ')[1] ?? ''))];
  const all = Object.keys(flowActivities(flows.services));
  expect(steps.toSorted()).toEqual(all.filter((step) => !NOT_TAKEN_UP_AGAIN.includes(step)).toSorted());
});
