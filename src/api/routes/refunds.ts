// Refunds (contract, section 4.8): full or partial refunds of a settled payment, to a bank account or the paying
// wallet.
import { z } from 'zod';
import { KeyedMutex } from '../../concurrency/keyedMutex.ts';
import { violatedCheck } from '../../database/errors.ts';
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import type { Movement } from '../../ledger/movement.ts';
import type { Book, Kobo } from '../../money.ts';
import { NEW_TRANSFER } from '../../resources/bankTransfers/rows.ts';
import { startRefund } from '../../resources/flows.ts';
import { amountHeld, type Hold, listHoldsOf } from '../../resources/holds/queries.ts';
import { findPayers, type Payer } from '../../resources/inboundCredits/queries.ts';
import { findPayment, type Payment } from '../../resources/payments/queries.ts';
import { refundDestination, refund as refundSchema, refundStatus } from '../../resources/publicSchemas.ts';
import { holdRefund, refundToWallet } from '../../resources/refunds/movements.ts';
import { listRefunds, type PayerAccount, type Refund, readRefundable } from '../../resources/refunds/queries.ts';
import { refundView } from '../../resources/views.ts';
import { decideRefund, decideRefundAccount, type UnclearDestination } from '../../workflows/refund/decide.ts';
import { BANK_ACCOUNT_ERRORS, requireRail, resolveBankAccount } from '../bankLookup.ts';
import { ApiError, invalidField } from '../errors.ts';
import { listRoute, readRoutes } from '../lists/listRoute.ts';
import { POSTING_ERRORS, throwIfReferenceTaken, throwIfRefused, untilPosted } from '../postOutcome.ts';
import { READABLE } from '../readable.ts';
import { type Funding, readFunding, refundSourceFields, refundSources, requestedAmount } from '../refundSources.ts';
import { requireRow } from '../requireRow.ts';
import { type Call, type Route, requireScope, route } from '../route.ts';
import {
  attachedFields,
  attachedFilters,
  attachedOf,
  bankAccount,
  createdFilters,
  optional,
  text,
} from '../schemas.ts';
import { requirePayment } from './payments.ts';

const createBody = z
  .strictObject({
    ...refundSourceFields,
    destination: optional(refundDestination),
    reason: optional(text(500)),
    ...attachedFields,
    bankAccount: optional(bankAccount),
  })
  .prefault({});

type CreateBody = z.infer<typeof createBody>;

/** Limits the error details: a payment can receive small credits from any number of accounts. */
const PAYERS_NAMED_MAX = 100;

/** Each refund changes its payment's row: a hundred at once would fail the version check thousands of times. */
const paymentMutex = new KeyedMutex();

/** Of every refund to who paid. */
export const REFUND_ERRORS = [
  'PAYMENT_NOT_REFUNDABLE',
  'REFUND_AMOUNT_EXCEEDED',
  'REFUND_DESTINATION_REQUIRED',
  ...BANK_ACCOUNT_ERRORS,
  ...POSTING_ERRORS,
] as const;

const create = route({
  operationId: 'refundPayment',
  success: { status: 201, data: refundSchema },
  errors: [
    'REFERENCE_TAKEN',
    'WALLET_NOT_FOUND',
    'SAME_WALLET',
    'WITHDRAWAL_NAME_VERIFICATION_FAILED',
    ...REFUND_ERRORS,
  ],
  endpoint: 'POST /payments/:id/refund',
  access: 'payment',
  idempotencyKey: 'required',
  body: createBody,
  handle: async (call) => {
    const payment = await requirePayment(call);
    const funding = await readFunding(call);
    const destination = await readDestination(call, payment);
    if (destination.kind === 'wallet' && destination.walletId === funding?.wallet.id)
      throw new ApiError('SAME_WALLET', { walletId: publicId('wallet', destination.walletId) });
    return await paymentMutex.run(payment.id, (waited) => refund(call, waited ? null : payment, destination, funding));
  },
});

/** Posts a refund against the current payment. `current`: the payment as read before; null if it must be read again. */
function refund(call: Call<CreateBody>, current: Payment | null, destination: Destination, funding: Funding | null) {
  const id = newUuid();
  return untilPosted(async (isFirst) => {
    const payment = (isFirst ? current : null) ?? (await requirePayment(call));
    const open = await listHoldsOf(call.sql, call.book, payment);
    const { row, holds } = newRefund(id, payment, call, destination, funding, open);
    if (destination.kind === 'bank') requireMayRefund(call, payment, row.amount, destination.paid);
    const data = refundView(row);
    const movement = movementOf(call.book, payment, row, destination, holds);
    const posting = call.dependencies.journal.post({ ...movement, outcome: call.outcome(data) });
    const postResult = await posting.catch(throwIfExcess(call, payment.id));
    throwIfRefused(movement, postResult);
    await throwIfReferenceTaken(call, { resource: 'refund', reference: row.reference }, postResult);
    return postResult.outcome === 'conflict' ? null : data;
  });
}

