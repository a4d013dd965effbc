// Ends a payment before its window does: pays it from a wallet (contract, section 4.7), cancels it (section 4.8) or, on
// the test host, has it expire now. The money of a `virtual_wallet` payment moves here and not in the payment's flow,
// because the caller waits for the result; a signal then ends the flow.
import { z } from 'zod';
import { publicId, type Uuid } from '../../ids.ts';
import type { Movement } from '../../ledger/movement.ts';
import { endPayment } from '../../resources/flows.ts';
import { refusingSplit } from '../../resources/inboundCredits/movements.ts';
import {
  cancellationMovement,
  cancelledPayment,
  expiredPayment,
  expiryMovement,
  settledWith,
  walletPaymentMovement,
} from '../../resources/payments/movements.ts';
import { findPayment, type Payment, type PaymentWithAccount } from '../../resources/payments/queries.ts';
import { payment as paymentSchema } from '../../resources/publicSchemas.ts';
import { findWallet } from '../../resources/wallets/queries.ts';
import { decideCancellation, decideExpiry, decidePay, type PayRefusal } from '../../workflows/payment/decide.ts';
import { ApiError } from '../errors.ts';
import { SENDING_ERRORS, throwIfRefused, untilPosted, wasPosted } from '../postOutcome.ts';
import { requireId, requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { id } from '../schemas.ts';
import { paymentView } from '../views.ts';
import { requireTransaction } from '../walletRefusal.ts';
import { requirePayment } from './payments.ts';

export const payFromWallet = route({
  operationId: 'payFromWallet',
  success: { status: 200, data: paymentSchema },
  errors: ['PAYMENT_NOT_FOUND', 'PAYMENT_METHOD_MISMATCH', 'PAYMENT_NOT_PAYABLE', 'SAME_WALLET', ...SENDING_ERRORS],
  endpoint: 'POST /wallets/:id/pay',
  access: 'payment',
  idempotencyKey: 'required',
  body: z.strictObject({ paymentId: id }),
  handle: (call) => {
    const payerWalletId = requireId('wallet', call.params.id ?? '');
    return untilPosted(async () =>
      pay(call, await requireRow(call, 'payment', findPayment, call.body.paymentId), payerWalletId),
    );
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
  if (payment.splits.length > 0)
    requireTransaction(await requireRow(call, 'wallet', findWallet, publicId('wallet', payerWalletId)), toWallet);
  const settlement = { amountReceived, toWallet, toFees: amountReceived - toWallet, toSuspense: 0 };
  const refusing = new Set<Uuid>(); // wallets of splits
  for (;;) {
    const settled = { ...settledWith(payment, settlement, refusing, call.now), payerWalletId };
    const data = paymentView(settled, call);
    const movement = walletPaymentMovement(call.book, payment, settled);
    const outbox = [endPayment(call.book, settled, 'settled'), ...(movement.outbox ?? [])];
    const result = await call.dependencies.journal.post({ ...movement, outbox, outcome: call.outcome(data) });
    if (result.outcome === 'duplicate_differs') return null; // another wallet paid: the key is per payment
    const refused = result.outcome === 'refused' ? refusingSplit(payment.splits, result) : null;
    if (refused === null || refused === payerWalletId) {
      throwIfRefused(movement, result);
      return (await wasPosted(call, movement, result)) ? data : null; // for the same reason
    }
    refusing.add(refused);
  }
}

/** The error with which a payment refuses to be paid. */
function payRefusal(
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

interface Ended {
  next: PaymentWithAccount;
  movement: Movement;
}

/** Posts the end that `decide` makes of the current payment; null: it has ended so already. */
const end = (call: Call, decide: (payment: PaymentWithAccount) => Ended | null) =>
  untilPosted(async () => {
    const payment = await requirePayment(call);
    const ended = decide(payment);
    if (ended === null) return paymentView(payment, call);
    const data = paymentView(ended.next, call);
    const posted = await call.dependencies.journal.post({ ...ended.movement, outcome: call.outcome(data) });
    throwIfRefused(ended.movement, posted);
    return posted.outcome === 'conflict' ? null : data;
  });

const cancel = route({
  operationId: 'cancelPayment',
  success: { status: 200, data: paymentSchema },
  errors: ['PAYMENT_NOT_CANCELLABLE'],
  endpoint: 'POST /payments/:id/cancel',
  access: 'payment',
  body: z.strictObject({}).prefault({}),
  handle: (call) =>
    end(call, (payment) => {
      const { id, status } = payment;
      const decision = decideCancellation(payment);
      if (decision === 'no_change') return null;
      if (decision === 'refuse')
        throw new ApiError('PAYMENT_NOT_CANCELLABLE', { paymentId: publicId('payment', id), status });
      const next = cancelledPayment(payment);
      return { next, movement: cancellationMovement(call.book, next) };
    }),
});

/**
 * Posts what the payment's flow posts at the end of its window. The flow finds the payment expired then, and closes its
 * account number, which takes late credits until that time.
 */
const expire = route({
  operationId: 'simulateExpiry',
  success: { status: 200, data: paymentSchema },
  errors: ['PAYMENT_NOT_PAYABLE'],
  endpoint: 'POST /simulations/payments/:id/expire',
  access: 'any',
  environments: ['test'],
  handle: (call) =>
    end(call, (payment) => {
      const decision = decideExpiry(payment);
      if (decision.kind === 'no_change') throw payRefusal('PAYMENT_NOT_PAYABLE', payment);
      const next = expiredPayment(payment, decision.toSuspense);
      return { next, movement: expiryMovement(call.book, next, decision.toSuspense) };
    }),
});

export const paymentEndRoutes: Route[] = [cancel, expire];
