// Withdrawals (contract, section 4.6): accepts a withdrawal and holds its money in transit; its flow sends the money.
import { z } from 'zod';
import { newUuid } from '../../ids.ts';
import { bankTransferFee } from '../../ledger/fees.ts';
import { isSameName } from '../../rail/accountNames.ts';
import { startWithdrawal } from '../../resources/withdrawals/flow.ts';
import { holdWithdrawal } from '../../resources/withdrawals/movements.ts';
import { findWithdrawal, listWithdrawals, type Withdrawal } from '../../resources/withdrawals/queries.ts';
import { requireRail, resolveBankAccount } from '../bankLookup.ts';
import { ApiError } from '../errors.ts';
import { byCreation, listRoute } from '../lists/listRoute.ts';
import { postNew } from '../postOutcome.ts';
import { requireRow } from '../requireRow.ts';
import { type Route, route } from '../route.ts';
import { amount, bankAccountNumber, bankCode, createdFilters, optional, text, walletIdFilter } from '../schemas.ts';
import { withdrawalView } from '../views.ts';
import { requireWallet } from './wallets.ts';

const createBody = z.strictObject({
  amount,
  accountNumber: bankAccountNumber,
  bankCode,
  accountName: optional(text(200)),
  narration: optional(text(100)),
});

const create = route({
  method: 'post',
  path: '/wallets/:id/withdraw',
  access: 'wallet',
  idempotent: true,
  body: createBody,
  handle: async (call) => {
    const { dependencies, caller, body, outcome } = call;
    const { book } = caller;
    const wallet = await requireWallet(call);
    const rail = requireRail(dependencies, book.environment);
    const { bank, accountName } = await resolveBankAccount(rail, book.organisationId, body);
    if (body.accountName !== undefined && !isSameName(body.accountName, accountName)) {
      throw new ApiError('WITHDRAWAL_NAME_VERIFICATION_FAILED', {
        providedName: body.accountName,
        resolvedName: accountName,
      });
    }
    const row: Withdrawal = {
      id: newUuid(),
      version: 1,
      sourceWalletId: wallet.id,
      amount: body.amount,
      fee: bankTransferFee(body.amount),
      status: 'processing',
      accountNumber: body.accountNumber,
      accountName,
      bankCode: body.bankCode,
      bankName: bank.name,
      narration: body.narration ?? null,
      failureReason: null,
      rail: rail.name,
      sessionId: null,
      createdAt: new Date(),
      completedAt: null,
      clawedBack: null,
    };
    const result = { status: 201 as const, data: withdrawalView(row) };
    await postNew(dependencies.journal, {
      book,
      transaction: holdWithdrawal(row),
      rows: { withdrawals: [row] },
      outbox: [startWithdrawal(book, row)],
      outcome: outcome(result),
    });
    return result;
  },
});

const list = listRoute({
  path: '/withdrawals',
  access: 'wallet',
  filters: {
    ...createdFilters,
    status: z.enum(['processing', 'completed', 'failed', 'returned']).optional(),
    sourceWalletId: walletIdFilter.optional(),
  },
  find: ({ dependencies, caller }, filters, page) => listWithdrawals(dependencies.sql, caller.book, filters, page),
  view: withdrawalView,
  positionOf: byCreation,
});

const read = route({
  method: 'get',
  path: '/withdrawals/:id',
  access: 'wallet',
  handle: async (call) => ({
    status: 200,
    data: withdrawalView(await requireRow(call, 'withdrawal', call.params.id ?? '', findWithdrawal)),
  }),
});

export const withdrawalRoutes: Route[] = [create, list, read];
