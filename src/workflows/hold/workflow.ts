// The flow of one hold. The money was posted beside its wallet when the hold was created.
//
//   1. Wait until it is due, or for what others do.   A request posts its release or cancellation itself, and signals
//      `holdChanged`; an operator sends the update `decide`.
//   2. Due: release what is left, in parts if one posting may not.   Compensation: none; a transfer corrects an error.
//   3. The wallet refuses it, because it is frozen or over a limit: request attention and try again from time to time.
//   4. The ledger refuses a posting that it must accept: park.
//   5. The history is long: continue as new. All state is in the database.
import { condition, continueAsNew, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import { createAttention } from '../attention/park.ts';
import { mustContinueAsNew } from '../continuation.ts';
import type { FlowResult } from '../flows.ts';
import { type DecisionState, handleDecisions } from '../operators/handle.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { showAttention, showState } from '../state.ts';
import { HOLD_ATTENTION, refuseDecision } from './decide.ts';
import { describeHold } from './details.ts';
import { decide, type HoldActivities, type HoldInput, type HoldSnapshot, holdChanged } from './messages.ts';

const { releaseDueHold, applyHoldDecision } = proxyActivities<HoldActivities>(MONEY_ACTIVITY);

export async function hold({ isShown = false, ...input }: HoldInput): Promise<FlowResult> {
  const attention = createAttention(input);
  const state: DecisionState<HoldSnapshot> = { snapshot: null, deciding: false };
  let isChanged = false;
  let isRequested = isShown;
  setHandler(holdChanged, () => {
    isChanged = true;
  });
  handleDecisions(decide, state, {
    refuse: (decision) => refuseDecision((state.snapshot?.status ?? 'held') === 'held', decision),
    decide: async (decision) => {
      const answer = await applyHoldDecision(input, decision);
      isChanged = true;
      return answer;
    },
  });
  const showRefusal = (isRefused: boolean): void => {
    if (isRefused !== isRequested) showAttention(isRefused ? HOLD_ATTENTION : null);
    isRequested = isRefused;
  };
  for (;;) {
    isChanged = false;
    const snapshot = await attention.postOrPark(() =>
      releaseDueHold(input).catch((error: unknown) => {
        isRequested = false; // the cause that it parks for takes the place of this one
        throw error;
      }),
    );
    state.snapshot = snapshot;
    showRefusal(snapshot.refusal !== null);
    if (snapshot.status !== 'held') {
      await condition(() => !state.deciding);
      if (snapshot.status === 'cancelled') showState(snapshot.status);
      setCurrentDetails(`**${snapshot.status}**: ${nairaText(input.amount ?? 0)} was held.`);
      return { status: snapshot.status };
    }
    if (await mustContinueAsNew(attention)) await continueAsNew<typeof hold>({ ...input, isShown: isRequested });
    setCurrentDetails(describeHold(input, snapshot));
    const isNews = (): boolean => isChanged && !state.deciding;
    if (snapshot.waitMs === null) await condition(isNews);
    else await condition(isNews, snapshot.waitMs, { summary: 'until the hold is due, or is tried again' });
  }
}
