// The loop of a flow with one inbound credit, or with its recall: it runs a step again, with growing delays, until the
// rail confirms it. After the limit it requests an operator, who may have it set aside.
import { condition, continueAsNew, setCurrentDetails } from '@temporalio/workflow';
import { createAttention } from '../attention/park.ts';
import { mustContinueAsNew } from '../continuation.ts';
import { describeWaits } from './details.ts';
import type { CreditActivity, CreditInput } from './messages.ts';
import { createRailWaits } from './waits.ts';

/** Returns the status that the last step has reached. */
export async function untilConfirmed({ continued, ...input }: CreditInput, apply: CreditActivity): Promise<string> {
  const { inboundCreditId } = input;
  const attention = createAttention(input, continued?.attention);
  const rail = createRailWaits(attention, continued?.rail);
  for (;;) {
    const setAside = rail.setAsideBy(inboundCreditId);
    const { status, incomplete } = await attention.postOrPark(() => apply(input, { setAside }));
    rail.note(inboundCreditId, incomplete);
    const isRaised = rail.requestOperator();
    const [wait] = rail.waits();
    if (wait === undefined) return status;
    if (!isRaised) setCurrentDetails(describeWaits(rail.waits()).join('\n'));
    await condition(attention.isDecided, Math.max(1, wait.nextAt - Date.now()), {
      summary: 'until the rail is queried again',
    });
    if (await mustContinueAsNew(attention)) {
      await continueAsNew({ ...input, continued: { rail: rail.carried(), ...attention.carried() } });
    }
    rail.applyDecision();
  }
}
