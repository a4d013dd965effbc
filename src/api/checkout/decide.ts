// What a payment page shows, as a pure function of the payment and the time: its state, its texts, and whether it may
// still change.
import { type Kobo, nairaText } from '../../money.ts';
import { isSameName } from '../../rail/accountNames.ts';
import type { PaymentWithPayee } from '../../resources/payments/queries.ts';
import { payableAmount } from '../../workflows/payment/decide.ts';

/**
 * `awaiting` and `partial` take money. `overdue`: the window has closed, and the payment's flow has not ended it yet,
 * because a credit may be on its way. `in_review`: money has come and waits for a decision, so nothing is asked for.
 */
export type PageState = 'awaiting' | 'partial' | 'overdue' | 'in_review' | 'paid' | 'refunded' | 'recalled' | 'expired';

type FoundPayment = PaymentWithPayee['payment'];

/** What the page is about: a payment that has an account number. */
export type PagePayment = FoundPayment & { account: NonNullable<FoundPayment['account']> };

export function pageState(payment: PagePayment, now: Date): PageState {
  const isSettled = payment.status === 'settled' || payment.status.endsWith('refunded');
  if (payment.amountInReview > 0 && !isSettled) return 'in_review';
  if (payment.amountRecalled > 0) return 'recalled';
  switch (payment.status) {
    case 'pending':
    case 'partial':
      if (now >= payment.expiresAt) return 'overdue';
      return payment.status === 'pending' ? 'awaiting' : 'partial';
    case 'settled':
      return 'paid';
    case 'refunded':
    case 'partially_refunded':
      return 'refunded';
    case 'expired':
    case 'cancelled':
    case 'failed':
      if (payment.amountRefunded > 0) return 'refunded';
      return payment.amountCredited > 0 ? 'paid' : 'expired';
  }
}

/** The texts and facts of the page of a payment to `payee` at this time. Amounts are texts for people. */
export type PageContent = ReturnType<typeof pageContent>;

export function pageContent(payment: PagePayment, payee: string, now: Date) {
  const state = pageState(payment, now);
  const takesMoney = state === 'awaiting' || state === 'partial';
  const { headline, explanation } = textsOf(state, payment, payee);
  const { accountNumber, bankName, accountName } = payment.account;
  const missing = nairaText(missingAmount(payment));
  const bearsFee = payment.fee > 0 && payment.feeBearer === 'payer';
  const remainingSeconds = Math.max(0, Math.ceil((payment.expiresAt.getTime() - now.getTime()) / 1000));
  return {
    state,
    version: payment.version,
    /** Whether it may change while it is open. */
    isLive: takesMoney || state === 'overdue' || state === 'in_review',
    /** Of the document, with the payee. */
    title: `${headline} – ${payee}`,
    headline,
    explanation,
    /** What is left to pay, and where. Null: no money may be sent. */
    transfer: takesMoney
      ? {
          amount: missing,
          /** For the form of a bank, such as `2020.00`. */
          amountDigits: missing.replaceAll(/[₦,]/g, ''),
          /** What the amount consists of; null: the payer bears no fee, or a part of it was paid. */
          breakdown:
            bearsFee && state === 'awaiting'
              ? `${nairaText(payment.baseAmount)} and a fee of ${nairaText(payment.fee)}`
              : null,
          accountNumber,
          bankName,
          accountName,
          /** Why the account has another name than the payee; null: it has the same. */
          accountNote: isSameName(accountName, payee) ? null : `Receives this payment for ${payee}`,
        }
      : null,
    description: payment.description,
    /** The end of the window, where money may still be sent. */
    deadline: takesMoney
      ? {
          at: payment.expiresAt.toISOString(),
          text: lagosTime(payment.expiresAt),
          remainingSeconds,
          remaining: durationText(remainingSeconds),
        }
      : null,
    returnText: payment.returnUrl === null ? null : `${takesMoney ? 'Go back' : 'Continue'} to ${payee}`,
  };
}

