// Posts credits that belong to no payment: to the wallet whose deposit account they came to, or to suspense; and
// recalls of any credit, which the bank has taken back. Nothing is posted until the rail confirms it.
import { paymentSuspenseAccount } from '../ledger/chart.ts';
import type { Movement } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import { recallFlowId } from '../resources/flows.ts';
import { listHoldsOf } from '../resources/holds/queries.ts';
import type { ConfirmedCredit } from '../resources/inboundCredits/confirm.ts';
import {
  creditToSuspense,
  depositMovement,
  redirectMovement,
  reviewReasonOf,
  setAsideMovement,
} from '../resources/inboundCredits/movements.ts';
import type { InboundCredit } from '../resources/inboundCredits/queries.ts';
import { flowOf } from '../resources/inboundCredits/receive.ts';
import { findPayment } from '../resources/payments/queries.ts';
import {
  recallFromCase,
  recallFromNowhere,
  recallFromPayment,
  recallFromWallet,
  recallUnposted,
  setAsideRecallMovement,
} from '../resources/recalls/movements.ts';
import { isHeld } from '../resources/reviewCases/movements.ts';
import { findCasesOfCredit, findPaymentOfCase, type ReviewReason } from '../resources/reviewCases/queries.ts';
import { findWallet } from '../resources/wallets/queries.ts';
import { bookOf } from '../workflows/flows.ts';
import type { CreditActivities, CreditProgress } from '../workflows/railWait/messages.ts';
import { locateMoney } from '../workflows/recall/decide.ts';
import { confirmCredit, limitsOf, queryCredit, readCredit, setAsideDecision } from './credits.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { requireRow } from './failures.ts';
import { type Poster, refuse, retryOnConflict } from './posting.ts';

export function createCreditActivities(dependencies: ActivityDependencies): CreditActivities {
  const { sql, journal } = dependencies;

  const walletOf = ({ ownerKind, ownerId }: InboundCredit) => (ownerKind === 'wallet' ? ownerId : null);

  async function divert(poster: Poster, book: Book, credit: ConfirmedCredit, reason: ReviewReason) {
    return (await poster.postOrPark(creditToSuspense(book, credit, reason, walletOf(credit)))) ? 'suspense' : null;
  }

  /** Posts one credit. Null: conflict, read again. */
  async function postCredit(
    poster: Poster,
    book: Book,
    credit: ConfirmedCredit,
  ): Promise<InboundCredit['status'] | null> {
    if (credit.ownerKind === 'payment') {
      const flow = await flowOf(sql, book, credit);
      return (await poster.postOrPark(redirectMovement(book, credit, flow))) ? 'received' : null;
    }
    const walletId = walletOf(credit);
    if (walletId === null) return await divert(poster, book, credit, 'unknown_account');
    const movement = depositMovement(book, credit, walletId);
    const result = await poster.post(movement);
    if (result.outcome !== 'refused') return result.outcome === 'posted' ? 'posted' : null;
    const reason = reviewReasonOf(result, walletId);
    return reason === null ? refuse(movement, result) : await divert(poster, book, credit, reason);
  }

  /** What takes a credit back from where its money is. */
  async function recallMovement(book: Book, credit: InboundCredit, recalled: ConfirmedCredit): Promise<Movement> {
    const payment =
      credit.ownerKind === 'payment' && credit.ownerId !== null ? await findPayment(sql, book, credit.ownerId) : null;
    const { whole: reviewCase, surplus } = await findCasesOfCredit(sql, book, credit);
    const holder = locateMoney({ ...credit, payment: payment?.status ?? null, reviewCase });
    if (holder === 'nowhere') return recallUnposted(book, recalled);
    if (holder === 'elsewhere') return recallFromNowhere(book, credit);
    if (holder === 'payment' && payment !== null)
      return recallFromPayment(book, credit, payment, paymentSuspenseAccount(payment.id));
    if (holder === 'case' && reviewCase !== null) return recallFromCase(book, credit, reviewCase, payment);
    const walletId = holder === 'wallet_of_case' ? reviewCase?.walletId : (payment?.targetWalletId ?? credit.ownerId);
    const found = walletId == null ? null : await findWallet(sql, book, walletId);
    const wallet = requireRow(found, `the wallet of inbound credit ${credit.id}`);
    const isOfPayment = wallet.id === payment?.targetWalletId;
    return recallFromWallet(book, credit, wallet.id, wallet.balance, {
      payment: isOfPayment ? payment : null,
      holds: isOfPayment ? await listHoldsOf(sql, book, payment) : [],
      surplus: holder === 'wallet' && surplus?.status !== 'credited' ? surplus : null,
    });
  }

  /** Takes a credit, recalled when it or its surplus had left, out of the case that has that again; null: none has. */
  async function cameBack(book: Book, credit: InboundCredit): Promise<Movement | null> {
    const { whole, surplus } = await findCasesOfCredit(sql, book, credit);
    const hadLeft = credit.recalledFrom === null && credit.recalledTaken === 0;
    const has = hadLeft ? whole : surplus;
    if (has === null || !isHeld(has) || (hadLeft && has.amount < credit.amount)) return null;
    return recallFromCase(book, credit, has, await findPaymentOfCase(sql, book, has));
  }

  return {
    async applyDeposit(input, { setAside }) {
      const book = bookOf(input);
      return await retryOnConflict(journal, async (poster): Promise<CreditProgress | null> => {
        const credit = await readCredit(dependencies, input, input.inboundCreditId);
        const isDone = credit.status !== 'received' || credit.ownerKind === 'payment';
        if (isDone) return { status: credit.status };
        const found = await confirmCredit(dependencies, book, credit);
        if ('incomplete' in found) {
          const decision = await setAsideDecision(dependencies, book, input.inboundCreditId, setAside);
          if (decision === null) return { status: credit.status, ...found };
          const movement = setAsideMovement(book, credit, walletOf(credit));
          return (await poster.postOrPark({ ...movement, decision })) ? { status: 'set_aside' } : null;
        }
        const status = await postCredit(poster, book, found.confirmed);
        return status === null ? null : { status };
      });
    },

    async applyRecall(input, { setAside }) {
      const book = bookOf(input);
      return await retryOnConflict(journal, async ({ postAsRead }): Promise<CreditProgress | null> => {
        const credit = await readCredit(dependencies, input, input.inboundCreditId);
        if (credit.recall === 'posted') {
          const movement = await cameBack(book, credit);
          return movement === null || (await postAsRead(movement)) ? { status: 'posted' } : null;
        }
        if (credit.recall !== 'received') return { status: credit.recall ?? 'none' };
        const found = await queryCredit(dependencies, book, credit, 'recalled');
        if ('confirmed' in found) {
          await postAsRead(await recallMovement(book, credit, found.confirmed));
          return null; // read again: a return that failed meanwhile has brought its money back
        }
        const decision = await setAsideDecision(dependencies, book, recallFlowId(credit.id), setAside);
        if (decision === null) {
          const { inboundCreditId: id } = input;
          const work = { id, what: 'credit' as const, amount: credit.amount, limits: limitsOf(dependencies) };
          return { status: 'received', incomplete: { ...work, ...found } };
        }
        const movement = { ...setAsideRecallMovement(book, credit), decision };
        return (await postAsRead(movement)) ? { status: 'set_aside' } : null;
      });
    },
  };
}
