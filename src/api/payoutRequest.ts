// The request for a payout (contract, section 4.9): its schema, its wallets, the checks of the whole batch.
import { z } from 'zod';
import { mapAtMost } from '../concurrency/mapAtMost.ts';
import { parseId, publicId } from '../ids.ts';
import { type Fees, feeOf } from '../ledger/fees.ts';
import type { Book, Kobo } from '../money.ts';
import type { Bank, BankRail } from '../rail/port.ts';
import { findPayoutWallets, type PayoutItem, type PayoutWallet } from '../resources/payouts/queries.ts';
import { requireDepositAccount } from './bankLookup.ts';
import type { ApiDependencies } from './dependencies.ts';
import { ApiError, type FieldError, notFound } from './errors.ts';
import { amount, attachedFields, bankAccount, id, optional, reference } from './schemas.ts';
import { walletRefusal } from './walletRefusal.ts';

export const ITEMS_MAX = 1_000;
/** 1 MB. A thousand ordinary items need about a quarter of it, which leaves room for long references and names. */
export const PAYOUT_BYTES_MAX = 1024 * 1024;
/** How many missing deposit accounts of destination wallets are opened concurrently. */
const ACCOUNTS_OPENED_AT_ONCE = 10;

const itemBody = z
  .strictObject({
    amount,
    reference: optional(reference),
    destinationWalletId: optional(id),
    bankAccount: optional(bankAccount),
  })
  .refine((item) => ((item.destinationWalletId ?? null) === null) !== ((item.bankAccount ?? null) === null), {
    message: 'must have exactly one of destinationWalletId and bankAccount',
    when: ({ value }) => typeof value === 'object' && value !== null, // checked even if the item has other errors
  });

export const payoutBody = z.strictObject({
  sourceWalletId: optional(id),
  ...attachedFields,
  // `when`: repeated references are reported together with other errors of the items.
  items: z
    .array(itemBody)
    .min(1)
    .max(ITEMS_MAX)
    .superRefine(rejectRepeats, { when: ({ value }) => Array.isArray(value) && value.length <= ITEMS_MAX }),
});

/** Reports repeated references. Items may be of any type here: their own errors are reported separately. */
function rejectRepeats(items: unknown[], { addIssue }: Pick<z.RefinementCtx, 'addIssue'>): void {
  const positions = new Map<string, number>();
  for (const [position, item] of items.entries()) {
    const reference = (item as { reference?: unknown } | null)?.reference;
    if (typeof reference !== 'string') continue;
    const first = positions.get(reference);
    if (first === undefined) positions.set(reference, position);
    else
      addIssue({
        code: 'custom',
        path: [position, 'reference'],
        message: `must be unique: items.${first} has the same reference`,
        params: { code: 'duplicate', constraint: { sameAs: `items.${first}.reference` } },
      });
  }
}

export type PayoutBody = z.infer<typeof payoutBody>;
type ItemBody = PayoutBody['items'][number];

type RequestWallets = Awaited<ReturnType<typeof loadWallets>>;

/**
 * Reads the wallets of a request with one query. Throws WALLET_NOT_FOUND for the first that does not exist. `find`
 * accepts only ids that the request contains.
 */
export async function loadWallets(dependencies: ApiDependencies, rail: BankRail, book: Book, body: PayoutBody) {
  const { sourceWalletId } = body;
  const destinationIds = new Set(body.items.flatMap(({ destinationWalletId }) => destinationWalletId ?? []));
  const uuids = [sourceWalletId ?? '', ...destinationIds].flatMap((walletId) => parseId('wallet', walletId) ?? []);
  const wallets = await findPayoutWallets(dependencies.sql, book, rail, uuids);
  const byId = new Map(wallets.map((wallet) => [publicId('wallet', wallet.id), wallet]));
  const find = (walletId: string): PayoutWallet => {
    const wallet = byId.get(walletId);
    if (wallet === undefined) throw notFound('wallet', walletId);
    return wallet;
  };
  const source =
    sourceWalletId === undefined ? wallets.find(({ kind }) => kind === 'settlement') : find(sourceWalletId);
  if (source === undefined) throw new Error('the organisation has no settlement wallet');
  return { source, find, destinations: [...destinationIds].map(find) };
}

