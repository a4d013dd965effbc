// Withdrawals (contract, section 4.6): accepts a withdrawal and holds its money in transit; its flow sends the money.
import { z } from 'zod';
import { newUuid } from '../../ids.ts';
import { feeOf } from '../../ledger/fees.ts';
import { NEW_TRANSFER } from '../../resources/bankTransfers/rows.ts';
import { startWithdrawal } from '../../resources/flows.ts';
import { withdrawal, withdrawalStatus } from '../../resources/publicSchemas.ts';
import { withdrawalView } from '../../resources/views.ts';
import { holdWithdrawal } from '../../resources/withdrawals/movements.ts';
import { listWithdrawals, type Withdrawal } from '../../resources/withdrawals/queries.ts';
import { BANK_ACCOUNT_ERRORS, requireRail, resolveBankAccount } from '../bankLookup.ts';
import { readRoutes } from '../lists/listRoute.ts';
import { postNew, SENDING_ERRORS } from '../postOutcome.ts';
import { READABLE } from '../readable.ts';
import { type Route, route } from '../route.ts';
import {
  amount,
  attachedFields,
  attachedFilters,
  attachedOf,
  bankAccountNumber,
  bankCode,
  line,
  optional,
  walletIdFilter,
} from '../schemas.ts';
import { requireWallet } from './wallets.ts';

const create = route({
  operationId: 'createWithdrawal',
  success: { status: 201, data: withdrawal },
  errors: ['REFERENCE_TAKEN', 'WITHDRAWAL_NAME_VERIFICATION_FAILED', ...BANK_ACCOUNT_ERRORS, ...SENDING_ERRORS],
  endpoint: 'POST /wallets/:id/withdraw',
  access: 'wallet',
  idempotencyKey: 'required',
  body: z.strictObject({
    amount,
    accountNumber: bankAccountNumber,
    bankCode,
    accountName: optional(line(200)),
    narration: optional(line(100)).describe(
      'For the receiver. A live rail carries letters without their accents, digits, spaces and `.,/-`; anything else ' +
        'becomes a space, and without a narration it is `Transfer`',
    ),
    ...attachedFields,
  }),
  handle: async (call) => {
    const { dependencies, book, body, now, outcome } = call;

    const wallet = await requireWallet(call);
    const rail = await requireRail(dependencies, book);
    const fees = await dependencies.fees(book);
    const { bank, accountName } = await resolveBankAccount(rail, book.organisationId, body);
    const row: Withdrawal = {
      id: newUuid(),
      ...NEW_TRANSFER,
      sourceWalletId: wallet.id,
      amount: body.amount,
      fee: feeOf(fees, { movement: 'withdrawal', rail: rail.name, walletId: wallet.id }, body.amount),
      status: 'processing',
      accountNumber: body.accountNumber,
      accountName,
      bankCode: body.bankCode,
      bankName: bank.name,
      narration: body.narration ?? null,
      ...attachedOf(body),
      rail: rail.name,
      createdAt: now,
      completedAt: null,
    };
    const data = withdrawalView(row);
    const movement = {
      book,
      transaction: holdWithdrawal(row),
      rows: { withdrawals: [row] },
      outbox: [startWithdrawal(book, row)],
      outcome: outcome(data),
    };
    await postNew(call, movement, { resource: 'withdrawal', reference: row.reference });
    return data;
  },
});

const reads = readRoutes({
  ...READABLE.withdrawal,
  filters: {
    status: withdrawalStatus.optional(),
    sourceWalletId: walletIdFilter.optional(),
    ...attachedFilters,
  },
  list: listWithdrawals,
});

export const withdrawalRoutes: Route[] = [create, ...reads];
