// The current details of a bank transfer in the Temporal UI, and what an operator reads when its flow is parked.
import { nairaText } from '../../money.ts';
import { CHOICES, type Choices } from '../attention/decide.ts';
import type { ParkedView } from '../attention/park.ts';
import type { decideAttention, TransferState } from './decide.ts';
import type { BankTransferInput, NotReady, TransferFlowState, TransferProgress } from './messages.ts';

export const referenceOf = ({ reference, transferId }: BankTransferInput): string => reference ?? transferId;

export const describeStep = (input: BankTransferInput, flow: TransferFlowState): string =>
  details(input, flow, flow.step === 'send' ? 'is being sent to the rail' : 'is being queried at the rail');

const NOT_READY: Record<NotReady['why'], { reason: string; remedy: string }> = {
  underfunded: {
    reason: 'the balance that the rail pays from is too low',
    remedy: 'Fund that balance at the provider, or wait for its settlement. `rail show` prints the balance.',
  },
  duplicate_guard: {
    reason: 'the rail takes it for a duplicate of an equal transfer to the same account',
    remedy: "It is sent again after the provider's interval. If it is still refused, ask the provider.",
  },
  rate_limited: {
    reason: 'the rail accepts no more requests for now',
    remedy: 'Lower RAIL_ACTIVITIES_PER_SECOND of the workers, or agree on more calls with the provider.',
  },
  unauthorised: {
    reason: 'the rail does not accept our credentials or our address',
    remedy: 'Check the credentials (`rail rotate`), and the addresses that the provider allows.',
  },
  feature_off: {
    reason: 'the contract lacks a feature that the transfer needs',
    remedy: 'Ask the provider to switch it on. `rail check` prints which one.',
  },
};

/** What waits for money of a book with a shortfall needs own money, and not only that of the next settlement. */
function explain({ why, shortfall = 0 }: NotReady): { reason: string; remedy: string } {
  const { reason, remedy } = NOT_READY[why];
  if (shortfall === 0) return { reason, remedy };
  const missing = nairaText(shortfall);
  return {
    reason: `${reason}, and the banks hold ${missing} less than customers and the state are owed (a shortfall)`,
    remedy: `Pay ${missing} of own money in at the provider: its statement has that as funding.`,
  };
}

const WAITS: Record<TransferProgress['rail'], string> = {
  known: 'is with the rail, which has not reported a final status yet',
  unknown: 'is not known to the rail yet',
  unreachable: 'is waiting: the rail does not respond',
  not_ready: 'is waiting: the rail does not accept it for now',
  paused: 'is waiting: an operator has paused the rail. It continues within a minute of `rail resume`',
  contradiction: 'has contradictory statuses at the rail. An operator must decide',
};

const REFUSED = 'was refused by the rail. The money goes back once it is certain that the rail did not accept it';

export const describeWait = (
  input: BankTransferInput,
  flow: TransferFlowState,
  { rail, notReady }: Pick<TransferProgress, 'rail' | 'notReady'>,
): string =>
  details(
    input,
    flow,
    notReady === undefined
      ? rail === 'unknown' && flow.isRefused
        ? REFUSED
        : WAITS[rail]
      : `is waiting: ${explain(notReady).reason}. ${explain(notReady).remedy} It continues automatically`,
  );

function details(input: BankTransferInput, { sends }: TransferFlowState, activity: string): string {
  return [
    `**processing**: the transfer ${activity}.`,
    '',
    '| | |',
    '|---|---|',
    `| reference at the rail | ${referenceOf(input)} |`,
    `| amount | ${nairaText(input.amount)}, held in transit |`,
    `| sends to the rail | ${sends} |`,
  ].join('\n');
}

type ParkedCause = Exclude<NonNullable<ReturnType<typeof decideAttention>>, 'rail_paused'>;

