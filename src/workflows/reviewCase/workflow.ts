// The flow of one review case.
//
//   1. Wait for an operator's decision (update `resolveCase`).   The money does not move until then. The signal
//      `transferUpdated` refreshes what is shown: a return posted as failed that was paid, a break that cleared.
//   2. credit, move_to_unclaimed: posted at once, and the case ends.   Compensation: none; an error is corrected by a
//      transfer.
//   3. return_to_sender: drive the bank transfer to its end.   Compensation: if it fails or is returned, the money goes
//      back to suspense and the case is open again.
//   4. close, retry: the case ends, and no money is posted; a retry that succeeds starts the flow of the credit.
//   5. The owner of unclaimed money appears: the flow is restarted with a decision, as above.
import { allHandlersFinished, condition, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
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

/** The statuses in which an operator may decide. */
const DECIDABLE = ['open', 'unclaimed'];

/** What the handlers change while the flow waits. */
interface CaseState {
  /** Null: not read yet. */
  snapshot: ReviewCaseSnapshot | null;
  deciding: boolean;
  /** A signal has arrived that was not acted on yet. */
  updated: boolean;
}

export async function reviewCase(input: ReviewCaseInput): Promise<ReviewCaseResult> {
  const state: CaseState = { snapshot: null, deciding: false, updated: false };
  handleDecisions(input, state);
  handleUpdates(state);
  // A restarted flow continues from the state in the database.
  let snapshot = await readCase(input, state);
  for (;;) {
    if (snapshot.status === 'open') snapshot = await untilDecided(input, state);
    if (snapshot.status === 'unclaimed') {
      await condition(allHandlersFinished);
      snapshot = state.snapshot ?? snapshot;
      if (snapshot.status === 'open') continue;
    }
    if (snapshot.status !== 'returning' && !(snapshot.status === 'returned_to_sender' && state.updated)) break;
    state.updated = false; // driveBankTransfer handles the signal from here on
    await driveBankTransfer({ ...input, reference: snapshot.reference }, STEPS, { recordOperatorAction });
    handleUpdates(state);
    snapshot = await readCase(input, state);
  }
  showState(snapshot.status);
  setCurrentDetails(`**${snapshot.status}**: ${input.amount} kobo.`);
  return { status: snapshot.status };
}

async function readCase(input: ReviewCaseInput, state: CaseState): Promise<ReviewCaseSnapshot> {
  state.snapshot = await readReviewCase(input);
  return state.snapshot;
}

function handleUpdates(state: CaseState): void {
  setHandler(transferUpdated, () => {
    state.updated = true;
  });
}

function handleDecisions(input: ReviewCaseInput, state: CaseState): void {
  const refuse = (decision: Parameters<typeof refuseDecision>[1]): string | null => {
    const isOpen = DECIDABLE.includes(state.snapshot?.status ?? 'open') && !state.deciding;
    return refuseDecision({ isOpen, reason: input.reason }, decision);
  };
  setHandler(
    resolveCase,
    async (decision) => {
      await condition(() => state.snapshot !== null);
      const refusal = refuse(decision); // again: the validator may have run before the case was read
      if (refusal !== null) return { outcome: 'refused', message: refusal, status: state.snapshot?.status ?? 'open' };
      state.deciding = true;
      try {
        const answer = await applyCaseDecision(input, decision);
        if (answer.status !== 'open') await readCase(input, state);
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

/** Sets Attention, shows the case, and waits until it is no longer open. */
async function untilDecided(input: ReviewCaseInput, state: CaseState): Promise<ReviewCaseSnapshot> {
  showAttention(attentionOf(input.reason));
  let paidAfterAll = false;
  for (;;) {
    const { snapshot } = state;
    if (snapshot === null) throw new Error('the case was not read');
    if (snapshot.status !== 'open' && !state.deciding) {
      showAttention(null);
      return snapshot;
    }
    setCurrentDetails(describeCase(input, snapshot, paidAfterAll));
    await condition(() => !state.deciding && (state.snapshot?.status !== 'open' || state.updated));
    if (state.snapshot?.status !== 'open') continue;
    state.updated = false;
    if (snapshot.attempts > 0) paidAfterAll = (await checkReturn(input)).rail === 'contradiction';
    const fresh = await readReviewCase(input);
    // A decision made meanwhile reads the case itself, later than this.
    if (!state.deciding && state.snapshot.status === 'open') state.snapshot = fresh;
  }
}
