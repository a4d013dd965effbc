// The flow of one payment.
//
//   1. Wait for money until the payment expires.    Woken by `creditReceived`, which the rail's callback sends.
//   2. Each credit is confirmed, decided and posted. Undo: none; money that does not belong here waits in suspense.
//   3. A credit that the rail does not confirm is asked for again, ever more seldom, while everything else goes on. After the
//      limit an operator is asked for, who may have it set aside: nothing is posted, and a review case is opened.
//   4. Settled, or expired, closes its account and ends it, once all credits are placed. A later credit starts it anew.
//   5. Where the ledger refuses what it must take: park. Credits that come meanwhile wait their turn.
//
// A `virtual_wallet` payment is settled in the API, by the wallet that pays it: `paid` ends its flow, and nothing is left
// to do.
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

const { applyCredit, expirePayment, closePaymentAccount, setAsideCredit, recordOperatorAction } = proxyActivities<
  PaymentActivities & AttentionActivities
>(MONEY_ACTIVITY);

export async function payment(input: PaymentInput): Promise<PaymentResult> {
  const attention = createAttention({ ...input, subject: input.paymentId }, { recordOperatorAction });
  const rail = createRailWaits(attention);
  const fresh: string[] = [];
  const expiresAt = Date.parse(input.expiresAt);
  let progress: PaymentProgress = { status: 'pending', amountReceived: 0 };
  let shown = progress.status;
  const isOpen = (): boolean => progress.status === 'pending' || progress.status === 'partial';
  const unplaced = (): string[] => [...fresh, ...rail.credits()];
  setHandler(creditReceived, ({ inboundCreditId }) => {
    if (!unplaced().includes(inboundCreditId)) fresh.push(inboundCreditId);
  });
  setHandler(paymentSettledByWallet, ({ amountReceived }) => {
    progress = { status: 'settled', amountReceived };
  });
  setHandler(unplacedCredits, unplaced);

  const take = async (step: Exclude<PaymentStep, { do: 'wait' | 'end' }>): Promise<void> => {
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
      const isNews = (): boolean => fresh.length > 0 || isOpen() !== wasOpen || attention.isDecided();
      await condition(isNews, Math.max(1, step.until - Date.now()));
      continue;
    }
    await take(step);
    const isUsualEnd = shown === 'pending' && progress.status === 'settled';
    if (progress.status !== shown && !isUsualEnd) {
      showState(progress.status);
      shown = progress.status;
    }
  }
  rail.askForOperator(); // nothing waits any more: a request is taken back
  setCurrentDetails(`**${progress.status}** with ${progress.amountReceived} kobo received.`);
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
