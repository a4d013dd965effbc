// Drives one bank transfer to its end, for withdrawals, refunds, payout items and returns to the sender.
//
//   1. Send it to the rail under its fixed reference, unless the rail knows the reference.   If the response is lost,
//      the outcome is unknown, never failed.
//   2. Wait for the rail's final status.   The signal `transferUpdated` triggers a query; without one, the flow polls.
//   3. The reference stays unknown to the rail for as long as that may hide what it accepted: if it was refused, the
//      money goes back; if not, the same reference is sent again. After the last send the money goes back, if the
//      rail's silence is final. Never if the rail has known it before: then an operator is requested.
//   4. The rail is paused by operations: nothing is sent, and the flow waits for the signal `railResumed`.
//   5. The rail does not accept it for now, as its balance is too low for example: the same reference is sent again
//      later, which counts as no send; after a limit an operator is requested.
//   6. The rail is unreachable or reports no outcome for too long, or contradicts itself: request an operator, and
//      apply the decision. Meanwhile a signal or a timer triggers the step; if the cause is gone, the request is
//      withdrawn. What was never sent is sent when operators ask for it, even if the query of its status fails.
//   7. The history is long: continue as new at the same place.
import { condition, continueAsNew, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import { createAttention, type Decision } from '../attention/park.ts';
import { mustContinueAsNew } from '../continuation.ts';
import { RAIL_ACTIVITY } from '../options.ts';
import { showState } from '../state.ts';
import {
  decideAttention,
  decideStep,
  outcomeOpenMaxMs,
  type TransferState,
  type TransferStep,
  waitMs,
} from './decide.ts';
import { describeStep, describeWait, parkedView, referenceOf } from './details.ts';
import {
  type BankTransferActivities,
  type BankTransferInput,
  type OperatorDecision,
  railResumed,
  type TransferFlowState,
  type TransferProgress,
  transferUpdated,
} from './messages.ts';
import { initialState, knowledgeOf, noteStep, restartLimits } from './state.ts';

const { sendBankTransfer, checkBankTransfer, markBankTransferUnsent, applyBankTransferDecision } =
  proxyActivities<BankTransferActivities>(RAIL_ACTIVITY);

const STEPS = { send: sendBankTransfer, check: checkBankTransfer, mark_unsent: markBankTransferUnsent };

export async function driveBankTransfer({ continued, ...input }: BankTransferInput): Promise<TransferState> {
  const { attention: carried, ...before } = continued ?? initialState(Date.now());
  const attention = createAttention(input, carried);
  const flow: TransferFlowState = before;
  let signals = 0;
  setHandler(transferUpdated, () => {
    signals += 1;
    flow.hasNews = true;
  });
  setHandler(railResumed, () => {
    signals += 1;
  });

  let status: TransferState = 'processing';
  for (;;) {
    if (await mustContinueAsNew(attention)) {
      // The new run begins with a step, and so acts on every signal of this one.
      await continueAsNew({ ...input, continued: { ...flow, ...attention.carried() } });
    }
    const seen = signals;
    const decision = attention.takeDecision();
    if (decision?.action === 'dismiss') break;
    if (decision !== null) restartLimits(flow, Date.now());
    if (attention.carried() === null) setCurrentDetails(describeStep(input, flow));
    const progress = await attention.postOrPark(() => takeStep(input, flow.step, decision));
    const { rail } = progress;
    status = progress.status;
    noteStep(flow, progress, Date.now());
    if (status !== 'processing' && isOver(flow, progress)) {
      if (signals === seen && !attention.isDecided()) break;
      flow.step = 'check'; // a bank may return a transfer that it has just confirmed
      continue;
    }
    const known = knowledgeOf(flow, progress, Date.now());
    const limits = { ...progress.limits, outcomeUnknownMs: outcomeOpenMaxMs(known, progress.limits) };
    const taken = flow.step;
    flow.step = decideStep(taken, known, limits);
    if (rail === 'unknown' && flow.step !== 'check' && flow.step !== taken) continue;
    const cause = decideAttention(known, limits);
    const view = cause === null || cause === 'rail_paused' ? null : parkedView(input, cause, flow, progress);
    attention.raise(cause && { cause, view });
    if (cause === null || cause === 'rail_paused') setCurrentDetails(describeWait(input, flow, progress));
    const timeout = waitMs(known, limits, cause !== null, 0.75 + Math.random() / 2);
    await condition(() => signals > seen || attention.isDecided(), timeout, {
      summary: 'until the rail is queried again',
    });
  }
  attention.raise(null);
  if (status !== 'completed') showState(status);
  setCurrentDetails(`**${status}**: ${nairaText(input.amount)}, reference ${referenceOf(input)}.`);
  return status;
}

async function takeStep(
  input: BankTransferInput,
  step: TransferStep,
  decision: Decision | null,
): Promise<TransferProgress> {
  const decided = decision && decisionOf(decision);
  if (decided !== null) return await applyBankTransferDecision(input, decided);
  return await (step === 'send' && decision !== null ? sendBankTransfer(input, true) : STEPS[step](input));
}

/** A flow restarted after the end needs no response from the rail unless a signal has arrived. */
const isOver = ({ hasNews }: TransferFlowState, { rail }: TransferProgress): boolean =>
  rail === 'known' || rail === 'unknown' || ((rail === 'unreachable' || rail === 'not_ready') && !hasNews);

function decisionOf({ action, reason, sent }: Decision): OperatorDecision | null {
  return action === 'complete' || action === 'fail' || action === 'return'
    ? { outcome: action, reason: `Decided by operators: ${reason}`, sent }
    : null;
}
