// Pays a `virtual_wallet` payment from a wallet (contract, section 4.7). The money moves here and not in the payment's
// flow, because the caller waits for the result; a signal then ends the flow.
import { z } from 'zod';
import { publicId, type Uuid } from '../../ids.ts';
import type { PostResult } from '../../ledger/movement.ts';
import { endPayment } from '../../resources/flows.ts';
import { refusingSplit } from '../../resources/inboundCredits/movements.ts';
import { settledWith, walletPaymentMovement } from '../../resources/payments/movements.ts';
import { findPayment, type Payment, type PaymentWithAccount } from '../../resources/payments/queries.ts';
import { payment } from '../../resources/publicSchemas.ts';
import { decidePay, type PayRefusal } from '../../workflows/payment/decide.ts';
import { ApiError } from '../errors.ts';
import { SENDING_ERRORS, throwIfRefused, wasPosted } from '../postOutcome.ts';
import { requireId, requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { id } from '../schemas.ts';
import { paymentView } from '../views.ts';

/** A payment ends at most once, so a second attempt sees how it ended. */
const ATTEMPTS_MAX = 2;

const payFromWallet = route({
  operationId: 'payFromWallet',
  summary: 'Pay a payment from a wallet',
  success: { status: 200, data: payment },
  errors: [
    'WALLET_NOT_FOUND',
    'PAYMENT_NOT_FOUND',
    'PAYMENT_METHOD_MISMATCH',
    'PAYMENT_NOT_PAYABLE',
    'SAME_WALLET',
    ...SENDING_ERRORS,
  ],
  endpoint: 'POST /wallets/:id/pay',
  access: 'payment',
  idempotencyKey: 'required',
  body: z.strictObject({ paymentId: id }),
  handle: async (call) => {
    const payerWalletId = requireId('wallet', call.params.id ?? '');
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const payment = await requireRow(call, 'payment', findPayment, call.body.paymentId);
      const data = await pay(call, payment, payerWalletId);
      if (data !== null) return data;
    }
    throw new Error(`a payment changed during each of ${ATTEMPTS_MAX} attempts to pay it`);
  },
});

/**
 * Pays a payment from this wallet; null: another writer changed the payment first. Throws PAYMENT_METHOD_MISMATCH,
 * PAYMENT_NOT_PAYABLE or SAME_WALLET. The part of a split whose wallet does not take it goes to review.
 */
async function pay(call: Call, payment: PaymentWithAccount, payerWalletId: Uuid) {
  const decision = decidePay(payment, payerWalletId, call.now);
  if (decision.kind === 'refuse') throw payRefusal(decision.code, payment, payerWalletId);
  const { amountReceived, toWallet } = decision;
  const settlement = { amountReceived, toWallet, toFees: amountReceived - toWallet, toSuspense: 0 };
  const refusing = new Set<Uuid>(); // wallets of splits
  for (;;) {
    const settled = { ...settledWith(payment, settlement, refusing, call.now), payerWalletId };
    const data = paymentView(settled, call);
    const posted = await post(call, payment, settled, call.outcome(data));
    if (typeof posted === 'boolean') return posted ? data : null;
    refusing.add(posted);
  }
}

/** The error with which a payment refuses to be paid. */
export function payRefusal(
  code: PayRefusal,
  { id, method, status, expiresAt, targetWalletId }: Payment,
  payerWalletId: Uuid = targetWalletId,
): ApiError {
  const details = {
    PAYMENT_METHOD_MISMATCH: { method, requiredMethod: 'virtual_wallet' },
    PAYMENT_NOT_PAYABLE: { status, expiresAt: expiresAt.toISOString() },
    SAME_WALLET: { walletId: publicId('wallet', payerWalletId) },
  };
  return new ApiError(code, { paymentId: publicId('payment', id), ...details[code] });
}

/**
 * Posts the payment. Returns false when another writer changed the payment first: read it and decide again; or the
 * wallet of a split that does not take its part.
 */
async function post(
  call: Call,
  payment: Payment,
  settled: PaymentWithAccount & { payerWalletId: Uuid },
  outcome: ReturnType<Call['outcome']>,
): Promise<boolean | Uuid> {
  const { dependencies, book } = call;
  const movement = walletPaymentMovement(book, payment, settled);
  const result: PostResult = await dependencies.journal.post({
    ...movement,
    outbox: [endPayment(book, settled, 'settled'), ...(movement.outbox ?? [])],
    outcome,
  });
  if (result.outcome === 'duplicate_differs') return false; // another wallet paid: the key is per payment
  const refusing = result.outcome === 'refused' ? refusingSplit(payment.splits, result) : null;
  if (refusing !== null && refusing !== settled.payerWalletId) return refusing;
  throwIfRefused(movement, result);
  return await wasPosted(call, movement, result); // for the same reason
}

export const payRoutes: Route[] = [payFromWallet];