const PARKED: Record<Exclude<ParkedCause, 'rail_not_ready'>, { summary: string; lastResponse: string }> = {
  rail_unreachable: {
    summary: 'The rail has not responded for longer than the limit, so it is unknown whether the money was paid out.',
    lastResponse: 'none, or none that is certain; `attention show` prints it',
  },
  outcome_unknown: {
    summary:
      'The rail has not reported a final status within the limit, or no longer knows a reference that it has known.',
    lastResponse: 'no final status',
  },
  rail_contradiction: {
    summary: 'The rail now reports a status that contradicts what was posted on its earlier report.',
    lastResponse: 'a status that contradicts its earlier report; ask the bank in writing',
  },
};

const LOCATION: Record<TransferState, string> = {
  processing: 'held in transit',
  completed: 'posted as paid out through the rail',
  failed: 'posted as failed, back in the wallet or in suspense',
  returned: 'posted as returned, back in the wallet or in suspense',
};

const { return: _return, ...WITHOUT_RETURN } = CHOICES.rail_contradiction;

/** What can be decided in each state, whatever hides the next one. */
const CHOICES_IN: Record<TransferState, Choices> = {
  processing: CHOICES.rail_unreachable,
  completed: CHOICES.rail_contradiction,
  failed: WITHOUT_RETURN,
  returned: WITHOUT_RETURN,
};

export function parkedView(
  input: BankTransferInput,
  cause: ParkedCause,
  flow: Pick<TransferFlowState, 'sends' | 'knowsReference'>,
  { status, notReady, sends }: Pick<TransferProgress, 'status' | 'notReady' | 'sends'>,
): ParkedView {
  if (status === 'processing' && (sends?.count ?? flow.sends) === 0 && !flow.knowsReference)
    return cause === 'rail_not_ready' ? notReadyView(input, notReady) : unsentView(input);
  const { summary, lastResponse } = cause === 'rail_not_ready' ? queryRefused(notReady) : PARKED[cause];
  return {
    summary:
      `${summary} The flow queries the rail every 15 minutes and after each callback, and continues by itself once the ` +
      'rail has an answer. Nothing is posted until then.',
    lastResponse: { of: 'rail', text: lastResponse },
    fundsAtRisk: `${nairaText(input.amount)}, ${LOCATION[status]} (reference ${referenceOf(input)})`,
    choices: CHOICES_IN[status],
  };
}

/** The query before the first send has no answer, or none that the adapter understands. */
const unsentView = (input: BankTransferInput): ParkedView => ({
  summary:
    'Nothing was sent: the rail must first report that it does not have the transfer, and has not done so for longer ' +
    'than the limit. The flow queries it every 15 minutes, and sends the transfer once the rail has an answer. The ' +
    'action retry sends it without one.',
  lastResponse: { of: 'rail', text: 'none, or none that is certain; `attention show` prints it' },
  fundsAtRisk: `none: ${nairaText(input.amount)}, held in transit (reference ${referenceOf(input)})`,
});

const UNKNOWN_WHY: NotReady = { why: 'unauthorised', retryAfterMs: null };

/** The transfer was sent before. */
function queryRefused(notReady: NotReady = UNKNOWN_WHY): { summary: string; lastResponse: string } {
  const { reason, remedy } = explain(notReady);
  return {
    summary: `It is unknown whether the money was paid out: for longer than the limit ${reason}. ${remedy}`,
    lastResponse: `not accepted (${notReady.why})`,
  };
}

/** The rail did not accept the transfer, so it was certainly not paid out. */
function notReadyView(input: BankTransferInput, notReady: NotReady | undefined): ParkedView {
  const { reason, remedy } = explain(notReady ?? UNKNOWN_WHY);
  return {
    summary:
      `The rail has not accepted the transfer for longer than the limit: ${reason}. ${remedy} Nothing was paid out. The ` +
      'flow sends the same reference again, at least every 15 minutes.',
    lastResponse: { of: 'rail', text: `not accepted (${notReady?.why ?? 'unknown'})` },
    fundsAtRisk: `none: ${nairaText(input.amount)}, held in transit (reference ${referenceOf(input)})`,
  };
}