/** `explanation`: paragraphs. */
function textsOf(state: PageState, payment: PagePayment, payee: string): { headline: string; explanation: string[] } {
  const payable = nairaText(payableAmount(payment));
  const received = nairaText(payment.amountReceived);
  switch (state) {
    case 'awaiting':
      return {
        headline: `Transfer ${payable}`,
        explanation: [
          `To pay ${payee}, send exactly ${payable} to this account. It works for this payment only.`,
          payment.account.acceptsAmount === 'exact'
            ? 'Send it in one transfer: your bank will reject any other amount.'
            : 'This page updates when your money arrives, usually within a minute.',
        ],
      };
    case 'partial': {
      const missing = nairaText(missingAmount(payment));
      return {
        headline: `${received} received, ${missing} to go`,
        explanation: [
          `We have received ${received} of ${payable}. Send the remaining ${missing} to the same account before time runs out.`,
        ],
      };
    }
    case 'overdue':
      return {
        headline: 'Time is up',
        explanation: [
          'Please do not send money now. We are checking whether your transfer arrived in time.',
          ...(payment.amountReceived > 0 ? [`We have received ${received} of ${payable} so far.`] : []),
        ],
      };
    case 'in_review':
      return { headline: `${inReviewOf(payment)} received, being checked`, explanation: whileInReview(payment, payee) };
    case 'paid':
      return {
        headline: 'Payment received',
        explanation: [`${payee} has received your ${received}.`, ...differenceOf(payment, payee)],
      };
    case 'recalled':
      return {
        headline: 'Payment taken back',
        explanation: [
          `The bank has taken back ${nairaText(payment.amountRecalled)} of your ${received}. Contact ${payee}.`,
        ],
      };
    case 'refunded':
      return {
        headline:
          payment.status === 'partially_refunded' || payment.amountRefunded < payment.amountCredited
            ? 'Payment partly refunded'
            : 'Payment refunded',
        explanation: [`${nairaText(payment.amountRefunded)} of your ${received} payment has been refunded.`],
      };
    case 'expired': {
      const ended = payment.status === 'cancelled' ? 'was cancelled' : 'has expired';
      return { headline: `This payment ${ended}`, explanation: afterExpiry(payment, payee) };
    }
  }
}

const inReviewOf = ({ amountInReview }: PagePayment): string => nairaText(amountInReview);

/** Money that was received and waits for a decision: of an open payment, or of an expired one. */
function whileInReview(payment: PagePayment, payee: string): string[] {
  const isOpen = payment.status === 'pending' || payment.status === 'partial';
  const isReturned = payment.onMismatch === 'refund';
  return [
    `We have received your ${inReviewOf(payment)} and are checking it. Do not send it again.`,
    ...(isOpen ? [] : [`It was not in time, or not all of ${nairaText(payableAmount(payment))}.`]),
    isReturned
      ? 'It will be returned to the account you sent it from.'
      : `This page updates when it is decided. Contact ${payee} if you have questions.`,
  ];
}

/** Money over the payable amount is credited, or waits for a decision where a limit of the wallet stops it. */
function differenceOf(payment: PagePayment, payee: string): string[] {
  const surplus = payment.amountReceived - payableAmount(payment);
  if (surplus === 0) return [];
  const difference = surplus > 0 ? `${nairaText(surplus)} too much` : `${nairaText(-surplus)} too little`;
  return [`That is ${difference}. Contact ${payee} about the difference.`];
}

/** Contract, section 4.8: what becomes of money that a payment has that ended unpaid, or that comes later. */
function afterExpiry(payment: PagePayment, payee: string): string[] {
  const isReturned = payment.onMismatch === 'refund';
  const received = nairaText(payment.amountReceived);
  const askAgain = `If you still want to pay, ask ${payee} for a new payment. Do not use this account number again.`;
  if (payment.amountReturned > 0) {
    const returned = nairaText(payment.amountReturned);
    return [
      `We received ${returned} and sent it back to the account it came from.`,
      `It was not in time, or not all of ${nairaText(payableAmount(payment))}.`,
      askAgain,
    ];
  }
  if (payment.amountReceived === 0) {
    return [
      payment.status === 'cancelled' ? `${payee} has cancelled it.` : 'No money arrived in time.',
      askAgain,
      isReturned
        ? 'If you have already sent money, it will be returned to the account you sent it from.'
        : `If you have already sent money, it is not lost. Contact ${payee} about it.`,
    ];
  }
  return [
    `Only ${received} of ${nairaText(payableAmount(payment))} arrived in time.`,
    isReturned
      ? `Your ${received} will be returned to the account you sent it from.`
      : `Your ${received} is not lost. Contact ${payee} about it.`,
    askAgain,
  ];
}

const missingAmount = (payment: PagePayment): Kobo => payableAmount(payment) - payment.amountReceived;

/** Nigeria has one time zone, and no summer time. */
const LAGOS = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Africa/Lagos',
  day: 'numeric',
  month: 'long',
  hour: '2-digit',
  minute: '2-digit',
  hour12: false,
});

/** For example `23 November at 14:05, Lagos time`. */
function lagosTime(at: Date): string {
  const parts = Object.fromEntries(LAGOS.formatToParts(at).map(({ type, value }) => [type, value]));
  return `${parts.day} ${parts.month} at ${parts.hour}:${parts.minute}, Lagos time`;
}

/** For example `1 hour 5 minutes`, `5 minutes`, `40 seconds`. Seconds only below a minute. */
export function durationText(seconds: number): string {
  if (seconds < 60) return counted(seconds, 'second');
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return [
    ...(hours > 0 ? [counted(hours, 'hour')] : []),
    ...(minutes % 60 > 0 ? [counted(minutes % 60, 'minute')] : []),
  ].join(' ');
}

const counted = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`;
