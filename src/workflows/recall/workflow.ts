// The flow of one recall: the bank takes an inbound credit back.
//
//   1. Confirm it with the rail and post it: the money is taken from the account that holds it, up to what that
//      account has.   Compensation: none; the missing part is booked as receivable, with a review case.
//   2. The rail does not confirm it: retry, with growing delays. After the limit request an operator, who may set it
//      aside: nothing is posted, and a review case is opened.
//   3. The ledger refuses the posting, for example because the wallet is closed: park.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import type { FlowResult } from '../flows.ts';
import { RAIL_ACTIVITY } from '../options.ts';
import type { CreditActivities, CreditInput } from '../railWait/messages.ts';
import { untilConfirmed } from '../railWait/waits.ts';
import { showState } from '../state.ts';

const { applyRecall } = proxyActivities<CreditActivities>(RAIL_ACTIVITY);

export async function recall(input: CreditInput): Promise<FlowResult> {
  const { inboundCreditId, amount } = input;
  setCurrentDetails(`Waiting for the rail to confirm that it took back ${nairaText(amount)} (${inboundCreditId}).`);
  const status = await untilConfirmed(input, applyRecall);
  setCurrentDetails(`**${status}**: ${nairaText(amount)} of ${inboundCreditId}.`);
  showState(status);
  return { status };
}
