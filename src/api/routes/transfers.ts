// Transfers between two wallets (contract, section 4.5). One statement moves the money and writes all rows that belong
// to the transfer. Nothing is read before it, because the ledger returns the reason of a refusal, such as an unknown
// wallet.
import { z } from 'zod';
import type { Sql } from '../../database/pool.ts';
import { newUuid, publicId } from '../../ids.ts';
import { feeOf } from '../../ledger/fees.ts';
import type { Book } from '../../money.ts';
import { newHold } from '../../resources/holds/movements.ts';
import type { Hold } from '../../resources/holds/queries.ts';
import type { PageRequest, Position } from '../../resources/pages.ts';
import { transfer as transferSchema } from '../../resources/publicSchemas.ts';
import { transferMovement } from '../../resources/transfers/movements.ts';
import {
  listTransfers,
  listWalletTransfers,
  type Transfer,
  type TransferFilters,
  type WalletTransfer,
} from '../../resources/transfers/queries.ts';
import { transferView } from '../../resources/views.ts';
import { findWallet } from '../../resources/wallets/queries.ts';
import { ApiError } from '../errors.ts';
import { holdField, releaseTimeOf } from '../holdRequest.ts';
import { byCreation, readRoutes } from '../lists/listRoute.ts';
import { postNew, SENDING_ERRORS } from '../postOutcome.ts';
import { READABLE } from '../readable.ts';
import { requireId, requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { amount, attachedFields, attachedFilters, attachedOf, id, optional, text, walletIdFilter } from '../schemas.ts';
import { requireRoom } from '../walletRefusal.ts';

const create = route({
  operationId: 'createTransfer',
  success: { status: 201, data: transferSchema },
  errors: ['SAME_WALLET', 'REFERENCE_TAKEN', ...SENDING_ERRORS],
  endpoint: 'POST /wallets/:id/transfer',
  access: 'transfer',
  idempotencyKey: 'required',
  body: z.strictObject({
    destinationWalletId: id,
    amount,
    description: optional(text(500)),
    hold: optional(holdField),
    ...attachedFields,
  }),
  handle: async (call) => {
    const { dependencies, book, params, body, now, outcome } = call;
    const walletId = requireId('wallet', params.id ?? '');
    const asked: Transfer = {
      id: newUuid(),
      sourceWalletId: walletId,
      destinationWalletId: requireId('wallet', body.destinationWalletId),
      holdId: null,
      amount: body.amount,
      fee: feeOf(await dependencies.fees(book), { movement: 'transfer', rail: null, walletId }, body.amount),
      status: 'completed',
      description: body.description ?? null,
      ...attachedOf(body),
      createdAt: now,
    };
    if (asked.sourceWalletId === asked.destinationWalletId) {
      throw new ApiError('SAME_WALLET', { walletId: publicId('wallet', asked.sourceWalletId) });
    }
    const hold = body.hold === undefined ? null : await holdOf(call, asked, releaseTimeOf(body.hold, now));
    const transfer = hold === null ? asked : { ...asked, holdId: hold.id };
    const data = transferView(transfer);
    const movement = { ...transferMovement(book, transfer, hold, data), outcome: outcome(data) };
    await postNew(call, movement, { resource: 'transfer', reference: transfer.reference });
    return data;
  },
});

/** The hold of a transfer. Throws what the destination would refuse now: its account takes part in the release only. */
async function holdOf(call: Call, transfer: Transfer, releaseAt: Date | null): Promise<Hold> {
  const { id: transferId, sourceWalletId, destinationWalletId: walletId, amount, createdAt } = transfer;
  requireRoom(await requireRow(call, 'wallet', findWallet, publicId('wallet', walletId)), amount);
  return newHold({ walletId, sourceWalletId, transferId, paymentId: null, amount, releaseAt, createdAt });
}

/** All transfers in the order of their creation, or those of a wallet in the order of its statement. */
async function list(
  sql: Sql,
  book: Book,
  filters: TransferFilters,
  page: PageRequest,
): Promise<readonly (Transfer | WalletTransfer)[]> {
  const walletId = filters.sourceWalletId ?? filters.destinationWalletId;
  if (walletId === undefined) return await listTransfers(sql, book, filters, page);
  const wallet = await findWallet(sql, book, walletId);
  const side = filters.sourceWalletId === undefined ? 'credit' : 'debit';
  if (wallet === null) return [];
  return await listWalletTransfers(sql, book, { wallet, side }, filters, page);
}

const positionOf = (transfer: Transfer | WalletTransfer): Position =>
  'entry' in transfer ? { createdAt: transfer.createdAt, id: transfer.entry } : byCreation(transfer);

const reads = readRoutes({
  ...READABLE.transfer,
  filters: {
    sourceWalletId: walletIdFilter.optional(),
    destinationWalletId: walletIdFilter.optional(),
    ...attachedFilters,
  },
  list,
  positionOf,
});

export const transferRoutes: Route[] = [create, ...reads];
