// Payments (contract, section 4.8): create, read, list. Creating a payment posts nothing to the ledger; the payment's
// flow posts the money when the rail reports it.
import { z } from 'zod';
import { publicId } from '../../ids.ts';
import type { Book } from '../../money.ts';
import { type BankRail, RailRefusedError, RailUnavailableError, type VirtualAccount } from '../../rail/port.ts';
import { listCredits } from '../../resources/inboundCredits/queries.ts';
import { acceptPayment, newPayment } from '../../resources/payments/movements.ts';
import { findPayment, listPayments, type Payment, type PaymentWithAccount } from '../../resources/payments/queries.ts';
import { findWallet, holderName, type Wallet } from '../../resources/wallets/queries.ts';
import type { VirtualAccountRow } from '../../resources/wallets/virtualAccounts.ts';
import { requireRail, toRailError } from '../bankLookup.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiError } from '../errors.ts';
import { byCreation, listRoute } from '../lists/listRoute.ts';
import { postNew } from '../postOutcome.ts';
import { requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { amount, createdFilters, id, optional, optionalOr, text, walletIdFilter } from '../schemas.ts';
import { creditView, paymentView } from '../views.ts';

const EXPIRES_IN_DEFAULT_SECONDS = 1_800;
const EXPIRES_IN_MIN_SECONDS = 60;
const EXPIRES_IN_MAX_SECONDS = 86_400;

const createBody = z.strictObject({
  method: z.enum(['bank_transfer', 'virtual_wallet']),
  baseAmount: amount,
  targetWalletId: id,
  description: optional(text(500)),
  expiresIn: optionalOr(
    z.number().int().min(EXPIRES_IN_MIN_SECONDS).max(EXPIRES_IN_MAX_SECONDS),
    EXPIRES_IN_DEFAULT_SECONDS,
  ),
});

const create = route({
  method: 'post',
  path: '/payments',
  access: 'payment',
  idempotent: true,
  body: createBody,
  handle: async (call) => {
    const { dependencies, caller, body, outcome } = call;
    const { book } = caller;
    const wallet = await requireTarget(call, body.targetWalletId, body.baseAmount);
    const createdAt = new Date();
    const payment = newPayment({
      method: body.method,
      baseAmount: body.baseAmount,
      targetWalletId: wallet.id,
      description: body.description ?? null,
      expiresAt: new Date(createdAt.getTime() + body.expiresIn * 1000),
      createdAt,
    });
    const account =
      body.method === 'bank_transfer' ? await openPaymentAccount(dependencies, book, wallet, payment) : null;
    const result = { status: 201 as const, data: paymentView({ ...payment, account }) };
    await postNew(dependencies.journal, { ...acceptPayment(book, payment, account), outcome: outcome(result) });
    return result;
  },
});

/** The wallet to be credited. Throws the refusals that the credit would meet, before a payer gets payment details. */
async function requireTarget(call: Call<unknown, unknown>, walletId: string, baseAmount: number): Promise<Wallet> {
  const wallet = await requireRow(call, 'wallet', walletId, findWallet);
  if (wallet.status === 'frozen') throw new ApiError('WALLET_FROZEN', { walletId });
  if (wallet.status === 'closed') throw new ApiError('WALLET_CLOSED', { walletId });
  if (wallet.kind === 'end_user' && wallet.kycStatus === 'none')
    throw new ApiError('WALLET_KYC_REQUIRED', { walletId });
  if (wallet.postingMax !== null && baseAmount > wallet.postingMax) {
    throw new ApiError('WALLET_TIER1_LIMIT_EXCEEDED', {
      walletId,
      limit: 'transaction',
      limitAmount: wallet.postingMax,
      attemptedAmount: baseAmount,
    });
  }
  return wallet;
}

/**
 * Opens the payment's account number at the rail, with the payment's id as reference. If that fails, stores the payment
 * as `failed` and throws 502, or 504 on a timeout.
 */
async function openPaymentAccount(
  dependencies: ApiDependencies,
  book: Book,
  wallet: Wallet,
  payment: Payment,
): Promise<VirtualAccountRow> {
  const rail = requireRail(dependencies, book.environment);
  try {
    const account = await openAccount(rail, book, wallet, payment);
    return {
      rail: rail.name,
      ownerKind: 'payment',
      ownerId: payment.id,
      expiresAt: payment.expiresAt,
      createdAt: payment.createdAt,
      ...account,
    };
  } catch (error) {
    if (!(error instanceof RailUnavailableError || error instanceof RailRefusedError)) throw error;
    await dependencies.journal.post({ book, rows: { payments: [{ ...payment, status: 'failed' }] } });
    throw toRailError(error);
  }
}

function openAccount(rail: BankRail, book: Book, wallet: Wallet, payment: Payment): Promise<VirtualAccount> {
  return rail.openVirtualAccount({
    organisationId: book.organisationId,
    reference: publicId('payment', payment.id),
    accountName: holderName(wallet),
    expiresAt: payment.expiresAt,
  });
}

const list = listRoute({
  path: '/payments',
  access: 'payment',
  filters: {
    ...createdFilters,
    status: z.enum(['pending', 'partial', 'settled', 'expired', 'failed', 'refunded', 'partially_refunded']).optional(),
    method: z.enum(['bank_transfer', 'virtual_wallet']).optional(),
    targetWalletId: walletIdFilter.optional(),
  },
  find: ({ dependencies, caller }, filters, page) => listPayments(dependencies.sql, caller.book, filters, page),
  view: paymentView,
  positionOf: byCreation,
});

const read = route({
  method: 'get',
  path: '/payments/:id',
  access: 'payment',
  handle: async (call) => ({ status: 200, data: paymentView(await requirePayment(call)) }),
});

const readCredits = listRoute({
  path: '/payments/:id/credits',
  access: 'payment',
  filters: createdFilters,
  find: async (call, filters, page) => {
    const { id: ownerId } = await requirePayment(call);
    return await listCredits(call.dependencies.sql, call.caller.book, { kind: 'payment', id: ownerId }, filters, page);
  },
  view: creditView,
  positionOf: byCreation,
});

/** Reads the payment of the path. Throws PAYMENT_NOT_FOUND. */
export const requirePayment = (call: Call<unknown, unknown>): Promise<PaymentWithAccount> =>
  requireRow(call, 'payment', call.params.id ?? '', findPayment);

export const paymentRoutes: Route[] = [create, list, read, readCredits];
