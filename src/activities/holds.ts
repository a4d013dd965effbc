// The activities of holds: releases those that are due, and carries out what operators decide.
import { publicId, requireUuid } from '../ids.ts';
import { walletAccount } from '../ledger/chart.ts';
import type { Book } from '../money.ts';
import { cancelledHold, releasedHold, releaseHold } from '../resources/holds/movements.ts';
import { readReturnRefusal } from '../resources/holds/payer.ts';
import { amountHeld, findDueHold, type Hold, isOfTransfer } from '../resources/holds/queries.ts';
import { decisionOf, refusalText, versionText } from '../resources/operators.ts';
import { TAKES_NOTHING } from '../resources/reviewCases/movements.ts';
import { cancelHold } from '../resources/transfers/movements.ts';
import { findWallet } from '../resources/wallets/queries.ts';
import { bookOf } from '../workflows/flows.ts';
import { describeRefusal, REFUSED_RETRY_MS } from '../workflows/hold/decide.ts';
import type { HoldActivities, HoldSnapshot } from '../workflows/hold/messages.ts';
import type { AppliedDecision } from '../workflows/operators/messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { requireRow } from './failures.ts';
import { type Posted, refuse, retryOnConflict } from './posting.ts';

/** Who paid a payment may not be known: a caller names the account. */
const BY_REFUND = 'The hold is of a payment: a refund of that takes it.';

const AFTER = { release: 'released', cancel: 'cancelled' } as const;

/** The refusal of the wallet that the money is for; null for any other. */
const refusalOfWallet = (result: Posted, hold: Hold): string | null =>
  result.outcome === 'refused' && result.account === walletAccount(hold.walletId) ? result.code : null;

const snapshotOf = (hold: Hold, waitMs: number | null, refusal: string | null = null): HoldSnapshot => ({
  status: hold.status,
  amountHeld: amountHeld(hold),
  releaseAt: hold.releaseAt?.toISOString() ?? null,
  waitMs,
  refusal,
});

export function createHoldActivities({ sql, journal }: ActivityDependencies): HoldActivities {
  const read = async (book: Book, id: string) =>
    requireRow(await findDueHold(sql, book, requireUuid('hold', id)), `hold ${id}`);

  return {
    async releaseDueHold({ holdId, ...scope }) {
      const book = bookOf(scope);
      return await retryOnConflict(journal, async ({ post }): Promise<HoldSnapshot | null> => {
        const { hold, waitMs } = await read(book, holdId);
        // The row decides whether its time has come, not the flow.
        if (hold.status !== 'held' || waitMs !== 0) return snapshotOf(hold, waitMs);
        const wallet = requireRow(await findWallet(sql, book, hold.walletId), `wallet of hold ${holdId}`);
        // More than one posting may credit is released in parts, each by another call.
        const next = releasedHold(hold, Math.min(amountHeld(hold), wallet.postingMax ?? Number.POSITIVE_INFINITY));
        const movement = releaseHold(book, hold, next);
        const result = await post(movement);
        if (result.outcome === 'posted') return snapshotOf(next, next.status === 'held' ? 1 : null);
        const refusal = refusalOfWallet(result, hold);
        if (refusal !== null) return snapshotOf(hold, REFUSED_RETRY_MS, refusal);
        if (result.outcome === 'refused') refuse(movement, result);
        return null;
      });
    },

    async applyHoldDecision({ holdId, ...scope }, { action, reason, code }) {
      const book = bookOf(scope);
      return await retryOnConflict(journal, async ({ post }): Promise<AppliedDecision | null> => {
        const { hold } = await read(book, holdId);
        const { status } = hold;
        if (status !== 'held') {
          // An earlier attempt has done it, or another decision was first.
          return { outcome: status === AFTER[action] ? 'done' : 'refused', message: `The hold is ${status}.`, status };
        }
        const decision = decisionOf(
          { code, about: versionText(hold), reason },
          publicId('hold', hold.id),
          `hold.${action}`,
        );
        const next = cancelledHold(hold);
        if (action === 'cancel' && !isOfTransfer(next)) return { outcome: 'refused', message: BY_REFUND, status };
        const movement =
          action === 'cancel' && isOfTransfer(next)
            ? cancelHold(book, next, await readReturnRefusal(sql, book, next.sourceWalletId), decision)
            : releaseHold(book, hold, releasedHold(hold, amountHeld(hold)), decision);
        const result = await post(movement);
        if (result.outcome === 'posted')
          return { outcome: 'done', message: `The hold is ${AFTER[action]}.`, status: AFTER[action] };
        if (result.outcome !== 'refused') return null;
        if (result.code === 'DECISION_REFUSED')
          return { outcome: 'denied', message: refusalText(result.detail, decision), status };
        const refusal = action === 'release' ? refusalOfWallet(result, hold) : null;
        if (refusal !== null) return { outcome: 'refused', message: describeRefusal(refusal), status };
        // The wallet that paid takes nothing by now: it is read again.
        if (TAKES_NOTHING.includes(result.code)) return null;
        return refuse(movement, result);
      });
    },
  };
}
