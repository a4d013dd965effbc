// Payouts (contract, section 4.9): validates a batch as a whole and reserves its money; the payout's flow sends the
// items.
import { z } from 'zod';
import { newUuid, parseId, publicId } from '../../ids.ts';
import { bankTransferFee } from '../../ledger/fees.ts';
import type { Book } from '../../money.ts';
import type { Bank, BankRail } from '../../rail/port.ts';
import { startPayout } from '../../resources/payouts/flow.ts';
import { reservePayout } from '../../resources/payouts/movements.ts';
import {
  findPayout,
  findPayoutWallets,
  listPayouts,
  type Payout,
  type PayoutItem,
  type PayoutWallet,
} from '../../resources/payouts/queries.ts';
import { openDepositAccount } from '../../resources/wallets/virtualAccounts.ts';
import { requireRail, toRailError } from '../bankLookup.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiError, type FieldError, notFound } from '../errors.ts';
import { byCreation, listRoute } from '../lists/listRoute.ts';
import { postNew } from '../postOutcome.ts';
import { requireRow } from '../requireRow.ts';
import { type Route, route } from '../route.ts';
import { amount, bankAccountNumber, bankCode, createdFilters, id, optional, text, walletIdFilter } from '../schemas.ts';
import { payoutView } from '../views.ts';

const ITEMS_MAX = 1_000;
/** 1 MB. A thousand ordinary items need about a quarter of it, which leaves room for long references and names. */
const BODY_BYTES_MAX = 1024 * 1024;
/** How many missing deposit accounts of destination wallets are opened concurrently. */
const ACCOUNTS_OPENED_AT_ONCE = 10;

const itemBody = z
  .strictObject({
    amount,
    reference: optional(text(100)),
    destinationWalletId: optional(id),
    bankAccount: optional(
      z.strictObject({ accountNumber: bankAccountNumber, bankCode, accountName: optional(text(200)) }),
    ),
  })
  .refine((item) => ((item.destinationWalletId ?? null) === null) !== ((item.bankAccount ?? null) === null), {
    message: 'must have exactly one of destinationWalletId and bankAccount',
    when: ({ value }) => typeof value === 'object' && value !== null, // checked even if the item has other errors
  });

const createBody = z.strictObject({
  sourceWalletId: optional(id),
  // `when`: repeated references are reported together with other errors of the items.
  items: z
    .array(itemBody)
    .min(1)
    .max(ITEMS_MAX)
    .superRefine(rejectRepeats, { when: ({ value }) => Array.isArray(value) }),
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

type Body = z.infer<typeof createBody>;
type ItemBody = Body['items'][number];

const create = route({
  method: 'post',
  path: '/payouts',
  access: 'payout',
  idempotent: true,
  body: createBody,
  bodyBytesMax: BODY_BYTES_MAX,
  handle: async ({ dependencies, caller, body, outcome }) => {
    const { book } = caller;
    const rail = requireRail(dependencies, book.environment);
    const wallets = await loadWallets(dependencies, book, body);
    const banks = await fromRail(rail.banks());
    const fields = itemErrors(body.items, wallets, banks);
    if (fields.length > 0) throw new ApiError('VALIDATION_FAILED', { fields });
    assertCanPay(wallets.source);
    const accountOf = await depositAccounts(dependencies, rail, book, wallets, banks);

    const payoutId = newUuid();
    const items = body.items.map((item, position): PayoutItem => {
      const destination = item.destinationWalletId === undefined ? null : wallets.find(item.destinationWalletId);
      const account = destination === null ? item.bankAccount : accountOf(destination);
      if (account === undefined) throw new Error('a payout item without a destination passed validation');
      return {
        id: newUuid(),
        version: 1,
        payoutId,
        position,
        amount: item.amount,
        fee: bankTransferFee(item.amount),
        status: 'pending',
        destinationWalletId: destination?.id ?? null,
        accountNumber: account.accountNumber,
        accountName: account.accountName ?? null,
        bankCode: account.bankCode,
        reference: item.reference ?? null,
        failureReason: null,
        rail: rail.name,
        sessionId: null,
        returnedAt: null,
        clawedBack: null,
      };
    });
    const payout: Payout = {
      id: payoutId,
      version: 1,
      sourceWalletId: wallets.source.id,
      totalAmount: items.reduce((sum, item) => sum + item.amount, 0),
      totalFee: items.reduce((sum, item) => sum + item.fee, 0),
      itemCount: items.length,
      status: 'processing',
      failuresReported: 0,
      createdAt: new Date(),
    };
    const result = { status: 202 as const, data: payoutView({ ...payout, items }) };
    await postNew(dependencies.journal, {
      book,
      transaction: reservePayout(payout, items),
      rows: { payouts: [payout], payout_items: items },
      outbox: [startPayout(book, payout)],
      outcome: outcome(result),
    });
    return result;
  },
});

/** The wallets of a request. `find` accepts only ids that the request contains. */
interface RequestWallets {
  source: PayoutWallet;
  find: (walletId: string) => PayoutWallet;
  destinations: PayoutWallet[];
}

/** Reads the wallets with one query. Throws WALLET_NOT_FOUND for the first that does not exist. */
async function loadWallets(dependencies: ApiDependencies, book: Book, body: Body): Promise<RequestWallets> {
  const requested = [body.sourceWalletId, ...body.items.map((item) => item.destinationWalletId)];
  const walletIds = [...new Set(requested.filter((walletId) => walletId !== undefined))];
  const uuids = new Map(walletIds.map((walletId) => [walletId, parseId('wallet', walletId)]));
  const wallets = await findPayoutWallets(
    dependencies.sql,
    book,
    [...uuids.values()].filter((uuid) => uuid !== null),
  );
  const byId = new Map(wallets.map((wallet) => [wallet.id, wallet]));
  const find = (walletId: string): PayoutWallet => {
    const wallet = byId.get(uuids.get(walletId) ?? '');
    if (wallet === undefined) throw notFound('wallet', walletId);
    return wallet;
  };
  const found = new Map(walletIds.map((walletId) => [walletId, find(walletId)]));
  const source =
    body.sourceWalletId === undefined
      ? wallets.find((wallet) => wallet.kind === 'settlement')
      : found.get(body.sourceWalletId);
  if (source === undefined) throw new Error('the organisation has no settlement wallet');
  const destinationIds = new Set(body.items.map((item) => item.destinationWalletId));
  return { source, find, destinations: walletIds.filter((walletId) => destinationIds.has(walletId)).map(find) };
}

/** The result of a rail call. Throws 502 or 504 when the call fails. */
async function fromRail<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw toRailError(error);
  }
}

