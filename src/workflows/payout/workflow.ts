// The flow of a payout. All its money was moved to a reserve when the request was accepted.
//
//   1. List its open items, and run a `payoutItem` flow for each, in a sliding window.   Compensation: each item has
//      its own. The item that ends last sets the payout's status by its items, and writes an event.
//   2. Items whose end this flow has not seen run without this parent, or an operator ended their flow: look again
//      after a pause. If no item is open, looking sets the status.
//   A long history is continued as new. The items that run then go on without this parent.
import {
  CancellationScope,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { createAttention } from '../attention/park.ts';
import type { FlowResult } from '../flows.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { payoutItem } from '../payoutItem/workflow.ts';
import { childOptions, resultOf, runWithWindow } from './children.ts';
import { type ItemCounts, type PayoutState, rollUp, roundPauseMs, triesAll } from './decide.ts';
import { itemSummary, type OpenItem, type PayoutActivities, type PayoutInput } from './messages.ts';

const { rollUpPayout } = proxyActivities<PayoutActivities>(MONEY_ACTIVITY);

export async function payout(input: PayoutInput): Promise<FlowResult<PayoutState>> {
  const attention = createAttention(input);
  /** The items that run without this parent. */
  const elsewhere = new Set(input.running);
  for (let round = 0; ; round += 1) {
    const { openItems, completed, failed } = await attention.postOrPark(() => rollUpPayout(input));
    const counts = { open: openItems.length, completed, failed };
    const items = openItems.filter(({ itemId }) => triesAll(round) || !elsewhere.has(itemId));
    await runItems(input, items, counts, elsewhere);
    const status = rollUp(counts);
    showProgress(status, counts);
    if (status !== 'processing') return { status };
    await sleep(roundPauseMs(round), { summary: 'looks again for open items' });
    if (workflowInfo().continueAsNewSuggested) await startNextRun(input, [...elsewhere]);
  }
}

async function startNextRun(input: PayoutInput, running: string[]): Promise<void> {
  await continueAsNew<typeof payout>({ ...input, running });
}

/** Runs the items, counts each end that it sees, and notes which run elsewhere. */
async function runItems(
  input: PayoutInput,
  items: readonly OpenItem[],
  counts: ItemCounts,
  elsewhere: Set<string>,
): Promise<void> {
  const run = async (item: OpenItem, onStarted: () => void): Promise<void> => {
    showProgress('processing', counts);
    elsewhere.delete(item.itemId);
    const result = await resultOf(runItem(input, item, onStarted));
    if (result === 'elsewhere') elsewhere.add(item.itemId);
    if (result === 'elsewhere' || result === 'none') return;
    counts.open -= 1;
    counts[result.status] += 1;
  };
  await runWithWindow(items, run, (running) => startNextRun(input, [...elsewhere, ...running]));
}

async function runItem(
  { organisationId, environment, walletId }: PayoutInput,
  { itemId, amount }: OpenItem,
  onStarted: () => void,
) {
  const input = { organisationId, environment, walletId, transferId: itemId, amount };
  const child = { id: itemId, summary: itemSummary(amount, walletId), amount };
  const started = await CancellationScope.nonCancellable(() =>
    startChild(payoutItem, { ...childOptions(child), args: [input] }),
  );
  onStarted();
  return await started.result();
}

function showProgress(status: string, { open, completed, failed }: ItemCounts): void {
  setCurrentDetails(`**${status}**: ${open} items open, ${completed} completed, ${failed} failed.`);
}
