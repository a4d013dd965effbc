// Payouts (contract, section 4.9): validates a batch as a whole and reserves its money; the payout's flow sends the
// items.
import { newUuid } from '../../ids.ts';
import { NEW_TRANSFER } from '../../resources/bankTransfers/rows.ts';
import { startPayout } from '../../resources/flows.ts';
import { reservePayout } from '../../resources/payouts/movements.ts';
import {
  findPayoutRow,
  listPayoutItems,
  listPayouts,
  type Payout,
  type PayoutItem,
} from '../../resources/payouts/queries.ts';
import { payoutItem, payoutItemStatus, payout as payoutSchema, payoutStatus } from '../../resources/publicSchemas.ts';
import { payoutItemView } from '../../resources/views.ts';
import { fromRail, RAIL_ERRORS, requireRail } from '../bankLookup.ts';
import { ApiError } from '../errors.ts';
import { columnsOf } from '../lists/csv.ts';
import { listRoute, readRoutes } from '../lists/listRoute.ts';
import { payoutFile } from '../payoutFile.ts';
import {
  depositAccounts,
  isInside,
  itemErrors,
  itemFee,
  loadWallets,
  PAYOUT_BYTES_MAX,
  payoutBody,
} from '../payoutRequest.ts';
import { postNew, SENDING_ERRORS } from '../postOutcome.ts';
import { READABLE } from '../readable.ts';
import { requireRow } from '../requireRow.ts';
import { type Route, route } from '../route.ts';
import { attachedFilters, attachedOf, reference, walletIdFilter } from '../schemas.ts';
import { payoutView } from '../views.ts';
import { requireUsable } from '../walletRefusal.ts';

const create = route({
  operationId: 'createPayout',
  success: { status: 202, data: payoutSchema },
  errors: ['WALLET_NOT_FOUND', 'REFERENCE_TAKEN', 'DEPOSIT_ACCOUNT_UNAVAILABLE', ...SENDING_ERRORS, ...RAIL_ERRORS],
  endpoint: 'POST /payouts',
  access: 'payout',
  idempotencyKey: 'required',
  body: payoutBody,
  fromCsv: payoutFile,
  bodyBytesMax: PAYOUT_BYTES_MAX,
  handle: async (call) => {
    const { dependencies, book, body, now, outcome } = call;

    const rail = await requireRail(dependencies, book);
    const fees = await dependencies.fees(book);
    const wallets = await loadWallets(dependencies, rail, book, body);
    const banks = await fromRail(rail.banks());
    const fields = itemErrors(body.items, wallets, banks);
    if (fields.length > 0) throw new ApiError('VALIDATION_FAILED', { fields });
    requireUsable(wallets.source);
    const accountOf = await depositAccounts(dependencies, rail, book, wallets);

    const payoutId = newUuid();
    const items = body.items.map((item, position): PayoutItem => {
      const destination = item.destinationWalletId === undefined ? null : wallets.find(item.destinationWalletId);
      const account = destination === null ? item.bankAccount : accountOf(destination);
      if (account === undefined) throw new Error('a payout item without a destination passed validation');
      return {
        id: newUuid(),
        ...NEW_TRANSFER,
        payoutId,
        position,
        amount: item.amount,
        fee: itemFee(fees, rail, wallets.source, item),
        status: 'pending',
        destinationWalletId: destination?.id ?? null,
        accountNumber: account.accountNumber,
        accountName: account.accountName ?? null,
        bankCode: account.bankCode,
        reference: item.reference ?? null,
        rail: rail.name,
        returnedAt: null,
        unreported: false,
        inside: isInside(rail, item),
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
      ...attachedOf(body),
      createdAt: now,
    };
    const data = payoutView({ ...payout, items });
    const movement = {
      book,
      transaction: reservePayout(payout, items),
      rows: { payouts: [payout], payout_items: items },
      outbox: [startPayout(book, payout)],
      outcome: outcome(data),
    };
    await postNew(call, movement, { resource: 'payout', reference: payout.reference });
    return data;
  },
});

/** Payouts of an export that are read at a time, with their items, which are counted. */
const PAYOUTS_AT_ONCE = 20;

const reads = readRoutes({
  ...READABLE.payout,
  filters: {
    status: payoutStatus.optional(),
    sourceWalletId: walletIdFilter.optional(),
    ...attachedFilters,
  },
  list: listPayouts,
  // Without the items, of which a payout may have a thousand: they are a list of their own.
  csv: { columns: columnsOf(payoutSchema.omit({ items: true })), pageSize: PAYOUTS_AT_ONCE },
});

/** Every item of a payout exists since its creation, so a page continues after a position in the batch. */
const EPOCH = new Date(0);

const readItems = listRoute({
  operationId: 'listPayoutItems',
  item: payoutItem,
  path: '/payouts/:id/items',
  access: 'payout',
  filters: { status: payoutItemStatus.optional(), reference: reference.optional() },
  find: async (call, filters, page) => {
    const { id } = await requireRow(call, 'payout', findPayoutRow);
    return await listPayoutItems(call.sql, call.book, id, filters, page);
  },
  view: payoutItemView,
  positionOf: ({ position }) => ({ createdAt: EPOCH, id: position }),
});

export const payoutRoutes: Route[] = [create, ...reads, readItems];
