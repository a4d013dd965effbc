// The payment flow's effects on the books. Each reads the state, lets the rules decide, and posts with one statement
// that holds only if the state is still the one that was read; so each may run twice, and two may race.
import { requireUuid } from '../ids.ts';
import type { Book, Kobo } from '../money.ts';
import { divertCredit, reviewReasonOf } from '../movements/credits.ts';
import { creditMovement, expiryMovement, paymentAfter } from '../movements/payments.ts';
import type { InboundCredit } from '../records/inboundCredits.ts';
import { findPayment, type Payment, type PaymentStatus, type PaymentWithAccount } from '../records/payments.ts';
import type { ReviewReason } from '../records/reviewCases.ts';
import { bookOf } from '../workflows/flows.ts';
import { decideCredit, decideExpiry, roomAfterRefusal, type WalletRoom } from '../workflows/payment/decide.ts';
import type { CreditReceived, PaymentInput } from '../workflows/payment/messages.ts';
import { confirmCredit, readCredit } from './credits.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { impossible } from './failures.ts';
import { type Poster, refuse, untilDecided } from './posting.ts';

export type PaymentActivities = ReturnType<typeof createPaymentActivities>;

/** Where a payment stands after an activity. Codes and amounts only: it goes into the workflow's history. */
interface PaymentProgress {
  status: PaymentStatus;
  amountReceived: Kobo;
}

export function createPaymentActivities(dependencies: ActivityDependencies) {
  const { sql, journal } = dependencies;

  async function readPayment({ paymentId, ...scope }: PaymentInput): Promise<PaymentWithAccount> {
    const payment = await findPayment(sql, bookOf(scope), requireUuid('payment', paymentId));
    if (payment === null) throw impossible(`payment ${paymentId} is not in the database`);
    return payment;
  }

  /** Decides and posts one credit; null when it was overtaken and must be read again. */
  async function postCredit(
    poster: Poster,
    book: Book,
    payment: Payment,
    credit: InboundCredit,
  ): Promise<Payment | null> {
    let room: WalletRoom = 'all';
    let reason: ReviewReason = 'over_limit';
    for (;;) {
      const decision = decideCredit(payment, credit.amount, room);
      const next = paymentAfter(payment, decision);
      const movement =
        decision.kind === 'divert'
          ? divertCredit(
              book,
              credit,
              decision.reason === 'wallet_refused' ? reason : decision.reason,
              payment.targetWalletId,
            )
          : creditMovement(book, payment, next, credit, decision);
      const result = await poster.mayPost(movement);
      if (result.outcome !== 'refused') return result.outcome === 'posted' ? next : null;
      const refused = decision.kind === 'divert' ? null : reviewReasonOf(result, payment.targetWalletId);
      if (refused === null) refuse(movement, result);
      reason = refused;
      room = roomAfterRefusal(room, decision, result.code === 'WALLET_TIER1_LIMIT_EXCEEDED', payment.baseAmount);
    }
  }

  async function closeAccount(book: Book, payment: PaymentWithAccount): Promise<void> {
    if (payment.account === null) return;
    const { accountNumber } = payment.account;
    await dependencies.rails
      .of(book.environment)
      ?.closeVirtualAccount({ organisationId: book.organisationId, accountNumber });
  }

  return {
    /** Confirms a credit with the rail and posts it: held, settled, or into suspense with a review case. */
    async applyCredit(input: PaymentInput, { inboundCreditId }: CreditReceived): Promise<PaymentProgress> {
      const book = bookOf(input);
      return await untilDecided(journal, async (poster) => {
        const credit = await readCredit(dependencies, input, inboundCreditId);
        // After the credit: where another attempt placed that, the payment is what it left. Told of what was before, its flow would wait.
        const payment = await readPayment(input);
        if (credit.status !== 'received') return await finish(book, payment, payment);
        await confirmCredit(dependencies, book, credit);
        const next = await postCredit(poster, book, payment, credit);
        return next === null ? null : await finish(book, payment, next);
      });
    },

    /** Ends a payment whose window closed. What was received so far goes to review. */
    async expirePayment(input: PaymentInput): Promise<PaymentProgress> {
      const book = bookOf(input);
      return await untilDecided(journal, async ({ mustPost }) => {
        const payment = await readPayment(input);
        const decision = decideExpiry(payment);
        if (decision.kind === 'leave') return await finish(book, payment, payment);
        const next: Payment = { ...payment, version: payment.version + 1, status: 'expired' };
        const posted = await mustPost(expiryMovement(book, next, decision.toReview));
        return posted ? await finish(book, payment, next) : null;
      });
    },
  };

  /** A payment that ended takes no more money on its account. Closing twice is fine, so a repeat does it again. */
  async function finish(book: Book, payment: PaymentWithAccount, next: Payment): Promise<PaymentProgress> {
    if (next.status !== 'pending' && next.status !== 'partial') await closeAccount(book, payment);
    return { status: next.status, amountReceived: next.amountReceived };
  }
}
