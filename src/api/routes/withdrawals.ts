// Withdrawals (contract, section 4.6): accepts a withdrawal and holds its money in transit; its flow sends the money.
import { z } from 'zod';
import { newUuid } from '../../ids.ts';
import { feeOf, feesOf } from '../../ledger/fees.ts';
import { startWithdrawal } from '../../resources/flows.ts';
import { withdrawal, withdrawalStatus } from '../../resources/publicSchemas.ts';
import { withdrawalView } from '../../resources/views.ts';
import { holdWithdrawal } from '../../resources/withdrawals/movements.ts';
import { findWithdrawal, listWithdrawals, type Withdrawal } from '../../resources/withdrawals/queries.ts';
import { BANK_ACCOUNT_ERRORS, requireRail, resolveBankAccount } from '../bankLookup.ts';
import { readRoutes } from '../lists/listRoute.ts';
import { postNew, SENDING_ERRORS } from '../postOutcome.ts';
import { type Route, route } from '../route.ts';
import {
  amount,
  attachedFields,
  attachedOf,
  bankAccountNumber,
  bankCode,
  line,
  optional,
  reference,
  walletIdFilter,
} from '../schemas.ts';
import { requireWallet } from './wallets.ts';

const createBody = z.strictObject({
  amount,
  accountNumber: bankAccountNumber,
  bankCode,
  accountName: optional(line(200)),
  narration: optional(line(100)).describe(
    'For the receiver. A live rail carries letters without their accents, digits, spaces and `.,/-`; anything else ' +
      'becomes a space, and without a narration it is `Transfer`',
  ),
  ...attachedFields,
});

const create = route({
  operationId: 'createWithdrawal',
  summary: 'Withdraw money to a bank account',
  success: { status: 201, data: withdrawal },
  errors: [
    'WALLET_NOT_FOUND',
    'REFERENCE_TAKEN',
    'WITHDRAWAL_NAME_VERIFICATION_FAILED',
    ...BANK_ACCOUNT_ERRORS,
    ...SENDING_ERRORS,
  ],
  endpoint: 'POST /wallets/:id/withdraw',
  access: 'wallet',
  idempotencyKey: 'required',
  body: createBody,
  handle: async (call) => {
    const { dependencies, book, body, now, outcome } = call;

    const wallet = await requireWallet(call);
    const rail = await requireRail(dependencies, book);
    const { bank, accountName } = await resolveBankAccount(rail, book.organisationId, body);
    const row: Withdrawal = {
      id: newUuid(),
      version: 1,
      sourceWalletId: wallet.id,
      amount: body.amount,
      fee: feeOf(feesOf(dependencies.fees, rail.name), 'withdrawal', body.amount),
      status: 'processing',
      accountNumber: body.accountNumber,
      accountName,
      bankCode: body.bankCode,
      bankName: bank.name,
      narration: body.narration ?? null,
      ...attachedOf(body),
      failureCode: null,
      failureReason: null,
      failureDetail: null,
      rail: rail.name,
      sessionId: null,
      createdAt: now,
      completedAt: null,
      clawedBack: null,
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
  resource: 'withdrawal',
  names: ['a withdrawal', 'withdrawals'],
  path: '/withdrawals',
  access: 'wallet',
  item: withdrawal,
  filters: {
    status: withdrawalStatus.optional(),
    sourceWalletId: walletIdFilter.optional(),
    reference: reference.optional(),
  },
  list: listWithdrawals,
  find: findWithdrawal,
  view: withdrawalView,
});

export const withdrawalRoutes: Route[] = [create, ...reads];