/** Throws REFUND_AMOUNT_EXCEEDED where the bank has paid refunds that had failed: a payment shows them in part. */
export const throwIfExcess =
  ({ sql, book }: Call, paymentId: Uuid) =>
  async (error: unknown): Promise<never> => {
    if (violatedCheck(error) !== 'refunds_within_what_stayed') throw error;
    const refundableAmount = await readRefundable(sql, book, paymentId);
    throw new ApiError('REFUND_AMOUNT_EXCEEDED', { paymentId: publicId('payment', paymentId), refundableAmount });
  };

/**
 * The refund, to who paid, of what is left of a hold of a payment. Throws API_KEY_SCOPE_FORBIDDEN for a key without the
 * scope `payment`, and the errors of a refund.
 */
export async function refundOfHold(call: Call, hold: Hold): Promise<{ movement: Movement; next: Hold }> {
  requireScope(call.caller, ['payment']);
  const payment = await requireRow(call, 'payment', findPayment, publicId('payment', hold.paymentId ?? ''));
  const from = [{ walletId: publicId('wallet', hold.walletId), amount: amountHeld(hold) }];
  const asked = { ...call, body: createBody.parse({ from }) };
  const destination = await readDestination(asked, payment);
  const { row, holds } = newRefund(newUuid(), payment, asked, destination, null, [hold]);
  const [next = hold] = holds;
  return { movement: movementOf(call.book, payment, row, destination, holds), next };
}

type Destination =
  | { kind: 'wallet'; walletId: Uuid }
  /** `paid`: how much of the payment came from the account, as far as it is asked. */
  | { kind: 'bank'; rail: string; account: PayerAccount; paid: Kobo };

/**
 * The destination of the money. Throws REFUND_DESTINATION_REQUIRED when it is unclear, API_KEY_SCOPE_FORBIDDEN when it
 * is not who paid and the key has no scope `wallet`, and the errors of name enquiry.
 */
async function readDestination(call: Call<CreateBody>, payment: Payment): Promise<Destination> {
  const { dependencies, sql, caller, book, body } = call;
  const refundAmount = requireRefundable(payment, body);
  const kind = body.destination ?? (payment.method === 'bank_transfer' ? 'bank' : 'wallet');
  if (kind === 'wallet') {
    if (body.bankAccount !== undefined) {
      const message = 'must be absent where the destination is wallet: send destination bank, or omit it';
      throw invalidField({ field: 'bankAccount', code: 'custom', message });
    }
    if (payment.payerWalletId === null) throw destinationRequired(payment, kind, 'not_paid_by_wallet', []);
    return { kind, walletId: payment.payerWalletId };
  }
  // A key with the scope `wallet` may choose any account: who paid does not matter.
  const payers =
    body.bankAccount === undefined || !caller.scopes.includes('wallet')
      ? await findPayers(sql, book, payment.id, { max: PAYERS_NAMED_MAX, only: body.bankAccount })
      : [];
  if (body.bankAccount === undefined) {
    const account = requirePayer(payment, payers, refundAmount);
    const rail = await requireRail(dependencies, book);
    return { kind, rail: rail.name, account, paid: paidFrom(payers, account) };
  }
  const paid = paidFrom(payers, body.bankAccount);
  requireMayRefund(call, payment, refundAmount, paid);
  const rail = await requireRail(dependencies, book);
  const { accountName } = await resolveBankAccount(rail, book.organisationId, body.bankAccount);
  return { kind, rail: rail.name, account: { ...body.bankAccount, accountName }, paid };
}

/** How much of a payment came from an account. */
const paidFrom = (payers: readonly Payer[], account: { accountNumber: string; bankCode: string }): Kobo =>
  payers.find(({ accountNumber, bankCode }) => accountNumber === account.accountNumber && bankCode === account.bankCode)
    ?.amount ?? 0;

/**
 * Throws API_KEY_SCOPE_FORBIDDEN for a key without the scope `wallet` where an account would get more than it paid:
 * such a refund takes money out of a wallet as a withdrawal does. Throws REFUND_DESTINATION_REQUIRED where the caller
 * named no account: another payer's money was credited meanwhile.
 */
function requireMayRefund({ caller, body }: Call<CreateBody>, payment: Payment, amount: Kobo, paid: Kobo): void {
  if (payment.amountRefunding + payment.amountRefunded + amount <= paid) return;
  if (body.bankAccount === undefined) throw destinationRequired(payment, 'bank', 'payer_paid_less', []);
  requireScope(caller, ['wallet']);
}

