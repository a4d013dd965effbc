// Payouts: the activity that lists their open items and rolls them up, and the steps of each item's bank transfer.
import { publicId, requireUuid, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { isSameName } from '../rail/accountNames.ts';
import { RailCallError, RailNotReadyError, RailUnavailableError } from '../rail/errors.ts';
import { reviewReasonOf } from '../resources/inboundCredits/movements.ts';
import {
  clawBackItem,
  completeInside,
  completeItem,
  holdItem,
  type ItemFailure,
  returnItemFunds,
  rollUpMovement,
} from '../resources/payouts/movements.ts';
import {
  countPayout,
  findPayoutItem,
  type ItemState,
  type ItemWithWallet,
  listItemStates,
  listUnreportedItems,
  type PayoutItem,
} from '../resources/payouts/queries.ts';
import { isRailPaused } from '../resources/rails/pauses.ts';
import { returnRefusalOf } from '../resources/reviewCases/movements.ts';
import { findWallet, type Wallet } from '../resources/wallets/queries.ts';
import type {
  BankTransferActivities,
  BankTransferInput,
  TransferProgress,
} from '../workflows/bankTransfer/messages.ts';
import { bookOf } from '../workflows/flows.ts';
import { hasUnreportedChange } from '../workflows/payout/decide.ts';
import type { PayoutActivities } from '../workflows/payout/messages.ts';
import {
  createBankTransferSteps,
  instructionOf,
  keepProviderMessage,
  notReadyOf,
  railOf,
  type TransferAdapter,
  transferLimits,
} from './bankTransfers.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { requireRow } from './failures.ts';
import { refuse, retryOnConflict } from './posting.ts';

/** Why an item cannot be sent. */
type Refusal = Pick<ItemFailure, 'code' | 'reason'>;

const WALLET_REFUSES = 'The wallet cannot receive this amount now: it is frozen or closed, or a limit is reached';
const NOT_RESOLVED = 'The bank knows no account with this number';

/** The steps of an item. Each one that ends the item, or finds it ended, rolls up its payout. */
export function createPayoutItemSteps(dependencies: ActivityDependencies): BankTransferActivities {
  const { sql, journal, rails, config } = dependencies;

  const readItem = async (book: Book, id: string): Promise<ItemWithWallet> =>
    requireRow(await findPayoutItem(sql, book, requireUuid('payoutItem', id)), `payout item ${id}`);

  const readWallet = async (book: Book, { item, sourceWalletId }: ItemWithWallet): Promise<Wallet> =>
    requireRow(await findWallet(sql, book, sourceWalletId), `the wallet of payout item ${item.id}`);

  async function putBack(book: Book, sourced: ItemWithWallet, failure: ItemFailure) {
    const wallet = await readWallet(book, sourced);
    return returnItemFunds(book, sourced, failure, returnRefusalOf(wallet));
  }

  /**
   * Name enquiry, as for a withdrawal: returns the bank's own name for the account, or why the item cannot be sent. The
   * deposit account of a wallet is ours and needs none. Throws RailUnavailableError.
   */
  async function enquire(book: Book, item: PayoutItem): Promise<{ accountName: string | null } | Refusal> {
    const { accountNumber, bankCode, accountName } = item;
    if (item.destinationWalletId !== null) return { accountName };
    const rail = await railOf(rails, book, item.rail);
    const found = await rail.resolveAccount({ organisationId: book.organisationId, accountNumber, bankCode });
    if (found === null) return { code: 'account_not_resolved', reason: NOT_RESOLVED };
    if (accountName !== null && !isSameName(accountName, found.accountName)) {
      return {
        code: 'name_mismatch',
        reason: `The bank has this account under another name: ${found.accountName}`,
      };
    }
    return { accountName: found.accountName };
  }

  /**
   * Moves a pending item's money out of the reserve: to transit, or back to the wallet if it cannot be sent. Returns
   * whether this call did so; while the rail is paused, and if no rail is needed, the money stays in the reserve.
   * Throws RailUnavailableError.
   */
  async function hold(book: Book, itemId: string): Promise<boolean | 'paused' | 'inside'> {
    return await retryOnConflict(journal, async ({ postOrPark, postBack }) => {
      const sourced = await readItem(book, itemId);
      if (sourced.item.inside) return 'inside';
      if (sourced.item.status !== 'pending') return false;
      if (await isRailPaused(sql, book.environment)) return 'paused';
      const enquiry = await enquire(book, sourced.item);
      const isPosted =
        'code' in enquiry
          ? await postBack(await putBack(book, sourced, { kind: 'payout_item_refusal', ...enquiry, sessionId: null }))
          : await postOrPark(holdItem(book, sourced.item, enquiry.accountName));
      return isPosted ? true : null;
    });
  }

  /** Posts a pending item to a wallet of the book, or puts its money back if the wallet refuses it. */
  async function settleInside(book: Book, itemId: string): Promise<PayoutItem> {
    await retryOnConflict(journal, async ({ post, postBack }) => {
      const sourced = await readItem(book, itemId);
      const { item } = sourced;
      if (item.status !== 'pending' || item.destinationWalletId === null) return 'settled';
      const movement = completeInside(book, item, item.destinationWalletId);
      const result = await post(movement);
      if (result.outcome !== 'refused') return result.outcome === 'posted' ? 'settled' : null;
      if (reviewReasonOf(result, item.destinationWalletId) === null) refuse(movement, result);
      const failure: ItemFailure = {
        kind: 'payout_item_refusal',
        code: 'wallet_refused',
        reason: WALLET_REFUSES,
        sessionId: null,
      };
      return (await postBack(await putBack(book, sourced, failure))) ? 'settled' : null;
    });
    return (await readItem(book, itemId)).item;
  }

  const adapter: TransferAdapter<ItemWithWallet> = {
    async read(book, transferId) {
      const sourced = await readItem(book, transferId);
      const { rail, status, returnedAt } = sourced.item;
      if (returnedAt !== null) return { row: sourced, rail, state: 'returned' };
      return { row: sourced, rail, state: status === 'pending' ? 'processing' : status };
    },
    instruction(book, { item }) {
      const narration = item.reference ?? `Payout ${publicId('payout', item.payoutId)}`;
      return instructionOf(book, publicId('payoutItem', item.id), item, narration);
    },
    async movement(book, sourced, change, report, failure) {
      if (change === 'complete') return completeItem(book, sourced.item, report);
      if (change === 'claw_back') {
        return clawBackItem(book, sourced, report, (await readWallet(book, sourced)).balance);
      }
      const kind = change === 'fail' ? 'payout_item_failure' : 'payout_item_return';
      return await putBack(book, sourced, { kind, ...failure });
    },
  };
  const steps = createBankTransferSteps(dependencies, adapter);

  /**
   * Runs a step of the transfer. Whichever step it is, an item that is still in the reserve is held and sent first.
   * While the name enquiry is unavailable its money stays in the reserve, and its flow waits as for any unreachable
   * rail.
   */
  async function onceHeld(
    input: BankTransferInput,
    step: () => Promise<TransferProgress>,
    isAsked: boolean | undefined,
  ) {
    const book = bookOf(input);
    const waiting = async (more: Pick<TransferProgress, 'rail' | 'notReady'>, { status }: Partial<PayoutItem> = {}) => {
      const { item } = await readItem(book, input.transferId);
      const limits = transferLimits(config, await railOf(rails, book, item.rail));
      return { status: status === undefined || status === 'pending' ? 'processing' : status, ...more, limits } as const;
    };
    try {
      const held = await hold(book, input.transferId);
      if (held === 'inside') return await waiting({ rail: 'known' }, await settleInside(book, input.transferId));
      if (held === 'paused') return await waiting({ rail: 'paused' });
      return await (held ? steps.sendBankTransfer(input, isAsked) : step());
    } catch (error) {
      if (error instanceof RailCallError) await keepProviderMessage(sql, book, input.transferId, error.providerMessage);
      if (error instanceof RailNotReadyError) return await waiting({ rail: 'not_ready', notReady: notReadyOf(error) });
      if (!(error instanceof RailUnavailableError)) throw error;
      return await waiting({ rail: 'unreachable' });
    }
  }

  /** Of items that end concurrently, the one that is committed last finds no other open, and rolls up. */
  async function thenRolledUp(input: BankTransferInput, step: Promise<TransferProgress>): Promise<TransferProgress> {
    const progress = await step;
    if (progress.status === 'processing') return progress;
    const book = bookOf(input);
    const { item } = await readItem(book, input.transferId);
    await rollUp(dependencies, book, item.payoutId);
    return progress;
  }

  const run = (input: BankTransferInput, step: () => Promise<TransferProgress>, isAsked?: boolean) =>
    thenRolledUp(input, onceHeld(input, step, isAsked));
  return {
    sendBankTransfer: (input, isAsked) => run(input, () => steps.sendBankTransfer(input, isAsked), isAsked),
    checkBankTransfer: (input) => run(input, () => steps.checkBankTransfer(input)),
    markBankTransferUnsent: (input) => run(input, () => steps.markBankTransferUnsent(input)),
    // Without onceHeld: if the money is still in the reserve, the posting takes it from there.
    applyBankTransferDecision: (input, decision) =>
      thenRolledUp(input, steps.applyBankTransferDecision(input, decision)),
  };
}

/** If all items have ended and that is not reported yet, updates the payout's status and writes an event. */
async function rollUp({ sql, journal }: Pick<ActivityDependencies, 'sql' | 'journal'>, book: Book, payoutId: Uuid) {
  await retryOnConflict(journal, async ({ postOrPark }) => {
    const late = await listUnreportedItems(sql, book, payoutId); // before the counts, so that these include all of them
    const { payout, ...counts } = requireRow(await countPayout(sql, book, payoutId), `payout ${payoutId}`);
    if (!hasUnreportedChange(payout, counts)) return 'reported';
    // One that was returned between the two reads would have a second event with the same counts.
    if (late.length < counts.unreported) return null;
    return (await postOrPark(rollUpMovement(book, payout, counts, late))) ? 'reported' : null;
  });
}

export const createPayoutActivities = (
  dependencies: Pick<ActivityDependencies, 'sql' | 'journal'>,
): PayoutActivities => ({
  async rollUpPayout({ payoutId, ...scope }) {
    const [book, id] = [bookOf(scope), requireUuid('payout', payoutId)];
    const items = await listItemStates(dependencies.sql, book, id);
    const count = (status: ItemState['status']) => items.filter((item) => item.status === status).length;
    const open = items.filter(({ status }) => status === 'pending' || status === 'processing');
    if (open.length === 0) await rollUp(dependencies, book, id);
    return {
      openItems: open.map((item) => ({ itemId: publicId('payoutItem', item.id), amount: item.amount })),
      completed: count('completed'),
      failed: count('failed'),
    };
  },
});
