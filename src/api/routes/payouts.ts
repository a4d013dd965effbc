// Payouts (contract, section 4.9): a batch is checked as a whole and its money reserved here; the rest is the flow's work.
import { z } from 'zod';
import { newUuid, parseId, publicId, type Uuid } from '../../ids.ts';
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
import { type Route, route } from '../route.ts';
import { amount, bankAccountNumber, bankCode, createdFilters, id, optional, text, walletIdFilter } from '../schemas.ts';
import { payoutView } from '../views.ts';

const ITEMS_MAX = 1_000;
/** A thousand items take up about a quarter of it, so that long references and names fit too. */
const BODY_BYTES_MAX = 1024 * 1024;
/** Deposit accounts that are opened at the same time, for destinations that should have one and do not. */
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
    message: 'needs exactly one of destinationWalletId and bankAccount',
    when: ({ value }) => typeof value === 'object' && value !== null, // whatever else is wrong with it
  });

const createBody = z.strictObject({
  sourceWalletId: optional(id),
  // Told together with what else is wrong with the items, whose faults do not hide a reference that is given twice.
  items: z
    .array(itemBody)
    .min(1)
    .max(ITEMS_MAX)
    .superRefine(refuseRepeats, { when: ({ value }) => Array.isArray(value) }),
});