/** The one account that paid the whole payment. Throws REFUND_DESTINATION_REQUIRED when there is none. */
function requirePayer(payment: Payment, payers: readonly Payer[], refundAmount: Kobo): PayerAccount {
  const refundedBefore = payment.amountRefunding + payment.amountRefunded;
  const decision = decideRefundAccount(payers, refundedBefore, refundAmount);
  if (decision.kind === 'unclear') throw destinationRequired(payment, 'bank', decision.reason, payers);
  const { accountNumber, bankCode } = decision;
  // The name on a credit is the payer's own: the rail enquires what the account is called.
  return { accountNumber, bankCode, accountName: null };
}

/**
 * REFUND_DESTINATION_REQUIRED with the payers to choose from. Errors are stored with their idempotency key and end up
 * in callers' logs, so the details have no names and only the last four digits of account numbers. `GET
 * /payments/:id/credits` returns the full data.
 */
function destinationRequired(
  payment: Payment,
  destination: Destination['kind'],
  reason: UnclearDestination,
  payers: readonly Payer[],
): ApiError {
  return new ApiError('REFUND_DESTINATION_REQUIRED', {
    paymentId: publicId('payment', payment.id),
    destination,
    reason,
    payers: payers.map(({ accountNumber, bankCode, amount: paid }) => ({
      accountNumber: accountNumber === null ? null : accountNumber.slice(-4).padStart(accountNumber.length, '*'),
      bankCode,
      amount: paid,
    })),
  });
}

/** The amount to refund. Throws PAYMENT_NOT_REFUNDABLE or REFUND_AMOUNT_EXCEEDED. */
function requireRefundable(payment: Payment, body: CreateBody): number {
  const attemptedAmount = requestedAmount(body);
  const decision = decideRefund(payment, attemptedAmount);
  const paymentId = publicId('payment', payment.id);
  if (decision.kind === 'not_refundable') {
    throw new ApiError('PAYMENT_NOT_REFUNDABLE', { paymentId, status: payment.status });
  }
  if (decision.kind === 'too_much') {
    throw new ApiError('REFUND_AMOUNT_EXCEEDED', {
      paymentId,
      refundableAmount: decision.refundable,
      ...(attemptedAmount !== undefined && { attemptedAmount }),
      ...(payment.amountRecalled > 0 && { amountRecalled: payment.amountRecalled }),
    });
  }
  return decision.amount;
}

/** A refund, and what it takes of these open holds. */
function newRefund(
  id: Uuid,
  payment: Payment,
  { body, now }: Call<CreateBody>,
  destination: Destination,
  funding: Funding | null,
  open: readonly Hold[],
): { row: Refund; holds: Hold[] } {
  const toBank = destination.kind === 'bank';
  const amount = requireRefundable(payment, body);
  const { sources, holds } = refundSources(payment, amount, body, funding, open);
  const row: Refund = {
    id,
    ...NEW_TRANSFER,
    paymentId: payment.id,
    amount,
    sources,
    destination: destination.kind,
    status: toBank ? 'processing' : 'completed',
    reason: body.reason ?? null,
    ...(toBank ? destination.account : { accountNumber: null, accountName: null, bankCode: null }),
    ...attachedOf(body),
    rail: toBank ? destination.rail : null,
    createdAt: now,
    completedAt: toBank ? null : now,
    returnedAt: null,
  };
  return { row, holds };
}

function movementOf(
  book: Book,
  payment: Payment,
  refund: Refund,
  destination: Destination,
  holds: readonly Hold[],
): Movement {
  if (destination.kind === 'wallet') return refundToWallet(book, payment, refund, destination.walletId, holds);
  const movement = holdRefund(book, payment, refund, holds);
  return { ...movement, outbox: [...(movement.outbox ?? []), startRefund(book, refund)] };
}

const readOfPayment = listRoute({
  operationId: 'listPaymentRefunds',
  item: refundSchema,
  path: '/payments/:id/refunds',
  access: 'payment',
  filters: createdFilters,
  find: async (call, filters, page) => {
    const payment = await requirePayment(call);
    return await listRefunds(call.sql, call.book, { ...filters, paymentId: payment.id }, page);
  },
  view: refundView,
});

const [list, read] = readRoutes({
  ...READABLE.refund,
  filters: {
    status: refundStatus.optional(),
    destination: refundDestination.optional(),
    ...attachedFilters,
  },
  list: listRefunds,
});

export const refundRoutes: Route[] = [create, read, readOfPayment, list];
