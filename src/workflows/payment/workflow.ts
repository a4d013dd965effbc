// The flow of one payment.
//
//   1. Wait for money until the payment expires.    Woken by `creditReceived`, which the rail's callback sends.
//   2. Each credit is decided and posted.           Undo: none; money that does not belong here waits in suspense.
//   3. Settled, or expired, ends it.                A later credit starts the flow anew and goes to review.
//   4. Where the ledger refuses what it must take: park. Credits that come meanwhile wait their turn.
//
// A `virtual_wallet` payment is settled in the API, by the wallet that pays it: `paid` ends its flow, and nothing is left
// to do.
import { condition, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { PaymentActivities } from '../../activities/payments.ts';
import { type AttentionActivities, createAttention } from '../attention/park.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { showState } from '../state.ts';
import { type CreditReceived, creditReceived, type PaymentInput, type PaymentResult, paid } from './messages.ts';

const { applyCredit, expirePayment, recordAct } = proxyActivities<PaymentActivities & AttentionActivities>(
  MONEY_ACTIVITY,
);

export async function payment(input: PaymentInput): Promise<PaymentResult> {
  const attention = createAttention({ ...input, subject: input.paymentId }, { recordAct });
  const inbox: CreditReceived[] = [];
  setHandler(creditReceived, (credit) => {
    inbox.push(credit);
  });
  let status = 'pending';
  let shown = status;
  let received = 0;
  const isOpen = (): boolean => status === 'pending' || status === 'partial';
  setHandler(paid, ({ amountReceived }) => {
    status = 'settled';
    received = amountReceived;
  });

  while (isOpen() || inbox.length > 0) {
    setCurrentDetails(waitingFor(input, status, received));
    const credit = inbox.shift() ?? (await nextCredit(inbox, input.expiresAt, () => !isOpen()));
    if (credit === undefined && !isOpen()) break;
    const outcome = await attention.untilPosted(() =>
      credit === undefined ? expirePayment(input) : applyCredit(input, credit),
    );
    status = outcome.status;
    received = outcome.amountReceived;
    const isUsualEnd = shown === 'pending' && status === 'settled';
    if (status !== shown && !isUsualEnd) {
      showState(status);
      shown = status;
    }
  }
  setCurrentDetails(`**${status}** with ${received} kobo received.`);
  return { status };
}

/** The next credit, or undefined when the window closes or the payment ends first. */
async function nextCredit(
  inbox: CreditReceived[],
  expiresAt: string,
  hasEnded: () => boolean,
): Promise<CreditReceived | undefined> {
  await condition(() => inbox.length > 0 || hasEnded(), Math.max(1, Date.parse(expiresAt) - Date.now()));
  return inbox.shift();
}

function waitingFor(input: PaymentInput, status: string, received: number): string {
  return [
    `**${status}**: waits for money until ${input.expiresAt}.`,
    '',
    '| | kobo |',
    '|---|---|',
    `| to be credited | ${input.amount} |`,
    `| received so far | ${received} |`,
  ].join('\n');
}