/** All errors of the items that the wallets and the bank list reveal, each with its path. */
export function itemErrors(items: readonly ItemBody[], wallets: RequestWallets, banks: readonly Bank[]): FieldError[] {
  const bankCodes = new Set(banks.map(({ code }) => code));
  return items.flatMap((item, position): FieldError[] => {
    const errors: FieldError[] = [];
    const add = (field: string, code: string, message: string, constraint?: Record<string, unknown>): void => {
      errors.push({ field: `items.${position}.${field}`, code, message, ...(constraint && { constraint }) });
    };
    if (item.bankAccount !== undefined && !bankCodes.has(item.bankAccount.bankCode)) {
      add('bankAccount.bankCode', 'bank_code_unknown', 'must be a bank code from GET /banks');
    }
    if (item.destinationWalletId !== undefined) {
      const wallet = wallets.find(item.destinationWalletId);
      const refusal = destinationRefusal(wallet, wallets.source);
      if (refusal !== null) add('destinationWalletId', ...refusal);
      if (wallet.postingMax !== null && item.amount > wallet.postingMax) {
        const message = 'must not exceed what the destination wallet may receive in one transaction';
        add('amount', 'wallet_tier1_limit_exceeded', message, { maximum: wallet.postingMax });
      }
    }
    return errors;
  });
}

/** Why a wallet cannot be a destination, as code and message; null when it can. */
function destinationRefusal(wallet: PayoutWallet, source: PayoutWallet): [string, string] | null {
  if (wallet.id === source.id) return ['same_wallet', 'must not be the source wallet'];
  const code = walletRefusal(wallet);
  return code && [code.toLowerCase(), DESTINATION_MESSAGES[code]];
}

const DESTINATION_MESSAGES = {
  WALLET_CLOSED: 'must not be a closed wallet',
  WALLET_FROZEN: 'must not be a frozen wallet; use another wallet, or ask support to unfreeze it',
  WALLET_KYC_REQUIRED: 'must be a tier1 wallet; submit its KYC details first',
};

/** Whether an item is posted within the book: what the rail charges for collections would be paid for nothing. */
export const isInside = ({ capabilities }: BankRail, { destinationWalletId }: ItemBody): boolean =>
  destinationWalletId !== undefined && capabilities.charges?.collection != null;

/** The fee of an item: that of a transfer between wallets where no bank carries it. */
export function itemFee(fees: Fees, rail: BankRail, { id: walletId }: PayoutWallet, item: ItemBody): Kobo {
  const carried = isInside(rail, item)
    ? ({ movement: 'transfer', rail: null } as const)
    : ({ movement: 'payout_item', rail: rail.name } as const);
  return feeOf(fees, { ...carried, walletId }, item.amount);
}

type DepositAccount = Pick<PayoutItem, 'accountNumber' | 'accountName' | 'bankCode'>;

/** The deposit account of each destination wallet. Opens the missing ones; throws 502, 503 or 504. */
export async function depositAccounts(
  dependencies: ApiDependencies,
  rail: BankRail,
  book: Book,
  { destinations }: RequestWallets,
): Promise<(wallet: PayoutWallet) => DepositAccount> {
  const withoutAccount = destinations.filter((wallet) => wallet.depositAccount === null);
  const open = (wallet: PayoutWallet) => requireDepositAccount(dependencies, rail, book, wallet);
  await mapAtMost(ACCOUNTS_OPENED_AT_ONCE, withoutAccount, open);
  const openedIds = withoutAccount.map((wallet) => wallet.id);
  const opened = openedIds.length === 0 ? [] : await findPayoutWallets(dependencies.sql, book, rail, openedIds);
  const byWallet = new Map([...destinations, ...opened].map((wallet) => [wallet.id, wallet.depositAccount]));
  return (wallet) => {
    const account = byWallet.get(wallet.id) ?? null;
    if (account === null) throw new Error('a deposit account was opened but has no row');
    const { accountNumber, accountName, bankCode } = account;
    if (bankCode === null) throw new ApiError('BANK_RAIL_ERROR', { service: 'bank_rail' });
    return { accountNumber, accountName, bankCode };
  };
}
