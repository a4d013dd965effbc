// Large payouts: their histories stay far below Temporal's limits, also at the maximum size, because they continue as
// new; they cost few actions; and other flows are not delayed.
import { afterAll, expect, test } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { WINDOW } from '../../src/workflows/payout/decide.ts';
import type { Resource } from '../support/api.ts';
import { startTestFlows } from '../support/flows.ts';
import { suggestContinueAsNew } from '../support/suggestions.ts';
import { countActions } from '../support/temporalActions.ts';
import { waitFor } from '../support/waitFor.ts';
import { ObedientBank } from './payoutBank.ts';

/** The maximum that the API accepts (contract, section 3.6). */
const ITEMS_MAX = 1_000;
/** The maximum size: `PAYOUT_ITEMS=1000 npm test -- test/workflows/payoutSize.slow.test.ts`. */
const ITEMS = Number(process.env.PAYOUT_ITEMS ?? 2.5 * WINDOW);
/**
 * When Temporal suggests to continue as new. With fewer items: after two windows, even if no item has ended by then.
 */
const SUGGESTED_AT = ITEMS < ITEMS_MAX ? 2 * WINDOW : 4_096;
/** With what a window adds to a history. Temporal warns at 10,240 events. */
const EVENTS_MAX = SUGGESTED_AT + 10 * WINDOW;
/** Of the payout itself: its start, timers, and a list and a start each time that it continues as new. */
const OWN_ACTIONS_MAX = ITEMS / 5;
/** For a thousand flows on two cores that run other tests as well. */
const LIMIT_MS = 900_000;

const bank = new ObedientBank();
let openBank = () => {};
let stopTemporal: () => Promise<void>;

stopTemporal = await suggestContinueAsNew(SUGGESTED_AT);
const flows = await startTestFlows({
  rails: bank.rails,
  settings: { WORKER_ROLES: 'flows,payouts,relay' },
});

afterAll(async () => {
  openBank(); // otherwise the open transfers of a failed test would keep the worker from stopping
  const { findings } = await verifyBooks(flows.sql);
  await flows.close();
  await stopTemporal();
  expect(findings).toEqual([]);
});

const described = (workflowId: string) => flows.temporal.workflow.getHandle(workflowId).describe();

/** The number of running child workflows, including those about to start; 0 before it has started. */
async function childrenOf(workflowId: string): Promise<number> {
  try {
    return (await described(workflowId)).raw.pendingChildren?.length ?? 0;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 0;
    throw error;
  }
}

const hasStarted = (workflowId: string): Promise<boolean> =>
  described(workflowId).then(
    () => true,
    () => false,
  );

/** The histories of all runs of a flow, oldest first. */
async function historiesOf(workflowId: string, firstRunId: string): Promise<History[]> {
  const histories: History[] = [];
  for (let runId: string | null | undefined = firstRunId; runId; ) {
    const history: History = await flows.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    histories.push(history);
    runId = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
  return histories;
}

/**
 * The greatest number of items in the window of a run: those started since the window last turned that have not ended.
 */
function greatestWindow({ events }: History): number {
  const window = new Set<string>();
  let greatest = 0;
  for (const event of events ?? []) {
    if (event.timerFiredEventAttributes) window.clear();
    const started = event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId;
    if (started) window.add(started);
    window.delete(event.childWorkflowExecutionCompletedEventAttributes?.workflowExecution?.workflowId ?? '');
    window.delete(event.startChildWorkflowExecutionFailedEventAttributes?.workflowId ?? '');
    greatest = Math.max(greatest, window.size);
  }
  return greatest;
}

test(
  `a payout of ${ITEMS} items does not delay another organisation, sends every item once, and has small histories`,
  async () => {
    const { organisationId, settlementWalletId } = flows.organisation;
    await flows.fund(organisationId, settlementWalletId, 1_000_000_000);
    bank.gate = new Promise((resolve) => {
      openBank = resolve;
    });
    const { data: payout } = await flows.test.money('/payouts', {
      items: Array.from({ length: ITEMS }, (_, position) => ({
        amount: 100_000,
        reference: `salary ${position}`,
        bankAccount: { accountNumber: String(1_000_000_000 + position), bankCode: '058' },
      })),
    });
    // The bank responds to no send, so the payout takes all the slots available to it and keeps them.
    await waitFor('the payout to run a full window of items', async () => (await childrenOf(payout.id)) >= WINDOW);
    const { runId } = await described(payout.id);

    const other = await flows.createOrganisation();
    const walletId = await flows.createWallet(other.test);
    const { data: payment } = await other.test.money('/payments', {
      method: 'bank_transfer',
      baseAmount: 100_000,
      targetWalletId: walletId,
    });
    const { accountNumber } = payment.virtualAccount as { accountNumber: string };
    await other.test.post('/simulations/inbound-credits', { accountNumber, amount: payment.payableAmount });
    await waitFor(
      'the payment to settle',
      async () => (await other.test.get(`/payments/${payment.id}`)).data.status === 'settled',
    );
    expect((await flows.test.get(`/payouts/${payout.id}`)).data).toMatchObject({
      status: 'processing',
      successCount: 0,
    });

    const { taskQueue } = flows.dependencies.config.temporal;
    const [item] = payout.items as [Resource];
    await waitFor('the flow of the first item to start', () => hasStarted(item.id));
    const flowsOfBoth = [payment.id, payout.id, item.id];
    expect((await Promise.all(flowsOfBoth.map(described))).map((flow) => flow.taskQueue)).toEqual([
      taskQueue,
      ...Array.from({ length: 2 }, () => `${taskQueue}-payouts`),
    ]);

    openBank();
    const isCompleted = async () => (await flows.test.get(`/payouts/${payout.id}`)).data.status === 'completed';
    await waitFor('the payout to be completed', isCompleted, LIMIT_MS);
    expect(await flows.temporal.workflow.getHandle(payout.id).result()).toEqual({ status: 'completed' });
    expect([...bank.sends.values()]).toEqual(Array.from({ length: ITEMS }, () => 1));
    expect(await flows.accountBalance('clearing:sandbox')).toBe(-1_000_000_000 + ITEMS * 100_000);
    expect(await flows.accountBalance('income:fees')).toBe(ITEMS * 3_000);
    expect((await flows.eventsOf(payout.id)).map(({ type }) => type)).toEqual(['payout.completed']);

    const runs = await historiesOf(payout.id, runId);
    expect(runs.length).toBeGreaterThan(ITEMS < ITEMS_MAX ? 1 : 0);
    expect(Math.max(...runs.map(({ events }) => events?.length ?? 0))).toBeLessThan(EVENTS_MAX);
    // Another payout waits for at most the window of this one, rather than for all of its items.
    expect(runs.map(greatestWindow).filter((size) => size > WINDOW)).toEqual([]);
    const actions = runs.flatMap(({ events }) => Object.values(countActions(events ?? [])));
    expect(actions.reduce((sum, count) => sum + count, 0)).toBeLessThan(OWN_ACTIONS_MAX);
  },
  LIMIT_MS,
);
