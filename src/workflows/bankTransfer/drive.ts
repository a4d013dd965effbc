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
import { condition, continueAsNew, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import { decideAttention } from '../attention/decide.ts';
import { createAttention, type Decision } from '../attention/park.ts';
import { mustContinueAsNew } from '../continuation.ts';
import { showState } from '../state.ts';
import { decideStep, outcomeOpenMaxMs, type TransferState, type TransferStep, waitMs } from './decide.ts';
import { describeStep, describeWait, parkedView, referenceOf } from './details.ts';
import {
  type BankTransferInput,
  type OperatorDecision,
  railResumed,
  type TransferActivity,
  type TransferDecisionActivity,
  type TransferFlowState,
  type TransferProgress,
  transferUpdated,
} from './messages.ts';

export type BankTransferSteps<Input> = Record<TransferStep, TransferActivity<Input>> & {
  decide: TransferDecisionActivity<Input>;
};

export async function driveBankTransfer<Input extends BankTransferInput>(
  { continued, ...scope }: Input,
  steps: BankTransferSteps<Input>,
): Promise<TransferState> {
  const input = scope as Input;
  const attention = createAttention({ ...input, subject: input.transferId }, continued?.attention);
  const flow = continued ?? initialState(Date.now());
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
    const decision = await attention.takeDecision();
    if (decision?.action === 'dismiss') break;
    if (decision !== null) restartLimits(flow, Date.now());
    if (attention.carried() === null) setCurrentDetails(describeStep(input, flow));
    const progress = await attention.postOrPark(() => takeStep(steps, input, flow.step, decision));
    const { rail, notReady } = progress;
    status = progress.status;
    noteStep(flow, progress, Date.now());
    const limits = { ...progress.limits, outcomeUnknownMs: outcomeOpenMaxMs({ ...flow, rail }, progress.limits) };

    if (status !== 'processing' && isOver(flow, progress)) {
      if (signals === seen && !attention.isDecided()) break;
      flow.step = 'check'; // a bank may return a transfer that it has just confirmed
      continue;
    }
    const now = Date.now();
    const notReadyForMs = now - (flow.notReady?.since ?? now);
    const unreachableForMs = flow.unreachableSince === null ? 0 : now - flow.unreachableSince;
    flow.step = decideStep(flow.step, { ...flow, rail, sinceSendMs: now - flow.sentAt, ...limits });
    if (flow.step !== 'check' && rail !== 'paused' && rail !== 'not_ready') continue;
    const cause = decideAttention({ rail, unreachableForMs, notReadyForMs, openForMs: now - flow.openSince }, limits);
    const view = cause === null || cause === 'rail_paused' ? null : parkedView(input, cause, status, notReady);
    attention.raise(cause && { cause, view });
    if (cause === null || cause === 'rail_paused') setCurrentDetails(describeWait(input, flow, progress));
    const wait = { ...flow, rail, isParked: cause !== null, unreachableForMs, notReadyForMs };
    const spread = 0.75 + Math.random() / 2;
    const timeout = waitMs({ ...wait, notReadyAttempts: flow.notReady?.attempts ?? 0, ...notReady }, limits, spread);
    await condition(() => signals > seen || attention.isDecided(), timeout, {
      summary: 'until the rail is queried again',
    });
  }
  attention.raise(null);
  if (status !== 'completed') showState(status);
  setCurrentDetails(`**${status}**: ${nairaText(input.amount)}, reference ${referenceOf(input)}.`);
  return status;
}

const initialState = (now: number): TransferFlowState => ({
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

const takeStep = async <Input>(
  steps: BankTransferSteps<Input>,
  input: Input,
  step: TransferStep,
  decision: Decision | null,
): Promise<TransferProgress> => {
  const decided = decision && decisionOf(decision);
  return decided === null ? await steps[step](input) : await steps.decide(input, decided);
};

function noteStep(flow: TransferFlowState, { rail, knowsReference }: TransferProgress, now: number): void {
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
  if (flow.step !== 'send') return;
  flow.sends += 1;
  flow.checks = 0;
  flow.sentAt = now;
  flow.openSince = now;
}

/**
 * Whether a transfer that has ended needs nothing more. A flow restarted after the end, by a reset for example, needs
 * no response from the rail unless a signal has arrived.
 */
const isOver = ({ hasNews }: TransferFlowState, { rail }: TransferProgress): boolean =>
  rail === 'known' || rail === 'unknown' || ((rail === 'unreachable' || rail === 'not_ready') && !hasNews);

function decisionOf({ action, reason, audit }: Decision): OperatorDecision | null {
  return action === 'complete' || action === 'fail' || action === 'return'
    ? { outcome: action, reason: `Decided by operators: ${reason}`, audit }
    : null;
}