/** Items may be anything here: what is wrong with each is told as well. */
function refuseRepeats(items: unknown[], { addIssue }: Pick<z.RefinementCtx, 'addIssue'>): void {
  const places = new Map<string, number>();
  for (const [position, item] of items.entries()) {
    const reference = (item as { reference?: unknown } | null)?.reference;
    if (typeof reference !== 'string') continue;
    const first = places.get(reference);
    if (first === undefined) places.set(reference, position);
    else
      addIssue({
        code: 'custom',
        path: [position, 'reference'],
        message: `items.${first} has the same reference`,
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
  idempotency: 'with_commit',
  body: createBody,
  bodyBytesMax: BODY_BYTES_MAX,
  handle: async ({ services, caller, body, outcome }) => {
    const { book } = caller;
    const rail = requireRail(services, book.environment);
    const wallets = await loadWallets(services, book, body);
    const banks = await fromRail(rail.banks());
    const fields = itemErrors(body.items, wallets, banks);
    if (fields.length > 0) throw new ApiError('VALIDATION_FAILED', { fields });
    assertCanPay(wallets.source);
    const accountOf = await depositAccounts(services, rail, book, wallets, banks);

    const payoutId = newUuid();
    const items = body.items.map((item, position): PayoutItem => {
      const destination = item.destinationWalletId === undefined ? null : wallets.find(item.destinationWalletId);
      const account = destination === null ? item.bankAccount : accountOf(destination);
      if (account === undefined) throw new Error('an item without a destination passed validation');
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
    await postNew(services.journal, {
      book,
      transaction: reservePayout(payout, items),
      rows: { payouts: [payout], payout_items: items },
      outbox: [startPayout(book, payout)],
      outcome: outcome(result),
    });
    return result;
  },
});

/** The wallets that a request names. `find` is for ids that were found to be there. */
interface NamedWallets {
  source: PayoutWallet;
  find: (walletId: string) => PayoutWallet;
  destinations: PayoutWallet[];
}

/** Reads them with one query. Throws WALLET_NOT_FOUND for the first that is not there. */
async function loadWallets(services: ApiDependencies, book: Book, body: Body): Promise<NamedWallets> {
  const named = [body.sourceWalletId, ...body.items.map((item) => item.destinationWalletId)];
  const walletIds = [...new Set(named.filter((walletId) => walletId !== undefined))];
  const uuids = new Map(walletIds.map((walletId) => [walletId, parseId('wallet', walletId)]));
  const wallets = await findPayoutWallets(
    services.sql,
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
  if (source === undefined) throw new Error('an organisation has no settlement wallet');
  const paid = new Set(body.items.map((item) => item.destinationWalletId));
  return { source, find, destinations: walletIds.filter((walletId) => paid.has(walletId)).map(find) };
}

/** The answer of the rail, or the 502 or 504 that stands for none. */
async function fromRail<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw toRailError(error);
  }
}

const isVerified = (wallet: PayoutWallet): boolean => wallet.kind === 'settlement' || wallet.kycStatus === 'tier1';

/** Throws what would refuse the reserve anyway. The books have the last word. */
function assertCanPay(source: PayoutWallet): void {
  const walletId = publicId('wallet', source.id);
  if (source.status === 'frozen') throw new ApiError('WALLET_FROZEN', { walletId });
  if (source.status === 'closed') throw new ApiError('WALLET_CLOSED', { walletId });
  if (!isVerified(source)) throw new ApiError('WALLET_KYC_REQUIRED', { walletId });
}

/** Everything that wallets and banks show to be wrong with the items, each by its path. */
function itemErrors(items: readonly ItemBody[], wallets: NamedWallets, banks: readonly Bank[]): FieldError[] {
  const bankCodes = new Set(banks.map(({ code }) => code));
  return items.flatMap((item, position): FieldError[] => {
    const errors: FieldError[] = [];
    const add = (field: string, code: string, message: string, constraint?: Record<string, unknown>): void => {
      errors.push({ field: `items.${position}.${field}`, code, message, ...(constraint && { constraint }) });
    };
    if (item.bankAccount !== undefined && !bankCodes.has(item.bankAccount.bankCode)) {
      add('bankAccount.bankCode', 'bank_code_unknown', 'There is no bank with this code. GET /banks lists them.');
    }
    if (item.destinationWalletId !== undefined) {
      const wallet = wallets.find(item.destinationWalletId);
      const refusal = destinationRefusal(wallet, wallets.source);
      if (refusal !== null) add('destinationWalletId', ...refusal);
      if (wallet.postingMax !== null && item.amount > wallet.postingMax) {
        add('amount', 'wallet_tier1_limit_exceeded', 'is more than the destination wallet may receive at once', {
          maximum: wallet.postingMax,
        });
      }
    }
    return errors;
  });
}

/** Why a wallet cannot be paid: code and message; null when it can. */
function destinationRefusal(wallet: PayoutWallet, source: PayoutWallet): [string, string] | null {
  if (wallet.id === source.id) return ['same_wallet', 'is the wallet that the money comes from'];
  if (wallet.status === 'closed') return ['wallet_closed', 'is closed and accepts no new movement'];
  if (wallet.status === 'frozen') return ['wallet_frozen', 'is frozen: no money moves until it is unfrozen'];
  return isVerified(wallet) ? null : ['wallet_kyc_required', 'has not reached tier1. Submit its KYC details first.'];
}

type DepositAccount = Pick<PayoutItem, 'accountNumber' | 'accountName' | 'bankCode'>;

/** The account number behind each destination wallet; one that has none yet gets it now. Throws what the rail throws. */
async function depositAccounts(
  { sql }: ApiDependencies,
  rail: BankRail,
  book: Book,
  { destinations }: NamedWallets,
  banks: readonly Bank[],
): Promise<(wallet: PayoutWallet) => DepositAccount> {
  const without = destinations.filter((wallet) => wallet.depositAccount === null);
  for (let from = 0; from < without.length; from += ACCOUNTS_OPENED_AT_ONCE) {
    const some = without.slice(from, from + ACCOUNTS_OPENED_AT_ONCE);
    await fromRail(Promise.all(some.map((wallet) => openDepositAccount(sql, rail, book, wallet))));
  }
  const openedIds = without.map((wallet) => wallet.id);
  const opened = openedIds.length === 0 ? [] : await findPayoutWallets(sql, book, openedIds);
  const byWallet = new Map([...destinations, ...opened].map((wallet) => [wallet.id, wallet.depositAccount]));
  return (wallet) => {
    const account = byWallet.get(wallet.id) ?? null;
    if (account === null) throw new Error('a deposit account was opened and is not there');
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
  find: ({ services, caller }, filters, page) => listPayouts(services.sql, caller.book, filters, page),
  view: payoutView,
  positionOf: byCreation,
});

const read = route({
  method: 'get',
  path: '/payouts/:id',
  access: 'payout',
  handle: async ({ services, caller, params }) => {
    const payoutId = params.id ?? '';
    const uuid: Uuid | null = parseId('payout', payoutId);
    const payout = uuid === null ? null : await findPayout(services.sql, caller.book, uuid);
    if (payout === null) throw notFound('payout', payoutId);
    return { status: 200, data: payoutView(payout) };
  },
});

export const payoutRoutes: Route[] = [create, list, read];