const isVerified = (wallet: PayoutWallet): boolean => wallet.kind === 'settlement' || wallet.kycStatus === 'tier1';

/** Throws the refusals that the reserve would meet. The ledger checks them again when it posts. */
function assertCanPay(source: PayoutWallet): void {
  const walletId = publicId('wallet', source.id);
  if (source.status === 'frozen') throw new ApiError('WALLET_FROZEN', { walletId });
  if (source.status === 'closed') throw new ApiError('WALLET_CLOSED', { walletId });
  if (!isVerified(source)) throw new ApiError('WALLET_KYC_REQUIRED', { walletId });
}

/** All errors of the items that the wallets and the bank list reveal, each with its path. */
function itemErrors(items: readonly ItemBody[], wallets: RequestWallets, banks: readonly Bank[]): FieldError[] {
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
        add(
          'amount',
          'wallet_tier1_limit_exceeded',
          'must not exceed what the destination wallet may receive in one transaction',
          {
            maximum: wallet.postingMax,
          },
        );
      }
    }
    return errors;
  });
}

/** Why a wallet cannot be a destination, as code and message; null when it can. */
function destinationRefusal(wallet: PayoutWallet, source: PayoutWallet): [string, string] | null {
  if (wallet.id === source.id) return ['same_wallet', 'must not be the source wallet'];
  if (wallet.status === 'closed') return ['wallet_closed', 'must not be a closed wallet'];
  if (wallet.status === 'frozen')
    return ['wallet_frozen', 'must not be a frozen wallet; use another wallet, or ask support to unfreeze it'];
  return isVerified(wallet) ? null : ['wallet_kyc_required', 'must be a tier1 wallet; submit its KYC details first'];
}

type DepositAccount = Pick<PayoutItem, 'accountNumber' | 'accountName' | 'bankCode'>;

/** The deposit account of each destination wallet. Opens the missing ones; throws 502 or 504 when the rail fails. */
async function depositAccounts(
  { sql }: ApiDependencies,
  rail: BankRail,
  book: Book,
  { destinations }: RequestWallets,
  banks: readonly Bank[],
): Promise<(wallet: PayoutWallet) => DepositAccount> {
  const withoutAccount = destinations.filter((wallet) => wallet.depositAccount === null);
  for (let from = 0; from < withoutAccount.length; from += ACCOUNTS_OPENED_AT_ONCE) {
    const chunk = withoutAccount.slice(from, from + ACCOUNTS_OPENED_AT_ONCE);
    await fromRail(Promise.all(chunk.map((wallet) => openDepositAccount(sql, rail, book, wallet))));
  }
  const openedIds = withoutAccount.map((wallet) => wallet.id);
  const opened = openedIds.length === 0 ? [] : await findPayoutWallets(sql, book, openedIds);
  const byWallet = new Map([...destinations, ...opened].map((wallet) => [wallet.id, wallet.depositAccount]));
  return (wallet) => {
    const account = byWallet.get(wallet.id) ?? null;
    if (account === null) throw new Error('a deposit account was opened but has no row');
    const bank = banks.find(({ name }) => name === account.bankName);
    if (bank === undefined) throw new ApiError('BANK_RAIL_ERROR', { service: 'bank_rail' });
    return { accountNumber: account.accountNumber, accountName: account.accountName, bankCode: bank.code };
  };
}

const list = listRoute({
  path: '/payouts',
  access: 'payout',
  filters: {
    ...createdFilters,
    status: z.enum(['processing', 'completed', 'partially_completed', 'failed']).optional(),
    sourceWalletId: walletIdFilter.optional(),
  },
  find: ({ dependencies, caller }, filters, page) => listPayouts(dependencies.sql, caller.book, filters, page),
  view: payoutView,
  positionOf: byCreation,
});

const read = route({
  method: 'get',
  path: '/payouts/:id',
  access: 'payout',
  handle: async (call) => ({
    status: 200,
    data: payoutView(await requireRow(call, 'payout', call.params.id ?? '', findPayout)),
  }),
});

export const payoutRoutes: Route[] = [create, list, read];
