// The flow of one credit that belongs to no payment.
//
//   1. Place it: in the wallet whose deposit account it came to, or in suspense with a review case.   Compensation:
//      none needed.
//   2. The rail does not confirm it: retry, with growing delays. After the limit request an operator, who may set it
//      aside: nothing is posted, and a review case is opened.
//   3. The ledger refuses both postings: park.
import { condition, continueAsNew, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import { type AttentionActivities, createAttention } from '../attention/park.ts';
import { mustContinueAsNew } from '../continuation.ts';
import { MONEY_ACTIVITY, RAIL_ACTIVITY } from '../options.ts';
import { describeWaits } from '../railWait/details.ts';
import { createRailWaits } from '../railWait/waits.ts';
import { showState } from '../state.ts';
import type { InboundCreditActivities, InboundCreditInput, InboundCreditResult } from './messages.ts';

const { placeCredit, setAsideDeposit } = proxyActivities<InboundCreditActivities>(RAIL_ACTIVITY);
const { recordOperatorAction, identifyOperator } = proxyActivities<AttentionActivities>(MONEY_ACTIVITY);

export async function inboundCredit({ continued, ...input }: InboundCreditInput): Promise<InboundCreditResult> {
  const { inboundCreditId, amount } = input;
  const attention = createAttention(
    { ...input, subject: inboundCreditId },
    { recordOperatorAction, identifyOperator },
    continued?.attention,
  );
  const rail = createRailWaits(attention, continued?.rail);
  setCurrentDetails(`Waiting until the rail confirms ${nairaText(amount)} and it is posted.`);
  for (;;) {
    const place = rail.isToBeSetAside(inboundCreditId) ? setAsideDeposit : placeCredit;
    const { status, incomplete } = await attention.postOrPark(() => place(input));
    rail.note(inboundCreditId, incomplete);
    const isRaised = rail.askForOperator();
    const [wait] = rail.waits();
    if (wait === undefined) return end(amount, status);
    if (!isRaised) setCurrentDetails(describeWaits(rail.waits()).join('\n'));
    await condition(attention.isDecided, Math.max(1, wait.nextAt - Date.now()), {
      summary: 'until the rail is queried again',
    });
    if (await mustContinueAsNew(attention)) {
      await continueAsNew({ ...input, continued: { rail: rail.carried(), ...attention.carried() } });
    }
    await rail.hearOperator();
  }
}

function end(amount: number, status: string): InboundCreditResult {
  setCurrentDetails(`**${status}**: ${nairaText(amount)}.`);
  if (status !== 'posted') showState(status);
  return { status };
}
