// Sandbox time: a payment expires now, so that a test need not wait for the end of its window. On the test host only.
import { expiredPayment, expiryMovement } from '../../resources/payments/movements.ts';
import { payment as paymentSchema } from '../../resources/publicSchemas.ts';
import { decideExpiry } from '../../workflows/payment/decide.ts';
import { throwIfRefused } from '../postOutcome.ts';
import { type Route, route } from '../route.ts';
import { paymentView } from '../views.ts';
import { payRefusal } from './pay.ts';
import { requirePayment } from './payments.ts';

/** Credits change the payment too; so often only by a bug. */
const ATTEMPTS_MAX = 20;

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
  handle: async (call) => {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const payment = await requirePayment(call);
      const decision = decideExpiry(payment);
      if (decision.kind === 'no_change') throw payRefusal('PAYMENT_NOT_PAYABLE', payment);
      const next = expiredPayment(payment, decision.toSuspense);
      const movement = expiryMovement(call.book, next, decision.toSuspense);
      const data = paymentView(next, call);
      const posted = await call.dependencies.journal.post({ ...movement, outcome: call.outcome(data) });
      if (posted.outcome === 'posted') return data;
      throwIfRefused(movement, posted);
      if (posted.outcome !== 'conflict') throw new Error(`the expiry of a payment was ${posted.outcome}`);
    }
    throw new Error(`a payment changed during each of ${ATTEMPTS_MAX} attempts to expire it`);
  },
});

export const paymentExpiryRoutes: Route[] = [expire];
