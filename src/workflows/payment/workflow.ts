// The flow of one payment.
//
//   1. Wait for money until the payment expires.   The rail's callback signals `creditReceived`.
//   2. Confirm each credit, decide and post it.   Compensation: none; money that the payment does not take goes to
//      suspense, with a review case.
//   3. Retry a credit that the rail does not confirm, with growing delays, while everything else continues. After the
//      limit request an operator, who may set it aside: nothing is posted, and a review case is opened.
//   4. Settled or expired: close the account number, and end once all credits are placed. A later credit restarts the
//      flow.
//   5. The ledger refuses a posting that it must accept: park. Credits that arrive meanwhile are queued.
//
// A `virtual_wallet` payment is settled in the API, by the wallet that pays it. The signal `paymentSettledByWallet`
// ends its flow, with nothing left to do.
import { condition, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { type AttentionActivities, createAttention } from '../attention/park.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { createRailWaits } from '../railWait/waits.ts';
import { showState } from '../state.ts';
import { decideNext, type PaymentStep } from './decide.ts';
import { describePayment } from './details.ts';
import {
  creditReceived,
  type PaymentActivities,
  type PaymentInput,
  type PaymentProgress,
  type PaymentResult,
  paymentSettledByWallet,
  unplacedCredits,
} from './messages.ts';

const { applyCredit, expirePayment, closePaymentAccount, setAsideCredit, recordOperatorAction, identifyOperator } =
  proxyActivities<PaymentActivities & AttentionActivities>(MONEY_ACTIVITY);

export async function payment(input: PaymentInput): Promise<PaymentResult> {
  const attention = createAttention({ ...input, subject: input.paymentId }, { recordOperatorAction, identifyOperator });
  const rail = createRailWaits(attention);
  const fresh: string[] = [];
  const expiresAt = Date.parse(input.expiresAt);
  let progress: PaymentProgress = { status: 'pending', amountReceived: 0 };
  let shownStatus = progress.status;
  const isOpen = (): boolean => progress.status === 'pending' || progress.status === 'partial';
  const unplaced = (): string[] => [...fresh, ...rail.credits()];
  setHandler(creditReceived, ({ inboundCreditId }) => {
    if (!unplaced().includes(inboundCreditId)) fresh.push(inboundCreditId);
  });
  setHandler(paymentSettledByWallet, ({ amountReceived }) => {
    progress = { status: 'settled', amountReceived };
  });
  setHandler(unplacedCredits, unplaced);

  const runStep = async (step: Exclude<PaymentStep, { do: 'wait' | 'end' }>): Promise<void> => {
    const id = step.do === 'place' ? step.inboundCreditId : input.paymentId;
    progress = await attention.postOrPark(() => doStep(input, step, rail.isToBeSetAside(id)));
    if (fresh[0] === id) fresh.shift();
    rail.note(id, progress.incomplete);
  };

  setCurrentDetails(describePayment(input, progress, []));
  for (;;) {
    await rail.hearOperator();
    const step = decideNext({ isOpen: isOpen(), expiresAt, fresh, waits: rail.waits() }, Date.now());
    if (step.do === 'end') break;
    if (step.do === 'wait') {
      if (!rail.askForOperator()) setCurrentDetails(describePayment(input, progress, rail.waits()));
      const wasOpen = isOpen();
      const isWoken = (): boolean => fresh.length > 0 || isOpen() !== wasOpen || attention.isDecided();
      await condition(isWoken, Math.max(1, step.until - Date.now()));
      continue;
    }
    await runStep(step);
    const isUsualEnd = shownStatus === 'pending' && progress.status === 'settled';
    if (progress.status !== shownStatus && !isUsualEnd) {
      showState(progress.status);
      shownStatus = progress.status;
    }
  }
  rail.askForOperator(); // nothing waits any more: withdraws a request
  setCurrentDetails(`**${progress.status}**: ${progress.amountReceived} kobo received.`);
  return { status: progress.status };
}

async function doStep(
  input: PaymentInput,
  step: Exclude<PaymentStep, { do: 'wait' | 'end' }>,
  isToBeSetAside: boolean,
): Promise<PaymentProgress> {
  if (step.do === 'expire') return await expirePayment(input);
  if (step.do === 'closeAccount') return await closePaymentAccount(input);
  const credit = { inboundCreditId: step.inboundCreditId };
  return isToBeSetAside ? await setAsideCredit(input, credit) : await applyCredit(input, credit);
}
