// The flow of one payment.
//
//   1. Wait for money until the payment expires.   The rail's callback signals `creditReceived`. The first credit
//      starts the flow. If there is none, the relay starts it when the payment expires.
//   2. Confirm each credit, decide and post it.   Compensation: none; money that the payment does not take goes to
//      suspense, with a review case.
//   3. Retry a credit that the rail does not confirm, with growing delays, while everything else continues. After the
//      limit request an operator, who may set it aside: nothing is posted, and a review case is opened.
//   4. Settled, expired or cancelled: close the account number, and end once all credits are applied. A later credit
//      restarts the flow.
//   5. Many credits at once are not all signalled: read those that are not applied yet. Also when the history is long,
//      after continuing as new.
//   6. The ledger refuses a posting that it must accept: park. Credits that arrive meanwhile are queued.
//
// A `virtual_wallet` payment is settled in the API, by the wallet that pays it, and any payment is cancelled there. The
// signal `paymentEnded` ends its flow; that of a cancelled one closes the account number first.
import {
  condition,
  continueAsNew,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import { createAttention } from '../attention/park.ts';
import { mustContinueAsNew } from '../continuation.ts';
import type { FlowResult } from '../flows.ts';
import { MONEY_ACTIVITY, ONE_TRY, RAIL_ACTIVITY } from '../options.ts';
import { inBackground } from '../priority.ts';
import { createRailWaits } from '../railWait/waits.ts';
import { showState } from '../state.ts';
import { decideNext, type PaymentStep, READ_AFTER_APPLIED } from './decide.ts';
import { describePayment } from './details.ts';
import {
  creditReceived,
  type PaymentActivities,
  type PaymentInput,
  type PaymentProgress,
  paymentEnded,
  type UnappliedCredits,
  unappliedCredits,
} from './messages.ts';

const { listUnappliedCredits } = proxyActivities<PaymentActivities>(MONEY_ACTIVITY);
const { applyCredit } = proxyActivities<PaymentActivities>(RAIL_ACTIVITY);

export async function payment({ continued, ...input }: PaymentInput): Promise<FlowResult> {
  const attention = createAttention(input, continued?.attention);
  const rail = createRailWaits(attention, continued?.rail);
  const fresh = new Set<string>();
  const expiresAt = Date.parse(input.expiresAt);
  let progress: PaymentProgress = continued?.progress ?? { status: 'pending', amountReceived: 0 };
  let shownStatus = continued?.shownStatus ?? progress.status;
  let isCancelled = progress.status === 'cancelled'; // until the account number is closed
  let applied = 0; // credits, since those that were not signalled were read
  const isOpen = (): boolean => progress.status === 'pending' || progress.status === 'partial';
  const nextStep = (): PaymentStep =>
    decideNext({ isOpen: isOpen(), isCancelled, expiresAt, fresh: [...fresh], waits: rail.waits() }, Date.now());
  const unapplied = (): string[] => [...fresh, ...rail.credits()];
  const enqueueCredit = (inboundCreditId: string): void => {
    if (!rail.credits().includes(inboundCreditId)) fresh.add(inboundCreditId);
  };
  setHandler(creditReceived, ({ inboundCreditId }) => enqueueCredit(inboundCreditId));
  setHandler(paymentEnded, (ended) => {
    progress = ended;
    isCancelled = ended.status === 'cancelled';
  });
  setHandler(unappliedCredits, unapplied);

  const runStep = async (step: Exclude<PaymentStep, { do: 'wait' | 'end' }>): Promise<void> => {
    const id = step.do === 'applyCredit' ? step.inboundCreditId : input.paymentId;
    progress = await attention.postOrPark(() => doStep(input, step, rail));
    if (fresh.delete(id)) applied += 1;
    if (step.do === 'closeAccount') isCancelled = false;
    rail.note(id, progress.incomplete);
    for (const unapplied of progress.unapplied ?? []) enqueueCredit(unapplied);
  };

  setCurrentDetails(describePayment(input, progress, []));
  if (continued !== undefined) await eachUnappliedCredit(input, enqueueCredit);
  for (;;) {
    if (await mustContinueAsNew(attention)) {
      if (nextStep().do === 'end') break;
      const { status, amountReceived } = progress;
      const carried = { progress: { status, amountReceived }, shownStatus, rail: rail.carried() };
      await continueAsNew<typeof payment>({ ...input, continued: { ...carried, ...attention.carried() } });
    }
    if (fresh.size === 0 && applied >= READ_AFTER_APPLIED) {
      await eachUnappliedCredit(input, enqueueCredit);
      applied = 0;
    }
    rail.applyDecision();
    const step = nextStep();
    if (step.do === 'end') break;
    if (step.do === 'wait') {
      if (!rail.requestOperator()) setCurrentDetails(describePayment(input, progress, rail.waits()));
      const wasOpen = isOpen();
      const isDue = (): boolean => fresh.size > 0 || isOpen() !== wasOpen || attention.isDecided();
      await condition(isDue, Math.max(1, step.until - Date.now()), {
        summary: 'until the payment expires, or the rail is queried again',
      });
      continue;
    }
    await runStep(step);
    const isUsualEnd = shownStatus === 'pending' && progress.status === 'settled';
    if (progress.status !== shownStatus && !isUsualEnd) {
      showState(progress.status);
      shownStatus = progress.status;
    }
  }
  rail.requestOperator(); // nothing waits any more: withdraws a request
  setCurrentDetails(`**${progress.status}**: ${nairaText(progress.amountReceived)} received.`);
  return { status: progress.status };
}

/** Reads the credits that are not applied yet: they were signalled to the run before this one, or not at all. */
async function eachUnappliedCredit(
  input: PaymentInput,
  enqueueCredit: (inboundCreditId: string) => void,
): Promise<void> {
  for (let after: string | null = null; ; ) {
    const { inboundCreditIds, hasMore }: UnappliedCredits = await listUnappliedCredits(input, after);
    for (const id of inboundCreditIds) enqueueCredit(id);
    if (!hasMore) return;
    after = inboundCreditIds.at(-1) ?? null;
  }
}

/** Inside of the workflow task: a third of the cost of an activity. Null if that fails: the activity shows why. */
async function expireInTask(input: PaymentInput, waiting: readonly string[]): Promise<PaymentProgress | null> {
  try {
    return await proxyLocalActivities<PaymentActivities>(ONE_TRY).expirePayment(input, waiting);
  } catch (error) {
    if (isCancellation(error)) throw error;
    return null;
  }
}

async function doStep(
  input: PaymentInput,
  step: Exclude<PaymentStep, { do: 'wait' | 'end' }>,
  rail: Pick<ReturnType<typeof createRailWaits>, 'credits' | 'setAsideBy'>,
): Promise<PaymentProgress> {
  // By the ten thousand when many payments expire together: a credit must not wait behind them.
  const priority = inBackground(input);
  const { expirePayment } = proxyActivities<PaymentActivities>({ ...MONEY_ACTIVITY, priority });
  const { closePaymentAccount } = proxyActivities<PaymentActivities>({ ...RAIL_ACTIVITY, priority });
  const waiting = rail.credits();
  if (step.do === 'expire') return (await expireInTask(input, waiting)) ?? (await expirePayment(input, waiting));
  if (step.do === 'closeAccount') return await closePaymentAccount(input);
  const { inboundCreditId } = step;
  return await applyCredit(input, { inboundCreditId, setAside: rail.setAsideBy(inboundCreditId) });
}
