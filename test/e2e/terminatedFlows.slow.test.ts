// Terminating or cancelling a flow at any step does not affect money. In each scenario the flow is ended right after
// the effect of every step, before its result is recorded; the sweeper restarts it, and the outcome is the same as
// without, to the kobo, event and bank transfer. Every step of every flow is ended in both ways.
import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { activityInfo } from '@temporalio/activity';
import { publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { findMissingFlows, restartFlow } from '../../src/recovery/missingFlows.ts';
import { TEST_EVENT_TYPE } from '../../src/resources/events.ts';
import { wakePayoutItem } from '../../src/resources/flows.ts';
import { findPayoutItem } from '../../src/resources/payouts/queries.ts';
import { moneyActivities, startFaultInjectingWorker } from '../support/activities.ts';
import { EVERY_STEP } from '../support/everyStep.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { LOOK_PAUSE_MIN_MS, type Outcome, openScenarios, type ScenarioContext } from '../support/scenarioContext.ts';
import { outcomeOf, recordingOf, SCENARIO_SETTINGS, SCENARIOS, type Scenario } from '../support/scenarios.ts';
import { violationsOf } from '../support/violations.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

const LIMIT_MS = 900_000;
const SCENARIO_LIMIT_MS = 600_000;
/** Twice a second; the service's own sweeper runs twice a minute. */
const SWEEP_EVERY_MS = 500;

/**
 * These run every step of every kind of flow. None has a late return: its signal
 * could reach a flow at the moment at which it is ended here, and would be left for reconciliation to find
 * (docs/decisions/0013-recovery-of-flows.md).
 */
const TERMINATED = [
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
  'hold-released',
  'hold-cancelledByRequest',
  'hold-refusedThenReleased',
  'hold-refusedThenCancelled',
  'adjustment-refusedThenRejected',
  'adjustment-reversal',
  'recall-takenFromWallet',
  'recall-unconfirmedSetAside',
];
/**
 * An ended payment is not open, so a flow that is ended before it has closed the account is not restarted for that. The
 * account stays open, and money credited to it goes to review.
 */
const NOT_RESTARTED = ['closePaymentAccount'];
/** Runs in flows of many credits only (test/e2e/longFlows), and changes nothing. */
const LONG_FLOWS_ONLY = ['listUnappliedCredits'];
type Ending = 'terminated' | 'cancelled';
const ENDINGS: Ending[] = ['terminated', 'cancelled'];
/**
 * Fewer are cancelled. What a flow does next is decided by the database, which is the same after either ending: a
 * cancelled flow differs only in that it gets the cancellation, at that step.
 */
const scenariosOf = (ending: Ending): Scenario[] =>
  SCENARIOS.filter((scenario) => (ending === 'cancelled' ? EVERY_STEP : TERMINATED).includes(recordingOf(scenario)));

let flows: TestFlows;
let worker: { stop: () => Promise<void> };
let openContext: () => Promise<ScenarioContext>;
let sweeping = true;
let sweeper: Promise<void>;
let receiver: Receiver;
const outcomes = new Map<string, Promise<Omit<Outcome, 'status'>>>();
const endingOf = new Map<Uuid, Ending>();
/** `<organisation> <step>`: each step is ended once in each scenario. */
const endedSteps = new Set<string>();
/** An additional effect after a step of an organisation's flows, before its result is recorded. */
const afterStep = new Map<Uuid, (step: string) => Promise<void>>();

async function end(organisationId: Uuid): Promise<void> {
  const { workflowId, runId } = activityInfo().workflowExecution ?? { workflowId: '', runId: '' };
  const flow = flows.temporal.workflow.getHandle(workflowId, runId);
  await (endingOf.get(organisationId) === 'cancelled' ? flow.cancel() : flow.terminate('by mistake'));
}

async function sweep(): Promise<void> {
  const { sql } = flows.dependencies;
  while (sweeping) {
    for await (const missing of findMissingFlows({ sql, client: flows.temporal }, { ageMinMs: 0 })) {
      await restartFlow(sql, missing);
    }
    await setTimeout(SWEEP_EVERY_MS);
  }
}

async function runScenario(scenario: Scenario, context: ScenarioContext): Promise<Omit<Outcome, 'status'>> {
  const { path } = await scenario.run(context);
  if (path !== null) await context.untilStatus(path, scenario.outcome.status);
  const { status: _status, ...expected } = outcomeOf(scenario);
  let traces = await context.traces();
  await waitFor(
    `${scenario.flow} ${scenario.ending} to have the expected outcome`,
    async () => {
      traces = await context.traces();
      return isDeepStrictEqual(traces, expected);
    },
    SCENARIO_LIMIT_MS,
    LOOK_PAUSE_MIN_MS,
  ).catch(() => {}); // the comparison below reports the difference
  return traces;
}

const nameOf = (scenario: Scenario, ending: Ending): string => `${recordingOf(scenario)} ${ending}`;

beforeAll(async () => {
  flows = await startTestFlows({ settings: SCENARIO_SETTINGS, worker: false });
  receiver = await startReceiver();
  openContext = await openScenarios(flows);
  worker = await startFaultInjectingWorker(flows.dependencies, (organisationId, name) => async (run) => {
    try {
      return await run();
    } finally {
      const step = `${organisationId} ${name}`;
      await afterStep.get(organisationId)?.(name);
      if (endingOf.has(organisationId) && !endedSteps.has(step)) {
        endedSteps.add(step);
        await end(organisationId);
      }
    }
  });
  sweeper = sweep();
  for (const ending of ENDINGS) {
    for (const scenario of scenariosOf(ending)) {
      const context = await openContext();
      await context.organisation.test.post('/webhook-endpoints', { url: receiver.url });
      endingOf.set(context.organisationId, ending);
      outcomes.set(nameOf(scenario, ending), runScenario(scenario, context));
    }
  }
  await Promise.allSettled(outcomes.values());
}, LIMIT_MS);

afterAll(async () => {
  sweeping = false;
  await sweeper;
  await worker.stop();
  const findings = await violationsOf(flows.sql);
  await flows.close();
  await receiver.close();
  expect(findings).toEqual([]);
});

describe.each(ENDINGS)('flows that are %s after each step', (ending) => {
  test.each(scenariosOf(ending))(
    'a flow ended after each step has the same outcome: $flow $ending',
    async (scenario) => {
      const { status: _status, ...expected } = outcomeOf(scenario);
      expect(await outcomes.get(nameOf(scenario, ending))).toEqual(expected);
    },
  );
});

test('every event of the scenarios is delivered', async () => {
  const events = await flows.sql<{ id: Uuid }[]>`
    SELECT id FROM events WHERE organisation_id = ANY (${[...endingOf.keys()]}) AND type <> ${TEST_EVENT_TYPE}`;
  expect(events.length).toBeGreaterThan(outcomes.size);
  await waitFor('all deliveries', () => {
    const got = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
    return events.every(({ id }) => got.has(publicId('event', id)));
  });
});

test('a return signalled during the roll-up of its payout is processed', async () => {
  const context = await openContext();
  const sourceWalletId = await context.wallet('owner', 103_000);
  const items = [{ amount: 100_000, bankAccount: { accountNumber: '0123456789', bankCode: '058' } }];
  const payout = await context.money('/payouts', { sourceWalletId, items });
  const [item] = payout.items as [{ id: string }];
  await context.untilStatus(`/payouts/${payout.id}`, 'completed');
  await context.untilQuiet(item.id);

  // The bank repeats its report of the payment, and returns the money when the item's flow has rolled the payout up.
  let returned = false;
  afterStep.set(context.organisationId, async (step) => {
    if (step !== 'sendBankTransfer' || returned) return;
    returned = true;
    const { runId } = activityInfo().workflowExecution ?? { runId: '' };
    await context.endTransfer(item.id, 'return');
    await waitFor('the signal to reach the flow', async () => {
      const { events } = await flows.temporal.workflow.getHandle(item.id, runId).fetchHistory();
      return (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes).length > 1;
    });
  });
  const book = { organisationId: context.organisationId, environment: 'test' as const };
  const itemRow = await findPayoutItem(flows.dependencies.sql, book, requireUuid('payoutItem', item.id));
  if (itemRow === null) throw new Error('the item is not there');
  await flows.dependencies.journal.post({ book, outbox: [wakePayoutItem(book, itemRow)] });
  await context.untilEvent('payout.failed');
  expect(await context.traces()).toMatchObject({
    money: { bank: -103_000, 'wallet:owner': 103_000 },
    events: ['payout.item_completed', 'payout.completed', 'payout.item_returned', 'payout.failed'],
  });
});

test.each(ENDINGS)('every step of every kind of flow was %s', (ending) => {
  const ended = [...endedSteps].map((one) => one.split(' ') as [Uuid, string]);
  const steps = new Set(ended.filter(([book]) => endingOf.get(book) === ending).map(([, step]) => step));
  const all = Object.keys(moneyActivities(flows.dependencies));
  const notEnded = [...NOT_RESTARTED, ...LONG_FLOWS_ONLY];
  expect(all.filter((step) => !steps.has(step) && !notEnded.includes(step))).toEqual([]);
});
