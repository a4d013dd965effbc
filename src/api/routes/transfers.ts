// Transfers between two wallets (contract, section 4.5). One statement moves the money and writes all rows that belong
// to the transfer. Nothing is read before it, because the ledger returns the reason of a refusal.
import { z } from 'zod';
import { newUuid, parseId, publicId, type Uuid } from '../../ids.ts';
import { transferFee } from '../../ledger/fees.ts';
import { transferMovement } from '../../resources/transfers/movements.ts';
import { findTransfer, listTransfers, type Transfer } from '../../resources/transfers/queries.ts';
import { ApiError, notFound } from '../errors.ts';
import { byCreation, listRoute } from '../lists/listRoute.ts';
import { postNew } from '../postOutcome.ts';
import { requireRow } from '../requireRow.ts';
import { type Route, route } from '../route.ts';
import { amount, createdFilters, id, optional, text } from '../schemas.ts';
import { transferView } from '../views.ts';

const create = route({
  method: 'post',
  path: '/wallets/:id/transfer',
  access: 'transfer',
  idempotent: true,
  body: z.strictObject({ destinationWalletId: id, amount, description: optional(text(500)) }),
  handle: async ({ dependencies, caller, params, body, outcome }) => {
    const transfer: Transfer = {
      id: newUuid(),
      sourceWalletId: walletUuid(params.id ?? ''),
      destinationWalletId: walletUuid(body.destinationWalletId),
      amount: body.amount,
      fee: transferFee(body.amount),
      status: 'completed',
      description: body.description ?? null,
      createdAt: new Date(),
    };
    if (transfer.sourceWalletId === transfer.destinationWalletId) {
      throw new ApiError('SAME_WALLET', { walletId: publicId('wallet', transfer.sourceWalletId) });
    }
    const result = { status: 201 as const, data: transferView(transfer) };
    await postNew(dependencies.journal, { ...transferMovement(caller.book, transfer), outcome: outcome(result) });
    return result;
  },
});

/** Parses a wallet id; the ledger checks that it exists in the caller's book. Throws WALLET_NOT_FOUND if malformed. */
function walletUuid(walletId: string): Uuid {
  const uuid = parseId('wallet', walletId);
  if (uuid === null) throw notFound('wallet', walletId);
  return uuid;
}

const list = listRoute({
  path: '/transfers',
  access: 'transfer',
  filters: createdFilters,
  find: ({ dependencies, caller }, filters, page) => listTransfers(dependencies.sql, caller.book, filters, page),
  view: transferView,
  positionOf: byCreation,
});

const read = route({
  method: 'get',
  path: '/transfers/:id',
  access: 'transfer',
  handle: async (call) => ({
    status: 200,
    data: transferView(await requireRow(call, 'transfer', call.params.id ?? '', findTransfer)),
  }),
});

export const transferRoutes: Route[] = [create, list, read];
