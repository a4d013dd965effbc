// The flow of one credit that belongs to no payment.
//
//   1. Post it: to the wallet whose deposit account it came to, or to suspense with a review case.   Compensation: none
//      needed.
//   2. The rail does not confirm it: retry, with growing delays. After the limit request an operator, who may set it
//      aside: nothing is posted, and a review case is opened.
//   3. The ledger refuses both postings: park.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import type { FlowResult } from '../flows.ts';
import { RAIL_ACTIVITY } from '../options.ts';
import type { CreditActivities, CreditInput } from '../railWait/messages.ts';
import { untilConfirmed } from '../railWait/waits.ts';
import { showState } from '../state.ts';

const { applyDeposit } = proxyActivities<CreditActivities>(RAIL_ACTIVITY);

export async function inboundCredit(input: CreditInput): Promise<FlowResult> {
  setCurrentDetails(`Waiting for the rail to confirm the credit of ${nairaText(input.amount)}.`);
  const status = await untilConfirmed(input, applyDeposit);
  setCurrentDetails(`**${status}**: ${nairaText(input.amount)}.`);
  if (status !== 'posted') showState(status);
  return { status };
}
