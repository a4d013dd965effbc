// The flow of a payout. All its money was moved to a reserve when the request was accepted.
//
//   1. Run its pages of a hundred items each, all at the same time.   Compensation: each item has its own.
//      A page runs one `payoutItem` flow for each item, in a sliding window.
//   2. Roll up: set the payout's status by its items, and write an event.
//   3. Items that are still open run without this parent, or an operator ended their flow: look again after a pause.
import {
  continueAsNew,
  executeChild,
  proxyActivities,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { type AttentionActivities, createAttention } from '../attention/park.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { payoutItemSummary } from '../payoutItem/messages.ts';
import { payoutItem } from '../payoutItem/workflow.ts';
import { childOptions, runWithWindow, untilEnded } from './children.ts';
import { type Page, pagesOf, roundPauseMs } from './decide.ts';
import type { OpenItem, PayoutActivities, PayoutInput, PayoutPageInput, PayoutResult } from './messages.ts';

const { listPayoutItems, rollUpPayout, recordOperatorAction, identifyOperator } = proxyActivities<
  PayoutActivities & AttentionActivities
>(MONEY_ACTIVITY);

export async function payout(input: PayoutInput): Promise<PayoutResult> {
  const attention = createAttention({ ...input, subject: input.payoutId }, { recordOperatorAction, identifyOperator });
  for (let round = 0; ; round += 1) {
    setCurrentDetails(`**processing**: ${input.itemCount} items, ${input.amount} kobo plus fees.`);
    await Promise.all(pagesOf(input.itemCount).map((page) => untilEnded(runPage(input, page))));
    const { status, completed, failed } = await attention.postOrPark(() => rollUpPayout(input));
    if (status !== 'processing') {
      setCurrentDetails(`**${status}**: ${completed} items completed, ${failed} failed.`);
      return { status };
    }
    setCurrentDetails(
      `**processing**: ${completed} items completed, ${failed} failed; ` +
        `waiting for ${input.itemCount - completed - failed} whose flow is not a child of this one.`,
    );
    await sleep(roundPauseMs(round), { summary: 'looks again for open items' });
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof payout>(input);
  }
}

async function runPage({ payoutId, walletId, organisationId, environment }: PayoutInput, page: Page): Promise<void> {
  const last = page.from + page.count;
  const child = {
    id: `${payoutId}/${page.from + 1}-${last}`,
    summary: `Items ${page.from + 1} to ${last} of ${payoutId}`,
    state: 'processing',
  };
  const input = { organisationId, environment, payoutId, walletId, page };
  await executeChild(payoutPage, { ...childOptions(child), args: [input] });
}

/** Runs the items of one page of a payout. */
export async function payoutPage(input: PayoutPageInput): Promise<void> {
  const items = await listPayoutItems(input);
  let ended = 0;
  await runWithWindow(items, async (item) => {
    setCurrentDetails(`**processing**: ${ended} of ${items.length} items have ended.`);
    await untilEnded(runItem(input, item));
    ended += 1;
  });
}

async function runItem(
  { organisationId, environment, payoutId, walletId }: PayoutPageInput,
  { itemId, amount }: OpenItem,
): Promise<void> {
  const input = { organisationId, environment, payoutId, walletId, transferId: itemId, amount };
  const child = { id: itemId, summary: payoutItemSummary(input), state: 'pending' };
  await executeChild(payoutItem, { ...childOptions(child, amount), args: [input] });
}
