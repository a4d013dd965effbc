// Posts credits that belong to no payment: to the wallet whose deposit account they came to, or to suspense.
import type { Book } from '../money.ts';
import {
  creditToSuspense,
  depositMovement,
  reviewReasonOf,
  setAsideMovement,
} from '../resources/inboundCredits/movements.ts';
import type { InboundCredit } from '../resources/inboundCredits/queries.ts';
import type { ReviewReason } from '../resources/reviewCases/queries.ts';
import { bookOf } from '../workflows/flows.ts';
import type { CreditActivities, CreditProgress } from '../workflows/railWait/messages.ts';
import { confirmCredit, readCredit } from './credits.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { type Poster, refuse, retryOnConflict } from './posting.ts';

export function createInboundCreditActivities(
  dependencies: ActivityDependencies,
): Pick<CreditActivities, 'applyDeposit'> {
  const { journal } = dependencies;

  async function divert(poster: Poster, book: Book, credit: InboundCredit, reason: ReviewReason) {
    const walletId = credit.ownerKind === 'wallet' ? credit.ownerId : null;
    return (await poster.postOrPark(creditToSuspense(book, credit, reason, walletId))) ? 'suspense' : null;
  }

  /** Posts one credit. Null: conflict, read again. */
  async function postCredit(
    poster: Poster,
    book: Book,
    credit: InboundCredit,
  ): Promise<InboundCredit['status'] | null> {
    const { ownerKind, ownerId } = credit;
    if (ownerKind !== 'wallet' || ownerId === null) return await divert(poster, book, credit, 'unknown_account');
    const movement = depositMovement(book, credit, ownerId);
    const result = await poster.post(movement);
    if (result.outcome !== 'refused') return result.outcome === 'posted' ? 'posted' : null;
    const reason = reviewReasonOf(result, ownerId);
    return reason === null ? refuse(movement, result) : await divert(poster, book, credit, reason);
  }

  return {
    async applyDeposit(input, { setAside }) {
      const book = bookOf(input);
      return await retryOnConflict(journal, async (poster): Promise<CreditProgress | null> => {
        const credit = await readCredit(dependencies, input, input.inboundCreditId);
        if (credit.status !== 'received') return { status: credit.status };
        const incomplete = await confirmCredit(dependencies, book, credit);
        if (incomplete !== null && !setAside) return { status: credit.status, incomplete };
        if (incomplete !== null) {
          const walletId = credit.ownerKind === 'wallet' ? credit.ownerId : null;
          return (await poster.postOrPark(setAsideMovement(book, credit, walletId))) ? { status: 'set_aside' } : null;
        }
        const status = await postCredit(poster, book, credit);
        return status === null ? null : { status };
      });
    },
  };
}
