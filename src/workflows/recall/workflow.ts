// The flow of one recall: the bank takes an inbound credit back.
//
//   1. Confirm it with the rail and post it: the money is taken from where it is, as far as it goes.   Compensation:
//      none; what is missing stands as receivable, with a review case.
//   2. The rail does not confirm it: retry, with growing delays. After the limit request an operator, who may set it
//      aside: nothing is posted, and a review case is opened.
//   3. The ledger refuses the posting, for example because the wallet is closed: park.
import { condition, continueAsNew, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import { type AttentionActivities, createAttention } from '../attention/park.ts';
import { mustContinueAsNew } from '../continuation.ts';
import { MONEY_ACTIVITY, RAIL_ACTIVITY } from '../options.ts';
import { describeWaits } from '../railWait/details.ts';
import { createRailWaits } from '../railWait/waits.ts';
import { showState } from '../state.ts';
import type { RecallActivities, RecallInput, RecallResult } from './messages.ts';

const { applyRecall, setAsideRecall } = proxyActivities<RecallActivities>(RAIL_ACTIVITY);
const { recordOperatorAction, identifyOperator } = proxyActivities<AttentionActivities>(MONEY_ACTIVITY);

export async function recall({ continued, ...input }: RecallInput): Promise<RecallResult> {
  const { inboundCreditId, amount } = input;
  const attention = createAttention(
    { ...input, subject: inboundCreditId },
    { recordOperatorAction, identifyOperator },
    continued?.attention,
  );
  const rail = createRailWaits(attention, continued?.rail);
  setCurrentDetails(
    `Waiting until the rail confirms that it has taken back ${nairaText(amount)} (${inboundCreditId}).`,
  );
  for (;;) {
    const apply = rail.isToBeSetAside(inboundCreditId) ? setAsideRecall : applyRecall;
    const { status, incomplete } = await attention.postOrPark(() => apply(input));
    rail.note(inboundCreditId, incomplete);
    const isRaised = rail.askForOperator();
    const [wait] = rail.waits();
    if (wait === undefined) {
      setCurrentDetails(`**${status}**: ${nairaText(amount)} of ${inboundCreditId}.`);
      showState(status);
      return { status };
    }
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
