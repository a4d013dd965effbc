// Ends a payment before its window does: cancels it (contract, section 4.8) or, on the test host, has it expire now.
import { z } from 'zod';
import { publicId } from '../../ids.ts';
import type { Movement } from '../../ledger/movement.ts';
import {
  cancellationMovement,
  cancelledPayment,
  expiredPayment,
  expiryMovement,
} from '../../resources/payments/movements.ts';
import type { PaymentWithAccount } from '../../resources/payments/queries.ts';
import { payment as paymentSchema } from '../../resources/publicSchemas.ts';
import { decideCancellation, decideExpiry } from '../../workflows/payment/decide.ts';
import { ApiError } from '../errors.ts';
import { throwIfRefused } from '../postOutcome.ts';
import { type Call, type Route, route } from '../route.ts';
import { paymentView } from '../views.ts';
import { payRefusal } from './pay.ts';
import { requirePayment } from './payments.ts';

/** Credits change the payment too; so often only by a bug. */
const ATTEMPTS_MAX = 20;

interface Ended {
  next: PaymentWithAccount;
  movement: Movement;
}

/** Posts the end that `decide` makes of the current payment; null: it has ended so already. */
async function end(call: Call, decide: (payment: PaymentWithAccount) => Ended | null) {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const payment = await requirePayment(call);
    const ended = decide(payment);
    if (ended === null) return paymentView(payment, call);
    const data = paymentView(ended.next, call);
    const posted = await call.dependencies.journal.post({ ...ended.movement, outcome: call.outcome(data) });
    throwIfRefused(ended.movement, posted);
    if (posted.outcome !== 'conflict') return data;
  }
  throw new Error(`a payment changed during each of ${ATTEMPTS_MAX} attempts to end it`);
}

const cancel = route({
  operationId: 'cancelPayment',
  summary: 'Cancel a pending payment',
  success: { status: 200, data: paymentSchema },
  errors: ['PAYMENT_NOT_FOUND', 'PAYMENT_NOT_CANCELLABLE'],
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
  summary: 'Have a payment expire now',
  success: { status: 200, data: paymentSchema },
  errors: ['PAYMENT_NOT_FOUND', 'PAYMENT_NOT_PAYABLE'],
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
