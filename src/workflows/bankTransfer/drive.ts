// Driving one bank transfer to its end, the same way for withdrawals, refunds and payout items.
//
//   1. Give it to the rail by its fixed reference, unless the rail knows it.   A lost answer is unknown, never failed.
//   2. Wait for the rail's word, and ask for it.    Woken by `railReported`; asks by itself when no callback comes.
//   3. Unknown to the rail for good: the same reference is sent again; after the last send, the money goes back.
//   4. The rail paused by operations: nothing is sent, and the flow goes on by itself when it is resumed.
//   5. The rail away, silent or contradicting itself for too long: park, and do what an operator decides.
import { condition, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { decideAttention } from '../attention/decide.ts';
import type { Resolution } from '../attention/messages.ts';
import { type AttentionActivities, createAttention, type ParkedView } from '../attention/park.ts';
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
  let news = 0;
  setHandler(transferUpdated, () => {
    news += 1;
  });

  let step: TransferStep = 'send';
  let decision: OperatorDecision | null = null;
  let sends = 0;
  let sentAt = Date.now();
  let checks = 0; // since the last send
  let openSince = Date.now();
  let unreachableSince: number | null = null;
  for (;;) {
    const heard = news;
    setCurrentDetails(details(input, sends, step === 'send' ? 'is given to the rail' : 'is asked about'));
    const answer = await take(step, decision);
    const wasPaused = answer.rail === 'paused';
    if (wasPaused) setCurrentDetails(details(input, sends, STATUS_TEXT.paused));
    const { status, rail, limits } = wasPaused ? await waitForResume(step) : answer;
    decision = null;
    if (wasPaused) unreachableSince = null;
    if (step === 'send') {
      sends += 1;
      sentAt = Date.now();
      checks = 0;
      if (wasPaused) openSince = sentAt;
    }
    // With no news at all there is nothing to ask about what has ended: a flow that was started again, by a reset say.
    const isOver = rail === 'known' || rail === 'unknown' || (rail === 'unreachable' && news === 0);
    if (status !== 'processing' && isOver) {
      if (news === heard) {
        if (status !== 'completed') showState(status);
        setCurrentDetails(`**${status}**: ${input.amount} kobo, reference ${referenceOf(input)}.`);
        return status;
      }
      step = 'check'; // a bank may bounce what it has just confirmed
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
      await condition(() => news > heard, Math.max(1, Math.min(checkPauseMs(checks), limit)));
      checks += 1;
    }
  }
}

const referenceOf = ({ reference, transferId }: BankTransferInput): string => reference ?? transferId;

function decisionOf({ action, operator, reason }: Resolution): OperatorDecision | null {
  return action === 'complete' || action === 'fail'
    ? { outcome: action, reason: `Decided by ${operator}: ${reason}` }
    : null;
}

const STATUS_TEXT: Record<TransferProgress['rail'], string> = {
  known: 'is with the rail; waiting for its word',
  unknown: 'is not known to the rail (yet)',
  unreachable: 'waits: the rail does not answer',
  paused: 'waits: the rail is paused by operations. It goes on by itself within a minute after `rail resume`',
  contradiction: 'is spoken of by the rail in two ways: a person must look',
};

function details(input: BankTransferInput, sends: number, says: string): string {
  return [
    `**processing**: the transfer ${says}.`,
    '',
    '| | |',
    '|---|---|',
    `| reference at the rail | ${referenceOf(input)} |`,
    `| amount | ${input.amount} kobo, held in transit |`,
    `| given to the rail | ${sends} times |`,
  ].join('\n');
}

type RailCause = NonNullable<ReturnType<typeof decideAttention>>;

const PARKED: Record<RailCause, { summary: string; lastResponse: string }> = {
  rail_unreachable: {
    summary: 'The rail has not answered for longer than the limit, so nobody knows whether the money has left.',
    lastResponse: 'none: it cannot be reached',
  },
  outcome_unknown: {
    summary: 'The rail answers, but has not told the outcome within the limit.',
    lastResponse: 'no final one',
  },
  rail_contradiction: {
    summary: 'The rail now says something else than what was posted on its own earlier word.',
    lastResponse: 'the opposite of its earlier word; ask the bank in writing',
  },
};

function parkedView(input: BankTransferInput, cause: RailCause, status: TransferState): ParkedView {
  const stands: Record<TransferState, string> = {
    processing: 'held in transit',
    completed: 'paid out through the rail',
    failed: 'back in the wallet',
    returned: 'back in the wallet',
  };
  const { summary, lastResponse } = PARKED[cause];
  return {
    summary,
    lastResponse: { of: 'rail', words: lastResponse },
    fundsAtRisk: `${input.amount} kobo, ${stands[status]} (reference ${referenceOf(input)})`,
  };
}
