// Payments (contract, section 4.8): create, read, list. Creating a payment posts nothing to the ledger; the payment's
// flow posts the money when the rail reports it.
import { z } from 'zod';
import { publicId } from '../../ids.ts';
import { feeOf } from '../../ledger/fees.ts';
import { AMOUNT_MAX, type Book, type Environment, type Kobo } from '../../money.ts';
import { isNotAccepted, RailCallError } from '../../rail/errors.ts';
import type { BankRail } from '../../rail/port.ts';
import { listCredits } from '../../resources/inboundCredits/queries.ts';
import { acceptPayment, newPayment } from '../../resources/payments/movements.ts';
import {
  findPayment,
  listPayments,
  ON_MISMATCH,
  type Payment,
  type PaymentWithAccount,
} from '../../resources/payments/queries.ts';
import { credit, paymentMethod, payment as paymentSchema, paymentStatus } from '../../resources/publicSchemas.ts';
import { findByReference } from '../../resources/references.ts';
import type { Wallet } from '../../resources/wallets/queries.ts';
import { accountRow, holderOf, type VirtualAccountRow } from '../../resources/wallets/virtualAccounts.ts';
import { FEE_BEARERS, netAmount, type Price, payableAmount } from '../../workflows/payment/decide.ts';
import { RAIL_ERRORS, requireRail, toRailError } from '../bankLookup.ts';
import { requireReturnUrl } from '../checkout/returnLink.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { invalidField } from '../errors.ts';
import { holdField } from '../holdRequest.ts';
import { listRoute, readRoutes } from '../lists/listRoute.ts';
import { postNew, referenceTaken } from '../postOutcome.ts';
import { READABLE } from '../readable.ts';
import { requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import {
  amount,
  attachedFields,
  attachedFilters,
  attachedOf,
  bankAccountNumber,
  createdFilters,
  id,
  optional,
  optionalOr,
  text,
  walletIdFilter,
  webUrl,
} from '../schemas.ts';
import { requireParts, requireWallets, splitsBody, termsOf } from '../splitRequest.ts';
import { creditView, paymentView } from '../views.ts';
import { WALLET_REFUSALS } from '../walletRefusal.ts';

const EXPIRES_IN_DEFAULT_SECONDS = 1_800;
/** A test need not wait for a minute. */
const EXPIRES_IN_MIN_SECONDS = { test: 1, live: 60 } as const;
const EXPIRES_IN_MAX_SECONDS = 86_400;

const create = route({
  operationId: 'createPayment',
  success: { status: 201, data: paymentSchema },
  errors: [
    'WALLET_NOT_FOUND',
    'SPLIT_TEMPLATE_NOT_FOUND',
    'REFERENCE_TAKEN',
    'WALLET_TIER1_LIMIT_EXCEEDED',
    ...WALLET_REFUSALS,
    ...RAIL_ERRORS,
  ],
  endpoint: 'POST /payments',
  access: 'payment',
  idempotencyKey: 'required',
  body: z.strictObject({
    method: paymentMethod,
    baseAmount: amount,
    targetWalletId: id,
    feeBearer: optional(z.enum(FEE_BEARERS)),
    splits: optionalOr(splitsBody, []),
    splitTemplateId: optional(id),
    hold: optional(holdField),
    description: optional(text(500)),
    onMismatch: optionalOr(z.enum(ON_MISMATCH), 'hold'),
    returnUrl: optional(webUrl),
    ...attachedFields,
    expiresIn: optionalOr(
      z
        .number()
        .int()
        .min(EXPIRES_IN_MIN_SECONDS.test)
        .max(EXPIRES_IN_MAX_SECONDS)
        .meta({ 'x-live': { minimum: EXPIRES_IN_MIN_SECONDS.live } }),
      EXPIRES_IN_DEFAULT_SECONDS,
    ),
  }),
  handle: async (call) => {
    const { dependencies, book, body, now: createdAt, outcome } = call;

    assertLongEnough(book.environment, body.expiresIn);
    if (body.returnUrl !== undefined) requireReturnUrl(book.environment, body.returnUrl);
    const [wallets] = await Promise.all([requireWallets(call, body), requireFreeReference(call, body.reference)]);
    const { target: wallet } = wallets;
    const rail = body.method === 'bank_transfer' ? await requireRail(dependencies, book) : null;
    const fees = await dependencies.fees(book);
    const charge = { movement: `${body.method}_payment`, rail: rail?.name ?? null, walletId: wallet.id } as const;
    const priceOf = (baseAmount: Kobo): Price => ({
      baseAmount,
      fee: feeOf(fees, charge, baseAmount),
      feeBearer: body.feeBearer ?? fees.feeBearer,
    });
    const price = priceOf(body.baseAmount);
    requireMinimum(price, 'must be more than its fee', (base) => netAmount(priceOf(base)) > 0);
    const splits = requireParts(wallets, price);
    const opens = rail?.capabilities.oneOff ?? null;
    if (opens !== null)
      requireMinimum(
        price,
        'must be at least what the bank rail accepts',
        (base) => payableAmount(priceOf(base)) >= opens.minAmount,
      );
    const expiresIn = Math.min(body.expiresIn, opens?.maxSeconds ?? body.expiresIn);
    const asked = newPayment({
      method: body.method,
      ...price,
      targetWalletId: wallet.id,
      splits,
      hold: body.hold === undefined ? null : termsOf(body.hold, createdAt),
      description: body.description ?? null,
      onMismatch: body.onMismatch,
      returnUrl: body.returnUrl ?? null,
      ...attachedOf(body),
      expiresAt: new Date(createdAt.getTime() + expiresIn * 1000),
      createdAt,
    });
    const account = rail === null ? null : await openPaymentAccount(dependencies, rail, book, wallet, asked);
    // No payment is possible after the rail has closed the account number.
    const closesAt = account?.expiresAt ?? asked.expiresAt;
    const payment = closesAt < asked.expiresAt ? { ...asked, expiresAt: closesAt } : asked;
    const data = paymentView({ ...payment, account }, call);
    const movement = { ...acceptPayment(book, payment, account), outcome: outcome(data) };
    await postNew(call, movement, { resource: 'payment', reference: payment.reference });
    return data;
  },
});

/** Throws VALIDATION_FAILED for a window that is too short for people. */
function assertLongEnough(environment: Environment, expiresIn: number): void {
  const minimum = EXPIRES_IN_MIN_SECONDS[environment];
  if (expiresIn >= minimum) return;
  throw invalidField({
    field: 'expiresIn',
    code: 'too_small',
    message: `must be at least ${minimum} seconds`,
    constraint: { minimum },
  });
}

/** Throws VALIDATION_FAILED, with the least base amount that is enough. What is paid and received grows with it. */
function requireMinimum({ baseAmount }: Price, message: string, isEnough: (base: Kobo) => boolean): void {
  if (isEnough(baseAmount)) return;
  // By halving, because a fee is rounded and has bounds.
  let [tooLittle, minimum] = [baseAmount, AMOUNT_MAX];
  while (minimum - tooLittle > 1) {
    const between = Math.floor((tooLittle + minimum) / 2);
    if (isEnough(between)) minimum = between;
    else tooLittle = between;
  }
  throw invalidField({ field: 'baseAmount', code: 'too_small', message, constraint: { minimum } });
}

/** Throws REFERENCE_TAKEN before the rail opens an account number. The posting decides again. */
async function requireFreeReference({ sql, book }: Call, wanted?: string): Promise<void> {
  if (wanted === undefined) return;
  const id = await findByReference(sql, book, 'payment', wanted);
  if (id !== null) throw referenceTaken('payment', wanted, id);
}

/**
 * Opens the payment's account number at the rail, with the payment's id as reference. If that fails, stores the payment
 * as `failed` and throws 502, or 504 on a timeout; 503, and stores nothing, if the rail was not called.
 */
async function openPaymentAccount(
  dependencies: ApiDependencies,
  rail: BankRail,
  book: Book,
  wallet: Wallet,
  payment: Payment,
): Promise<VirtualAccountRow> {
  try {
    const account = await rail.openVirtualAccount({
      organisationId: book.organisationId,
      reference: publicId('payment', payment.id),
      holder: holderOf(wallet),
      kind: 'one_off',
      amount: payableAmount(payment),
      expiresAt: payment.expiresAt,
    });
    const owner = { ownerKind: 'payment', ownerId: payment.id, createdAt: payment.createdAt } as const;
    return accountRow(rail, owner, account);
  } catch (error) {
    // A rail that was not called, or is not ready, has failed nothing.
    if (error instanceof RailCallError && !isNotAccepted(error)) {
      await dependencies.journal.post({
        book,
        rows: { payments: [{ ...payment, status: 'failed', referenceIsFree: true }] },
      });
    }
    throw toRailError(error);
  }
}

const reads = readRoutes({
  ...READABLE.payment,
  filters: {
    status: paymentStatus.optional(),
    method: paymentMethod.optional(),
    targetWalletId: walletIdFilter.optional(),
    ...attachedFilters,
    accountNumber: bankAccountNumber.optional(),
  },
  list: listPayments,
});

const readCredits = listRoute({
  operationId: 'listPaymentCredits',
  item: credit,
  path: '/payments/:id/credits',
  access: 'payment',
  filters: createdFilters,
  find: async (call, filters, page) => {
    const { id: ownerId } = await requirePayment(call);
    return await listCredits(call.sql, call.book, { kind: 'payment', id: ownerId }, filters, page);
  },
  view: creditView,
});

/** Reads the payment of the path. Throws PAYMENT_NOT_FOUND. */
export const requirePayment = (call: Call): Promise<PaymentWithAccount> => requireRow(call, 'payment', findPayment);

export const paymentRoutes: Route[] = [create, ...reads, readCredits];
