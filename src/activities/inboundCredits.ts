// Posts credits that belong to no payment: to the wallet whose deposit account they came to, or to suspense.
import type { Book } from '../money.ts';
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
import type { ReviewReason } from '../resources/reviewCases/queries.ts';
import { bookOf } from '../workflows/flows.ts';
import type { CreditActivities, CreditProgress } from '../workflows/railWait/messages.ts';
import { confirmCredit, readCredit, setAsideDecision } from './credits.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { type Poster, refuse, retryOnConflict } from './posting.ts';

export function createInboundCreditActivities(
  dependencies: ActivityDependencies,
): Pick<CreditActivities, 'applyDeposit'> {
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
  };
}
