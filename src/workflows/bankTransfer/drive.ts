// Drives one bank transfer to its end, for withdrawals, refunds, payout items and returns to the sender.
//
//   1. Send it to the rail under its fixed reference, unless the rail knows the reference.   If the response is lost,
//      the outcome is unknown, never failed.
//   2. Wait for the rail's final status.   The signal `transferUpdated` triggers a query; without one, the flow polls.
//   3. The reference stays unknown to the rail: the same reference is sent again; after the last send, the money goes
//      back. Never if the rail has known it before: then an operator is requested.
//   4. The rail is paused by operations: nothing is sent, and the flow waits for the signal `railResumed`.
//   5. The rail does not accept it for now, as its balance is too low for example: the same reference is sent again
//      later, which counts as no send; after a limit an operator is requested.
//   6. The rail is unreachable or reports no outcome for too long, or contradicts itself: request an operator, and
//      apply the decision. Meanwhile a signal or a timer triggers a query; if the cause is gone, the request is
//      withdrawn.
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
  type TransferKnowledge,
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
    const { rail, notReady } = progress;
    status = progress.status;
    noteStep(flow, progress, Date.now());
    if (status !== 'processing' && isOver(flow, progress)) {
      if (signals === seen && !attention.isDecided()) break;
      flow.step = 'check'; // a bank may return a transfer that it has just confirmed
      continue;
    }
    const known = knowledgeOf(flow, progress, Date.now());
    const limits = { ...progress.limits, outcomeUnknownMs: outcomeOpenMaxMs(known, progress.limits) };
    flow.step = decideStep(flow.step, known, limits);
    if (flow.step !== 'check' && rail !== 'paused' && rail !== 'not_ready') continue;
    const cause = decideAttention(known, limits);
    const view = cause === null || cause === 'rail_paused' ? null : parkedView(input, cause, status, notReady);
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

const initialState = (now: number): NonNullable<BankTransferInput['continued']> => ({
  step: 'send',
  sends: 0,
  sentAt: now,
  checks: 0,
  openSince: now,
  unreachableSince: null,
  pausedChecks: 0,
  knowsReference: false,
  hasNews: false,
});

/** After an operator's decision: the limits count from now. */
function restartLimits(flow: TransferFlowState, now: number): void {
  flow.openSince = now;
  flow.unreachableSince = null;
  // A step that the rail was paused or not ready for has not been taken yet.
  if (flow.pausedChecks === 0 && flow.notReady === undefined) flow.step = 'check';
  if (flow.notReady !== undefined) flow.notReady = { since: now, attempts: 0 };
}

async function takeStep(
  input: BankTransferInput,
  step: TransferStep,
  decision: Decision | null,
): Promise<TransferProgress> {
  const decided = decision && decisionOf(decision);
  return decided === null ? await STEPS[step](input) : await applyBankTransferDecision(input, decided);
}

function noteStep(flow: TransferFlowState, { rail, knowsReference, sends }: TransferProgress, now: number): void {
  if (knowsReference || rail === 'known' || rail === 'contradiction') flow.knowsReference = true;
  flow.unreachableSince = rail === 'unreachable' ? (flow.unreachableSince ?? now) : null;
  if (rail === 'paused') {
    flow.pausedChecks += 1;
    return;
  }
  flow.pausedChecks = 0;
  if (rail === 'not_ready') {
    const { since, attempts } = flow.notReady ?? { since: now, attempts: 0 };
    flow.notReady = { since, attempts: attempts + 1 };
    return;
  }
  flow.notReady = undefined;
  flow.checks += 1;
  if (sends === undefined || sends.count === flow.sends) return;
  flow.sends = sends.count;
  flow.sentAt = now - sends.sinceMs;
  if (flow.step !== 'send') return;
  flow.checks = 0;
  flow.openSince = now;
}

const knowledgeOf = (
  { sentAt, openSince, unreachableSince, notReady: refused, ...flow }: TransferFlowState,
  { rail, notReady }: TransferProgress,
  now: number,
): TransferKnowledge => ({
  ...flow,
  rail,
  sinceSendMs: now - sentAt,
  openForMs: now - openSince,
  unreachableForMs: now - (unreachableSince ?? now),
  notReadyForMs: now - (refused?.since ?? now),
  notReadyAttempts: refused?.attempts ?? 0,
  retryAfterMs: notReady?.retryAfterMs ?? 0,
});

/**
 * Whether a transfer that has ended needs nothing more. A flow restarted after the end, by a reset for example, needs
 * no response from the rail unless a signal has arrived.
 */
const isOver = ({ hasNews }: TransferFlowState, { rail }: TransferProgress): boolean =>
  rail === 'known' || rail === 'unknown' || ((rail === 'unreachable' || rail === 'not_ready') && !hasNews);

function decisionOf({ action, reason, sent }: Decision): OperatorDecision | null {
  return action === 'complete' || action === 'fail' || action === 'return'
    ? { outcome: action, reason: `Decided by operators: ${reason}`, sent }
    : null;
}
