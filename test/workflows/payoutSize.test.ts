// Large payouts: their histories stay far below Temporal's limits, also at the maximum size, and other flows are not
// delayed.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { PAGE_SIZE, pagesOf, WINDOW } from '../../src/workflows/payout/decide.ts';
import type { Resource } from '../support/api.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';
import { ObedientBank } from './payoutBank.ts';

/** The maximum that the API accepts (contract, section 3.6). */
const ITEMS_MAX = 1_000;
/**
 * Two full pages. More would add nothing: a page has its maximum length, and the payout's own history grows with the
 * number of pages. The maximum size: `PAYOUT_ITEMS=1000 npm test -- test/workflows/payoutSize.test.ts`.
 */
const ITEMS = Number(process.env.PAYOUT_ITEMS ?? 2 * PAGE_SIZE);
/** Temporal warns at 10,240 events per history. A tenth of that leaves a margin. */
const EVENTS_MAX = 1_024;
/** For a thousand flows on two cores that run other tests as well. */
const LIMIT_MS = 900_000;

const bank = new ObedientBank();
let openBank = () => {};
let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows({ rails: (rails) => bank.behind(rails) });
});

afterAll(async () => {
  openBank(); // otherwise the open transfers of a failed test would keep the worker from stopping
  const { findings } = await verifyBooks(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

const pages = (payoutId: string): string[] =>
  pagesOf(ITEMS).map(({ from, count }) => `${payoutId}/${from + 1}-${from + count}`);

/** The number of running child workflows, including those about to start; null before it has started. */
async function childrenOf(workflowId: string): Promise<number | null> {
  try {
    return (await described(workflowId)).raw.pendingChildren?.length ?? 0;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

const hasStarted = async (workflowId: string): Promise<boolean> => (await childrenOf(workflowId)) !== null;

/** The maximum by which a page exceeded its window: running items minus the number allowed at that moment. */
async function overrunOf(page: string): Promise<number> {
  const { events } = await flows.temporal.workflow.getHandle(page).fetchHistory();
  let [allowed, running, overrun] = [WINDOW, 0, Number.NEGATIVE_INFINITY];
  for (const event of events ?? []) {
    if (event.timerFiredEventAttributes) allowed += WINDOW;
    if (event.startChildWorkflowExecutionInitiatedEventAttributes) running += 1;
    if (event.childWorkflowExecutionCompletedEventAttributes) running -= 1;
    overrun = Math.max(overrun, running - allowed);
  }
  expect(events?.filter((event) => event.childWorkflowExecutionCompletedEventAttributes)).toHaveLength(PAGE_SIZE);
  return overrun;
}

const described = (workflowId: string) => flows.temporal.workflow.getHandle(workflowId).describe();

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
    for (const page of pages(payout.id)) {
      await waitFor(`${page} to run a full window of items`, async () => ((await childrenOf(page)) ?? 0) >= WINDOW);
    }

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
    const flowsOfBoth = [payment.id, payout.id, ...pages(payout.id).slice(0, 1), item.id];
    expect((await Promise.all(flowsOfBoth.map(described))).map((flow) => flow.taskQueue)).toEqual([
      taskQueue,
      ...Array.from({ length: 3 }, () => `${taskQueue}-payouts`),
    ]);

    openBank();
    expect(await flows.temporal.workflow.getHandle(payout.id).result()).toEqual({ status: 'completed' });
    expect(bank.taken.size).toBe(ITEMS);
    expect(await flows.accountBalance('clearing:sandbox')).toBe(-1_000_000_000 + ITEMS * 100_000);
    expect(await flows.accountBalance('income:fees')).toBe(ITEMS * 3_000);
    const histories = await Promise.all(pages(payout.id).map(described));
    expect(Math.max(...histories.map(({ historyLength }) => historyLength))).toBeLessThan(EVENTS_MAX);
    const { historyLength } = await described(payout.id);
    expect(historyLength * (ITEMS_MAX / ITEMS)).toBeLessThan(EVENTS_MAX);
    // Another payout waits for at most the windows of this one, rather than for all of its items.
    expect(new Set(await Promise.all(pages(payout.id).map(overrunOf)))).toEqual(new Set([0]));
  },
  LIMIT_MS,
);
