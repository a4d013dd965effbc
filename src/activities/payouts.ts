// The activities of a payout: listing its open items, the steps of each item's bank transfer, and the roll-up.
import { publicId, requireUuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { isSameName } from '../rail/accountNames.ts';
import { isRailPaused } from '../rail/pauses.ts';
import { RailUnavailableError } from '../rail/port.ts';
import {
  clawBackItem,
  completeItem,
  holdItem,
  type ItemFailure,
  returnItemFunds,
  rollUpMovement,
} from '../resources/payouts/movements.ts';
import {
  countPayout,
  findPayoutItem,
  type ItemWithWallet,
  listOpenItems,
  type PayoutItem,
} from '../resources/payouts/queries.ts';
import { findWallet, type Wallet } from '../resources/wallets/queries.ts';
import type { PauseMode, TransferProgress } from '../workflows/bankTransfer/messages.ts';
import { bookOf } from '../workflows/flows.ts';
import { hasUnreportedChange, rollUp } from '../workflows/payout/decide.ts';
import type {
  OpenItem,
  PayoutActivities,
  PayoutInput,
  PayoutPageInput,
  PayoutProgress,
} from '../workflows/payout/messages.ts';
import type { PayoutItemActivities, PayoutItemInput } from '../workflows/payoutItem/messages.ts';
import { createBankTransferSteps, pausedProgress, railOf, type TransferAdapter } from './bankTransfers.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { invariantViolation } from './failures.ts';
import { retryOnConflict } from './posting.ts';

const NOT_RESOLVED = 'The bank knows no account with this number';

export function createPayoutActivities(dependencies: ActivityDependencies): PayoutActivities & PayoutItemActivities {
  const { sql, journal, rails, config } = dependencies;

  async function readItem(book: Book, itemId: string): Promise<ItemWithWallet> {
    const sourced = await findPayoutItem(sql, book, requireUuid('payoutItem', itemId));
    if (sourced === null) throw invariantViolation(`payout item ${itemId} is not in the database`);
    return sourced;
  }

  async function readWallet(book: Book, { item, sourceWalletId }: ItemWithWallet): Promise<Wallet> {
    const wallet = await findWallet(sql, book, sourceWalletId);
    if (wallet === null) throw invariantViolation(`the wallet of payout item ${item.id} is not in the database`);
    return wallet;
  }

  async function putBack(book: Book, sourced: ItemWithWallet, failure: ItemFailure) {
    const wallet = await readWallet(book, sourced);
    return returnItemFunds(book, sourced, failure, wallet.status === 'closed');
  }

  /**
   * Name enquiry, as for a withdrawal: returns the bank's own name for the account, or why the item cannot be sent. The
   * deposit account of a wallet is ours and needs none. Throws RailUnavailableError.
   */
  async function enquire(book: Book, item: PayoutItem): Promise<{ accountName: string | null } | { refusal: string }> {
    const { accountNumber, bankCode, accountName } = item;
    if (item.destinationWalletId !== null) return { accountName };
    const rail = railOf(rails, book, item.rail);
    const found = await rail.resolveAccount({ organisationId: book.organisationId, accountNumber, bankCode });
    if (found === null) return { refusal: NOT_RESOLVED };
    if (accountName !== null && !isSameName(accountName, found.accountName)) {
      return { refusal: `The bank has this account under another name: ${found.accountName}` };
    }
    return { accountName: found.accountName };
  }

  /**
   * Moves a pending item's money out of the reserve: to transit, or back to the wallet if it cannot be sent. Returns
   * whether this call did so; while the rail is paused the money stays in the reserve. Throws RailUnavailableError.
   */
  async function hold(book: Book, itemId: string): Promise<boolean | 'paused'> {
    return await retryOnConflict(journal, async ({ postOrPark }) => {
      const sourced = await readItem(book, itemId);
      if (sourced.item.status !== 'pending') return false;
      if (await isRailPaused(sql, book.environment)) return 'paused';
      const enquiry = await enquire(book, sourced.item);
      const movement =
        'refusal' in enquiry
          ? await putBack(book, sourced, { kind: 'payout_item_refusal', reason: enquiry.refusal, sessionId: null })
          : holdItem(book, sourced.item, enquiry.accountName);
      return (await postOrPark(movement)) ? true : null;
    });
  }

  const adapter: TransferAdapter<ItemWithWallet> = {
    async read(book, transferId) {
      const sourced = await readItem(book, transferId);
      const { rail, status, returnedAt } = sourced.item;
      if (returnedAt !== null) return { row: sourced, rail, state: 'returned' };
      return { row: sourced, rail, state: status === 'pending' ? 'processing' : status };
    },
    instruction: (book, { item }) => ({
      organisationId: book.organisationId,
      reference: publicId('payoutItem', item.id),
      amount: item.amount,
      accountNumber: item.accountNumber,
      bankCode: item.bankCode,
      accountName: item.accountName,
      narration: item.reference ?? `Payout ${publicId('payout', item.payoutId)}`,
    }),
    async movement(book, sourced, change, report) {
      if (change === 'complete') return completeItem(book, sourced.item, report);
      if (change === 'claw_back') {
        return clawBackItem(book, sourced, report, (await readWallet(book, sourced)).balance);
      }
      const { sessionId } = report;
      return await putBack(
        book,
        sourced,
        change === 'fail'
          ? { kind: 'payout_item_failure', reason: report.reason ?? 'The bank refused the transfer', sessionId }
          : { kind: 'payout_item_return', reason: report.reason ?? 'The bank returned the money', sessionId },
      );
    },
  };
  const { send, check, markUnsent, decide } = createBankTransferSteps<ItemWithWallet, PayoutItemInput>(
    dependencies,
    adapter,
  );

  /**
   * Runs a step of the transfer. Whichever step it is, an item that is still in the reserve is held and sent first.
   * While the name enquiry is unavailable its money stays in the reserve, and its flow waits as for any unreachable
   * rail.
   */
  const onceHeld =
    (step: typeof send) =>
    async (input: PayoutItemInput, pauseMode?: PauseMode): Promise<TransferProgress> => {
      const book = bookOf(input);
      const limits = async () => {
        const { item } = await readItem(book, input.transferId);
        return { ...config.attention, unknownIsFinalAfterMs: railOf(rails, book, item.rail).unknownIsFinalAfterMs };
      };
      try {
        const held = await hold(book, input.transferId);
        if (held === 'paused') return pausedProgress('processing', await limits(), pauseMode);
        return await (held ? send : step)(input, pauseMode);
      } catch (error) {
        if (!(error instanceof RailUnavailableError)) throw error;
        return { status: 'processing', rail: 'unreachable', limits: await limits() };
      }
    };

  return {
    async listPayoutItems({ payoutId, page, ...scope }: PayoutPageInput): Promise<OpenItem[]> {
      const open = await listOpenItems(sql, bookOf(scope), requireUuid('payout', payoutId), page);
      return open.map(({ id, amount }) => ({ itemId: publicId('payoutItem', id), amount }));
    },

    sendPayoutItem: onceHeld(send),
    checkPayoutItem: onceHeld(check),
    markPayoutItemUnsent: onceHeld(markUnsent),
    // Without onceHeld: if the money is still in the reserve, the posting takes it from there.
    applyPayoutItemDecision: decide,

    async rollUpPayout({ payoutId, ...scope }: Pick<PayoutInput, 'payoutId'> & Book): Promise<PayoutProgress> {
      const book = bookOf(scope);
      return await retryOnConflict(journal, async ({ postOrPark }) => {
        const counted = await countPayout(sql, book, requireUuid('payout', payoutId));
        if (counted === null) throw invariantViolation(`payout ${payoutId} is not in the database`);
        const { payout, ...counts } = counted;
        const progress = { status: rollUp(counts), completed: counts.completed, failed: counts.failed };
        if (!hasUnreportedChange(payout, counts)) return progress;
        return (await postOrPark(rollUpMovement(book, payout, counts))) ? progress : null;
      });
    },
  };
}
