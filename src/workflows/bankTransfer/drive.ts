// Drives one bank transfer to its end, for withdrawals, refunds, payout items and returns to the sender.
//
//   1. Send it to the rail under its fixed reference, unless the rail knows the reference.   If the response is lost,
//      the outcome is unknown, never failed.
//   2. Wait for the rail's final status.   The signal `transferUpdated` triggers a query; without one, the flow polls.
//   3. The reference stays unknown to the rail: the same reference is sent again; after the last send, the money goes
//      back.
//   4. The rail is paused by operations: nothing is sent, and the flow continues once the rail is resumed.
//   5. The rail is unreachable or reports no outcome for too long, or contradicts itself: park, and apply the
//      operator's decision.
import { condition, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { decideAttention } from '../attention/decide.ts';
import { type AttentionActivities, createAttention, type Decision, type ParkedView } from '../attention/park.ts';
import { showState } from '../state.ts';
import { checkPauseMs, decideStep, type TransferState, type TransferStep } from './decide.ts';
import {
  type BankTransferInput,
  type OperatorDecision,
  type TransferActivity,
  type TransferDecisionActivity,
  type TransferProgress,
  transferUpdated,
} from './messages.ts';

export type BankTransferSteps<Input> = Record<TransferStep, TransferActivity<Input>> & {
  decide: TransferDecisionActivity<Input>;
};

export async function driveBankTransfer<Input extends BankTransferInput>(
  input: Input,
  steps: BankTransferSteps<Input>,
  activities: AttentionActivities,
): Promise<TransferState> {
  const attention = createAttention({ ...input, subject: input.transferId }, activities);
  const take = (step: TransferStep, decision: OperatorDecision | null) =>
    attention.postOrPark(() => (decision === null ? steps[step](input) : steps.decide(input, decision)));
  const waitForResume = (step: TransferStep) =>
    attention.postOrPark(() => attention.showAttentionWhile('rail_paused', () => steps[step](input, 'wait')));
  let updates = 0;
  setHandler(transferUpdated, () => {
    updates += 1;
  });

  let step: TransferStep = 'send';
  let decision: OperatorDecision | null = null;
  let sends = 0;
  let sentAt = Date.now();
  let checks = 0; // since the last send
  let openSince = Date.now();
  let unreachableSince: number | null = null;
  for (;;) {
    const updatesSeen = updates;
    setCurrentDetails(
      details(input, sends, step === 'send' ? 'is being sent to the rail' : 'is being queried at the rail'),
    );
    const progress = await take(step, decision);
    const wasPaused = progress.rail === 'paused';
    if (wasPaused) setCurrentDetails(details(input, sends, STATUS_TEXT.paused));
    const { status, rail, limits } = wasPaused ? await waitForResume(step) : progress;
    decision = null;
    if (wasPaused) unreachableSince = null;
    if (step === 'send') {
      sends += 1;
      sentAt = Date.now();
      checks = 0;
      if (wasPaused) openSince = sentAt;
    }
    // A flow restarted after the transfer has ended, by a reset for example, needs no response from the rail unless a
    // signal has arrived.
    const isOver = rail === 'known' || rail === 'unknown' || (rail === 'unreachable' && updates === 0);
    if (status !== 'processing' && isOver) {
      if (updates === updatesSeen) {
        if (status !== 'completed') showState(status);
        setCurrentDetails(`**${status}**: ${input.amount} kobo, reference ${referenceOf(input)}.`);
        return status;
      }
      step = 'check'; // a bank may return a transfer that it has just confirmed
      continue;
    }

    unreachableSince = rail === 'unreachable' ? (unreachableSince ?? Date.now()) : null;
    const unreachableForMs = unreachableSince === null ? 0 : Date.now() - unreachableSince;
    const cause = decideAttention({ rail, unreachableForMs, openForMs: Date.now() - openSince }, limits);
    if (cause !== null) {
      const resolution = await attention.park(cause, parkedView(input, cause, status));
      if (resolution.action === 'dismiss') {
        if (status !== 'completed') showState(status);
        return status;
      }
      decision = decisionOf(resolution);
      step = 'check';
      openSince = Date.now();
      unreachableSince = null;
      continue;
    }

    const { unknownIsFinalAfterMs } = limits;
    step = decideStep({ rail, sends, sinceSendMs: Date.now() - sentAt, unknownIsFinalAfterMs });
    if (step === 'check') {
      setCurrentDetails(details(input, sends, STATUS_TEXT[rail]));
      const limit = rail === 'unreachable' ? limits.railUnreachableMs - unreachableForMs : limits.outcomeUnknownMs;
      await condition(() => updates > updatesSeen, Math.max(1, Math.min(checkPauseMs(checks), limit)));
      checks += 1;
    }
  }
}

const referenceOf = ({ reference, transferId }: BankTransferInput): string => reference ?? transferId;

function decisionOf({ action, reason, audit }: Decision): OperatorDecision | null {
  return action === 'complete' || action === 'fail' || action === 'return'
    ? { outcome: action, reason: `Decided by operators: ${reason}`, audit }
    : null;
}

const STATUS_TEXT: Record<TransferProgress['rail'], string> = {
  known: 'is with the rail; waiting for its final status',
  unknown: 'is not known to the rail yet; waiting',
  unreachable: 'is waiting: the rail does not respond',
  paused: 'is waiting: the rail is paused by operations. It continues within a minute after `rail resume`',
  contradiction: 'has contradictory statuses at the rail: an operator must decide',
};

function details(input: BankTransferInput, sends: number, activity: string): string {
  return [
    `**processing**: the transfer ${activity}.`,
    '',
    '| | |',
    '|---|---|',
    `| reference at the rail | ${referenceOf(input)} |`,
    `| amount | ${input.amount} kobo, held in transit |`,
    `| sends to the rail | ${sends} |`,
  ].join('\n');
}

type RailCause = NonNullable<ReturnType<typeof decideAttention>>;

const PARKED: Record<RailCause, { summary: string; lastResponse: string }> = {
  rail_unreachable: {
    summary: 'The rail has not responded for longer than the limit, so it is unknown whether the money was paid out.',
    lastResponse: 'none (unreachable)',
  },
  outcome_unknown: {
    summary: 'The rail responds, but has not reported a final status within the limit.',
    lastResponse: 'no final status',
  },
  rail_contradiction: {
    summary: 'The rail now reports a status that contradicts what was posted on its earlier report.',
    lastResponse: 'a status that contradicts its earlier report; ask the bank in writing',
  },
};

function parkedView(input: BankTransferInput, cause: RailCause, status: TransferState): ParkedView {
  const location: Record<TransferState, string> = {
    processing: 'held in transit',
    completed: 'posted as paid out through the rail',
    failed: 'posted as failed, back in the wallet or in suspense',
    returned: 'posted as returned, back in the wallet or in suspense',
  };
  const { summary, lastResponse } = PARKED[cause];
  return {
    summary: `${summary} Nothing is posted while this flow is parked.`,
    lastResponse: { of: 'rail', words: lastResponse },
    fundsAtRisk: `${input.amount} kobo, ${location[status]} (reference ${referenceOf(input)})`,
  };
}
