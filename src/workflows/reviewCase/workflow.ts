// The flow of one review case.
//
//   1. Wait for an operator's decision (update `resolveCase`), unless the payment of the money says that it is to be
//      returned.   The money does not move until then. The signal `transferUpdated` reports what others changed: a
//      decision of the caller, a return posted as failed that was paid, a recall of the money, a break that cleared and
//      closed the case.
//   2. credit, move_to_unclaimed: posted at once (a credit of a large amount, or to another wallet, once a second
//      operator sends it too), and the case ends.   Compensation: none; an error is corrected by a
//      transfer.
//   3. return_to_sender: drive the bank transfer to its end.   Compensation: if it fails or is returned, the money goes
//      back to suspense and the case is open again.
//   4. close, retry: the case ends, and no money is posted; a retry that succeeds starts the flow of the credit.
//   5. The history is long: continue as new.
//   6. The owner of unclaimed money appears: the flow is restarted with a decision, as above.
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import { type BankTransferActivities, transferUpdated } from '../bankTransfer/messages.ts';
import { initialState } from '../bankTransfer/state.ts';
import type { FlowResult } from '../flows.ts';
import { CODE_TEXT, type Proposal, proposalText } from '../operators/details.ts';
import { type DecisionState, handleDecisions } from '../operators/handle.ts';
import type { AppliedDecision } from '../operators/messages.ts';
import { MONEY_ACTIVITY, RAIL_ACTIVITY } from '../options.ts';
import { showAttention, showState } from '../state.ts';
import { attentionOf, refuseDecision } from './decide.ts';
import { describeCase } from './details.ts';
import {
  type ReviewCaseActivities,
  type ReviewCaseInput,
  type ReviewCaseSnapshot,
  type ReviewDecision,
  resolveCase,
} from './messages.ts';

const { readReviewCase } = proxyActivities<ReviewCaseActivities>(MONEY_ACTIVITY);
const { applyCaseDecision, checkBankTransfer } = proxyActivities<ReviewCaseActivities & BankTransferActivities>(
  RAIL_ACTIVITY,
);

/** The statuses in which an operator may decide. */
const DECIDABLE = ['open', 'unclaimed'];

/** A proposal to pay out unclaimed money lapses after this time: a day for a second operator. */
const CLAIM_PROPOSED_MS = 86_400_000;

/** What the handlers change while the flow waits. */
interface CaseState extends DecisionState<ReviewCaseSnapshot> {
  /** A signal has arrived that was not acted on yet. */
  updated: boolean;
  /** A decision that waits for a second operator. */
  proposal: Proposal | null;
  /** Attention is set already. */
  isShown: boolean;
}

