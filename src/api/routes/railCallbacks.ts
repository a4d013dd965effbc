// Callbacks from rails. A callback is authenticated over its raw bytes and wakes its flow through the outbox; a credit
// is stored under the rail's session id, so repeats have no effect. The flow queries the rail before any money moves.
import { z } from 'zod';
import { parseId } from '../../ids.ts';
import type { Book } from '../../money.ts';
import { RailCallbackInvalidError } from '../../rail/port.ts';
import { findCreditOfSession } from '../../resources/inboundCredits/queries.ts';
import { receiveCredit } from '../../resources/inboundCredits/receive.ts';
import { wakePayoutItem } from '../../resources/payouts/flow.ts';
import { findPayoutItem } from '../../resources/payouts/queries.ts';
import { receiveRecall } from '../../resources/recalls/movements.ts';
import { wakeRefund } from '../../resources/refunds/flow.ts';
import { findRefund } from '../../resources/refunds/queries.ts';
import { wakeReviewCase } from '../../resources/reviewCases/flow.ts';
import { caseOfReference, findReviewCase } from '../../resources/reviewCases/queries.ts';
import { wakeWithdrawal } from '../../resources/withdrawals/flow.ts';
import { findWithdrawal } from '../../resources/withdrawals/queries.ts';
import type { FlowOutboxMessage } from '../../workflows/flows.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiError } from '../errors.ts';
import { type Route, route } from '../route.ts';

const receive = route({
  method: 'post',
  path: '/rails/:rail/callbacks',
  access: 'none',
  query: z.looseObject({}), // a rail may append parameters of its own to the callback URL
  handle: async ({ dependencies, environment, params, headers, rawBody }) => {
    const name = params.rail ?? '';
    const rail = dependencies.rails.named(environment, name);
    if (rail === null) throw new ApiError('ROUTE_NOT_FOUND', { resource: 'rail', id: name });
    try {
      const callback = rail.parseCallback(headers, rawBody);
      if (callback.kind === 'inbound_credit') {
        const { organisationId } = callback.credit;
        await receiveCredit(dependencies, { organisationId, environment }, rail.name, callback.credit);
      } else if (callback.kind === 'recall') {
        const { organisationId, sessionId } = callback;
        await receiveRecallOf(dependencies, { organisationId, environment }, rail.name, sessionId);
      } else {
        const { organisationId, reference } = callback;
        await receiveTransferUpdate(dependencies, { organisationId, environment }, reference);
      }
    } catch (error) {
      if (!(error instanceof RailCallbackInvalidError)) throw error;
      throw new ApiError('RAIL_CALLBACK_INVALID', {}, { cause: error });
    }
    return { status: 200, data: { received: true } };
  },
});

/**
 * Stores that the rail has taken a credit back, and starts the flow that asks for confirmation. A repeat changes
 * nothing; the recall of a credit that was never reported is ignored, because the rail no longer confirms that credit.
 */
async function receiveRecallOf(
  { sql, journal }: ApiDependencies,
  book: Book,
  rail: string,
  sessionId: string,
): Promise<void> {
  for (;;) {
    const credit = await findCreditOfSession(sql, book, rail, sessionId);
    if (credit === null || credit.recall !== null) return;
    // A conflict: the credit is being placed at this moment. Read again.
    if ((await journal.post(receiveRecall(book, credit))).outcome === 'posted') return;
  }
}

/** Wakes the flow of a bank transfer. An update with an unknown reference is ignored. */
async function receiveTransferUpdate(dependencies: ApiDependencies, book: Book, reference: string): Promise<void> {
  const flow = await flowOfTransfer(dependencies, book, reference);
  if (flow !== null) await dependencies.journal.post({ book, outbox: [flow] });
}

/**
 * The message that wakes the flow of a transfer, by its reference: the public id of the resource. Null when it is
 * unknown.
 */
async function flowOfTransfer(
  { sql }: ApiDependencies,
  book: Book,
  reference: string,
): Promise<FlowOutboxMessage | null> {
  const withdrawalId = parseId('withdrawal', reference);
  if (withdrawalId !== null) {
    const withdrawal = await findWithdrawal(sql, book, withdrawalId);
    return withdrawal && wakeWithdrawal(book, withdrawal);
  }
  const refundId = parseId('refund', reference);
  if (refundId !== null) {
    const refund = await findRefund(sql, book, refundId);
    return refund && wakeRefund(book, refund);
  }
  const itemId = parseId('payoutItem', reference);
  if (itemId !== null) {
    const itemWithWallet = await findPayoutItem(sql, book, itemId);
    return itemWithWallet && wakePayoutItem(book, itemWithWallet);
  }
  const caseId = caseOfReference(reference);
  if (caseId !== null) {
    const reviewCase = await findReviewCase(sql, book, caseId);
    return reviewCase && wakeReviewCase(book, reviewCase);
  }
  return null;
}

export const railCallbackRoutes: Route[] = [receive];
