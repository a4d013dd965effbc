// The flow of one review case.
//
//   1. Wait for an operator's decision (update `decide`).   Nothing about the money changes until then.
//      News meanwhile (`railReported`) is shown: a transfer that was thought to have failed, a break that is gone.
//   2. Credit or move_to_unclaimed: posted at once, and the case ends.   Undo: none; a wrong one is corrected by a transfer.
//   3. Send back: drive the bank transfer to its end.       Undo: back to suspense when it failed, and the case is open again.
//   4. A reconciliation break is settled: nothing is posted, and the case ends.
import { condition, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { AttentionActivities } from '../attention/park.ts';
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import { transferUpdated } from '../bankTransfer/messages.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { showAttention, showState } from '../state.ts';
import { attentionOf, refuseDecision } from './decide.ts';
import { describeCase } from './details.ts';
import {
  type ReviewCaseActivities,
  type ReviewCaseInput,
  type ReviewCaseResult,
  type ReviewCaseSnapshot,
  resolveCase,
} from './messages.ts';

const {
  readReviewCase,
  applyCaseDecision,
  sendReturn,
  checkReturn,
  markReturnUnsent,
  applyReturnDecision,
  recordOperatorAction,
} = proxyActivities<ReviewCaseActivities & AttentionActivities>(MONEY_ACTIVITY);

const STEPS = { send: sendReturn, check: checkReturn, mark_unsent: markReturnUnsent, decide: applyReturnDecision };

/** What the handlers change while the flow waits. `standing` null: not read yet. */
interface CaseState {
  standing: ReviewCaseSnapshot | null;
  deciding: boolean;
  news: boolean;
}

export async function reviewCase(input: ReviewCaseInput): Promise<ReviewCaseResult> {
  const state: CaseState = { standing: null, deciding: false, news: false };
  takeDecisions(input, state);
  listen(state);
  // A flow that was started anew goes on where the books stand.
  let standing = await look(input, state);
  for (;;) {
    if (standing.status === 'open') standing = await untilDecided(input, state);
    if (standing.status !== 'returning' && !(standing.status === 'returned_to_sender' && state.news)) break;
    state.news = false; // from here on the bank transfer hears it
    await driveBankTransfer({ ...input, reference: standing.reference }, STEPS, { recordOperatorAction });
    listen(state);
    standing = await look(input, state);
  }
  showState(standing.status);
  setCurrentDetails(`**${standing.status}**: ${input.amount} kobo.`);
  return { status: standing.status };
}

async function look(input: ReviewCaseInput, state: CaseState): Promise<ReviewCaseSnapshot> {
  state.standing = await readReviewCase(input);
  return state.standing;
}

function listen(state: CaseState): void {
  setHandler(transferUpdated, () => {
    state.news = true;
  });
}

function takeDecisions(input: ReviewCaseInput, state: CaseState): void {
  const refuse = (decision: Parameters<typeof refuseDecision>[1]): string | null => {
    const isOpen = (state.standing?.status ?? 'open') === 'open' && !state.deciding;
    return refuseDecision({ isOpen, reason: input.reason }, decision);
  };
  setHandler(
    resolveCase,
    async (decision) => {
      await condition(() => state.standing !== null);
      const refusal = refuse(decision); // what was not known yet when it came
      if (refusal !== null) return { outcome: 'refused', message: refusal, status: state.standing?.status ?? 'open' };
      state.deciding = true;
      try {
        const answer = await applyCaseDecision(input, decision);
        if (answer.status !== 'open') await look(input, state);
        return answer;
      } finally {
        state.deciding = false;
      }
    },
    {
      validator: (decision) => {
        const refusal = refuse(decision);
        if (refusal !== null) throw new Error(refusal);
      },
    },
  );
}

/** Asks for a person, shows what there is to know, and waits until the case is not open any more. */
async function untilDecided(input: ReviewCaseInput, state: CaseState): Promise<ReviewCaseSnapshot> {
  showAttention(attentionOf(input.reason));
  let paidAfterAll = false;
  for (;;) {
    const { standing } = state;
    if (standing === null) throw new Error('the case was not read');
    if (standing.status !== 'open' && !state.deciding) {
      showAttention(null);
      return standing;
    }
    setCurrentDetails(describeCase(input, standing, paidAfterAll));
    await condition(() => !state.deciding && (state.standing?.status !== 'open' || state.news));
    if (state.standing?.status !== 'open') continue;
    state.news = false;
    if (standing.attempts > 0) paidAfterAll = (await checkReturn(input)).rail === 'contradiction';
    const fresh = await readReviewCase(input);
    // A decision that was taken meanwhile knows better.
    if (!state.deciding && state.standing.status === 'open') state.standing = fresh;
  }
}
