// Placing money that belongs to no payment: into the wallet whose deposit account it came to, or into suspense.
import type { Book } from '../money.ts';
import { depositMovement, divertCredit, reviewReasonOf } from '../movements/credits.ts';
import type { InboundCredit } from '../records/inboundCredits.ts';
import type { ReviewReason } from '../records/reviewCases.ts';
import { bookOf } from '../workflows/flows.ts';
import type { InboundCreditInput } from '../workflows/inboundCredit/messages.ts';
import { confirmCredit, readCredit, untilDecided, wasPosted } from './credits.ts';
import type { ActivityDependencies } from './dependencies.ts';

export type InboundCreditActivities = ReturnType<typeof createInboundCreditActivities>;

export function createInboundCreditActivities(dependencies: ActivityDependencies) {
  const { journal } = dependencies;

  async function divert(book: Book, credit: InboundCredit, reason: ReviewReason): Promise<'suspense' | null> {
    return wasPosted(await journal.post(divertCredit(book, credit, reason))) ? 'suspense' : null;
  }

  /** Posts one credit; null when it was overtaken and must be read again. */
  async function postCredit(book: Book, credit: InboundCredit): Promise<InboundCredit['status'] | null> {
    if (credit.ownerKind !== 'wallet' || credit.ownerId === null) return await divert(book, credit, 'unknown_account');
    const result = await journal.post(depositMovement(book, credit, credit.ownerId));
    if (result.outcome === 'refused') return await divert(book, credit, reviewReasonOf(result.code));
    return wasPosted(result) ? 'posted' : null;
  }

  return {
    /** Confirms the credit with the rail and posts it where it belongs. */
    async placeCredit(input: InboundCreditInput): Promise<{ status: InboundCredit['status'] }> {
      const book = bookOf(input);
      const status = await untilDecided(async () => {
        const credit = await readCredit(dependencies, input, input.inboundCreditId);
        if (credit.status !== 'received') return credit.status;
        await confirmCredit(dependencies, book, credit);
        return await postCredit(book, credit);
      });
      return { status };
    },
  };
}