export async function reviewCase({ continued, waited, ...input }: ReviewCaseInput): Promise<FlowResult> {
  // A run that drove a transfer may have left a signal to be acted on.
  const { proposal = null, updated = continued !== undefined } = waited ?? {};
  const state: CaseState = { snapshot: null, deciding: false, updated, proposal, isShown: waited !== undefined };
  handleDecisions(resolveCase, state, {
    refuse: (decision) => {
      const isOpen = DECIDABLE.includes(state.snapshot?.status ?? 'open');
      return refuseDecision({ isOpen, reason: input.reason }, decision);
    },
    decide: (decision) => decide(input, state, decision),
  });
  handleUpdates(state);
  // A restarted flow continues from the state in the database.
  let snapshot = await readCase(input, state);
  if (snapshot.returnsUnasked && waited === undefined) snapshot = await returnUnasked(input, state);
  let transfer = continued;
  for (;;) {
    if (snapshot.status === 'open') {
      transfer = undefined;
      snapshot = await untilDecided(input, state);
    }
    if (snapshot.status === 'unclaimed') {
      snapshot = await untilClaimed(input, state);
      if (snapshot.status === 'open') continue;
    }
    if (snapshot.status !== 'returning' && !(snapshot.status === 'returned_to_sender' && state.updated)) break;
    state.updated = false; // driveBankTransfer handles the signal from here on
    const continued = transfer ?? { ...initialState(Date.now()), hasNews: snapshot.status === 'returned_to_sender' };
    await driveBankTransfer({ ...input, reference: snapshot.reference, continued });
    transfer = undefined;
    handleUpdates(state);
    snapshot = await readCase(input, state);
  }
  showState(snapshot.status);
  const clearedAt = snapshot.break?.clearedAt ?? null;
  const cleared = clearedAt === null ? '' : ` The reconciliation of ${clearedAt} no longer found the difference.`;
  setCurrentDetails(`**${snapshot.status}**: ${nairaText(input.amount)}.${cleared}`);
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

/** Carries the decision out, unless a second operator must send the same. */
async function decide(input: ReviewCaseInput, state: CaseState, sent: ReviewDecision): Promise<AppliedDecision> {
  const answer = await applyCaseDecision(input, sent);
  if (answer.outcome === 'proposed') {
    const { action, walletId, waiveFee, reason } = sent;
    const target = walletId === undefined ? action : `${action} to ${walletId}`;
    const decision = waiveFee === true ? `${target}, without the fee` : target;
    state.proposal = { operator: answer.operator ?? '', decision, reason };
  }
  if (answer.outcome === 'done') {
    state.proposal = null;
    await readCase(input, state);
  }
  return answer;
}

/** Begins to return the money. If it cannot be returned, because its sender is not known, an operator decides. */
async function returnUnasked(input: ReviewCaseInput, state: CaseState): Promise<ReviewCaseSnapshot> {
  state.deciding = true;
  try {
    await applyCaseDecision(input, null);
    return await readCase(input, state);
  } finally {
    state.deciding = false;
  }
}

/** Waits for what operators decide about unclaimed money, and for a second one if the decision needs two. */
async function untilClaimed(input: ReviewCaseInput, state: CaseState): Promise<ReviewCaseSnapshot> {
  for (;;) {
    await condition(allHandlersFinished);
    const { snapshot, proposal } = state;
    if (snapshot === null) throw new Error('the case was not read');
    if (snapshot.status !== 'unclaimed' || proposal === null) return snapshot;
    showAttention(attentionOf(input.reason));
    setCurrentDetails([proposalText(proposal), '', 'Send the update **resolveCase**.', '', CODE_TEXT].join('\n'));
    const isDecided = () => state.snapshot?.status !== 'unclaimed' || state.proposal !== proposal;
    const isInTime = await condition(() => !state.deciding && (isDecided() || state.updated), CLAIM_PROPOSED_MS, {
      summary: 'until the proposal is given up',
    });
    if (!isInTime) state.proposal = null;
    showAttention(null);
    if (state.updated) {
      state.updated = false;
      await readCase(input, state);
    }
  }
}

/** Sets Attention, shows the case, and waits until it is no longer open. */
async function untilDecided(input: ReviewCaseInput, state: CaseState): Promise<ReviewCaseSnapshot> {
  if (!state.isShown) showAttention(attentionOf(input.reason));
  state.isShown = false;
  let paidAfterAll = false;
  for (;;) {
    const { snapshot } = state;
    if (snapshot === null) throw new Error('the case was not read');
    if (snapshot.status !== 'open' && !state.deciding) {
      showAttention(null);
      return snapshot;
    }
    if (workflowInfo().continueAsNewSuggested && allHandlersFinished()) {
      const waited = { proposal: state.proposal, updated: state.updated || paidAfterAll };
      await continueAsNew<typeof reviewCase>({ ...input, waited });
    }
    const { proposal } = state;
    setCurrentDetails(describeCase(input, snapshot, paidAfterAll, proposal));
    const isNews = () => state.snapshot?.status !== 'open' || state.updated || state.proposal !== proposal;
    await condition(() => !state.deciding && isNews());
    if (state.snapshot?.status !== 'open' || !state.updated) continue;
    state.updated = false;
    if (snapshot.attempts > 0) paidAfterAll = (await checkBankTransfer(input)).rail === 'contradiction';
    const fresh = await readReviewCase(input);
    // A decision made meanwhile reads the case itself, later than this.
    if (!state.deciding && state.snapshot.status === 'open') state.snapshot = fresh;
  }
}
