// The payment flow's effects on the ledger. Each activity reads the state, decides by the rules, and posts with one
// statement that takes effect only if the state is still the one that was read; so each may run twice, and two may
// race.
import { publicId, requireUuid, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { RailNotReadyError, RailRefusedError, RailUnavailableError } from '../rail/errors.ts';
import type { ConfirmedCredit } from '../resources/inboundCredits/confirm.ts';
import {
  creditToSuspense,
  redirectMovement,
  refusingSplit,
  reviewReasonOf,
  setAsideMovement,
} from '../resources/inboundCredits/movements.ts';
import { findAtExpiry, listReceivedCredits } from '../resources/inboundCredits/queries.ts';
import { flowOf } from '../resources/inboundCredits/receive.ts';
import { creditMovement, expiredPayment, expiryMovement, paymentAfter } from '../resources/payments/movements.ts';
import { findPayment, type Payment, type PaymentWithAccount } from '../resources/payments/queries.ts';
import type { ReviewReason } from '../resources/reviewCases/queries.ts';
import { openedAccount } from '../resources/wallets/virtualAccounts.ts';
import { bookOf } from '../workflows/flows.ts';
import {
  capacityAfterRefusal,
  decideCredit,
  decideExpiry,
  netAmount,
  type WalletCapacity,
} from '../workflows/payment/decide.ts';
import type { PaymentActivities, PaymentInput, PaymentProgress } from '../workflows/payment/messages.ts';
import { confirmCredit, limitsOf, readCredit, setAsideDecision } from './credits.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { notDue, requireRow } from './failures.ts';
import { type Poster, refuse, retryOnConflict } from './posting.ts';

/** Ids that a workflow's history takes in one result: 70 kB. */
const UNAPPLIED_MAX = 2_000;

export function createPaymentActivities(dependencies: ActivityDependencies): PaymentActivities {
  const { sql, journal, log } = dependencies;

  const readPayment = async ({ paymentId: id, ...scope }: PaymentInput): Promise<PaymentWithAccount> =>
    requireRow(await findPayment(sql, bookOf(scope), requireUuid('payment', id)), `payment ${id}`);

  /** Decides and posts one credit. Null: conflict, read again. */
  async function postCredit(
    poster: Poster,
    book: Book,
    payment: PaymentWithAccount,
    credit: ConfirmedCredit,
  ): Promise<Payment | null> {
    if (credit.ownerId !== payment.id) {
      const flow = await flowOf(sql, book, credit);
      return (await poster.postOrPark(redirectMovement(book, credit, flow))) ? payment : null;
    }
    let capacity: WalletCapacity = 'all';
    let reason: ReviewReason = 'over_limit';
    const refusing = new Set<Uuid>(); // wallets of splits
    for (;;) {
      const decision = decideCredit(payment, credit, capacity);
      const next = paymentAfter(payment, decision, refusing);
      const movement =
        decision.kind === 'to_suspense'
          ? creditToSuspense(
              book,
              credit,
              decision.reason === 'wallet_refused' ? reason : decision.reason,
              payment.targetWalletId,
              payment,
            )
          : creditMovement(book, payment, next, credit, decision);
      const result = await poster.post(movement);
      if (result.outcome !== 'refused') return result.outcome === 'posted' ? next : null;
      const ofSplit = refusingSplit(payment.splits, result);
      if (ofSplit !== null) {
        refusing.add(ofSplit);
        continue;
      }
      const refused = decision.kind === 'to_suspense' ? null : reviewReasonOf(result, payment.targetWalletId);
      if (refused === null) refuse(movement, result);
      reason = refused;
      capacity = capacityAfterRefusal(
        capacity,
        decision,
        result.code === 'WALLET_TIER1_LIMIT_EXCEEDED',
        netAmount(payment),
      );
    }
  }

  /** Closes the account number; twice is harmless. Returns false if the rail did not respond. */
  async function closeAccount(book: Book, { id, account }: PaymentWithAccount): Promise<boolean> {
    if (account === null) return true;
    const rail = await dependencies.rails.named(book, account.rail);
    if (rail?.capabilities.oneOff.closes !== true) return true;
    try {
      await rail.closeVirtualAccount(openedAccount(book, { ...account, ownerKind: 'payment', ownerId: id }));
    } catch (error) {
      if (error instanceof RailUnavailableError || error instanceof RailNotReadyError) return false;
      if (!(error instanceof RailRefusedError)) throw error;
      // It stays open permanently. Money sent to it finds no open payment, and goes to review.
      log.warn({ paymentId: publicId('payment', id), err: error }, 'the rail refused to close an account number');
    }
    return true;
  }

  /** Closes the account number of a payment that has ended; a retry closes it again. */
  async function finish(book: Book, payment: PaymentWithAccount, next: Payment): Promise<PaymentProgress> {
    const progress = { status: next.status, amountReceived: next.amountReceived };
    const isOpen = next.status === 'pending' || next.status === 'partial';
    if (isOpen || (await closeAccount(book, payment))) return progress;
    const id = publicId('payment', payment.id);
    const limits = limitsOf(dependencies);
    return { ...progress, incomplete: { id, what: 'account', rail: 'unreachable', amount: 0, limits } };
  }

  return {
    async applyCredit(input, { inboundCreditId, setAside }) {
      const book = bookOf(input);
      return await retryOnConflict(journal, async (poster): Promise<PaymentProgress | null> => {
        const credit = await readCredit(dependencies, input, inboundCreditId);
        // Read after the credit: if another attempt has posted that, this is the payment afterwards. With an older
        // state the flow would wait for money that is there.
        const payment = await readPayment(input);
        const isDone = credit.status !== 'received' || credit.ownerId !== payment.id;
        if (isDone) return await finish(book, payment, payment);
        const found = await confirmCredit(dependencies, book, credit);
        if ('incomplete' in found) {
          const { status, amountReceived } = payment;
          const decision = await setAsideDecision(dependencies, book, input.paymentId, setAside);
          if (decision === null) return { status, amountReceived, ...found };
          const movement = setAsideMovement(book, credit, payment.targetWalletId, payment);
          return (await poster.postOrPark({ ...movement, decision })) ? { status, amountReceived } : null;
        }
        const next = await postCredit(poster, book, payment, found.confirmed);
        return next === null ? null : await finish(book, payment, next);
      });
    },

    async listUnappliedCredits({ paymentId, ...scope }, after) {
      const afterId = after === null ? null : requireUuid('inboundCredit', after);
      const ids = await listReceivedCredits(sql, bookOf(scope), requireUuid('payment', paymentId), {
        after: afterId,
        limit: UNAPPLIED_MAX,
      });
      const inboundCreditIds = ids.map((id) => publicId('inboundCredit', id));
      return { inboundCreditIds, hasMore: ids.length === UNAPPLIED_MAX };
    },

    async expirePayment(input, waiting = []) {
      const book = bookOf(input);
      return await retryOnConflict(journal, async ({ postOrPark }): Promise<PaymentProgress | null> => {
        const payment = await readPayment(input);
        const decision = decideExpiry(payment);
        if (decision.kind === 'no_change') return await finish(book, payment, payment);
        // The row decides when its time is over, not the input of the flow. The database has the last word.
        const { now, received } = await findAtExpiry(sql, book, payment.id, UNAPPLIED_MAX);
        const leftMs = payment.expiresAt.getTime() - now.getTime();
        if (leftMs > 0) throw notDue(leftMs);
        // A worker that stood still may reach the end of the window before it gets the signal of a credit.
        const unapplied = received.map((id) => publicId('inboundCredit', id)).filter((id) => !waiting.includes(id));
        const { status, amountReceived } = payment;
        if (unapplied.length > 0) return { status, amountReceived, unapplied };
        const next = expiredPayment(payment, decision.toSuspense);
        const posted = await postOrPark(expiryMovement(book, next, decision.toSuspense));
        return posted ? await finish(book, payment, next) : null;
      });
    },

    async closePaymentAccount(input) {
      const payment = await readPayment(input);
      return await finish(bookOf(input), payment, payment);
    },
  };
}
