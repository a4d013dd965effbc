// What rails tell us. A callback is authenticated over its raw bytes, stored under the rail's own identity of the fact,
// and wakes the flow through the outbox; the flow confirms it with the rail before any money moves.
import { z } from 'zod';
import { newUuid, parseId } from '../../ids.ts';
import type { Book } from '../../money.ts';
import { type InboundCreditReport, RailCallbackInvalidError } from '../../rail/port.ts';
import { startInboundCredit } from '../../resources/inboundCredits/flow.ts';
import type { InboundCredit } from '../../resources/inboundCredits/queries.ts';
import { findPayment } from '../../resources/payments/queries.ts';
import { wakePayoutItem } from '../../resources/payouts/flow.ts';
import { findPayoutItem } from '../../resources/payouts/queries.ts';
import { wakeRefund } from '../../resources/refunds/flow.ts';
import { findRefund } from '../../resources/refunds/queries.ts';
import { wakeReviewCase } from '../../resources/reviewCases/flow.ts';
import { caseOfReference, findReviewCase } from '../../resources/reviewCases/queries.ts';
import { findAccountByNumber } from '../../resources/wallets/virtualAccounts.ts';
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
  query: z.looseObject({}), // a rail may append what it likes to the address it was given
  handle: async ({ services, environment, params, headers, rawBody }) => {
    const name = params.rail ?? '';
    const rail = services.rails.named(environment, name);
    if (rail === null) throw new ApiError('ROUTE_NOT_FOUND', { resource: 'rail', id: name });
    try {
      const callback = rail.parseCallback(headers, rawBody);
      if (callback.kind === 'inbound_credit') {
        const { organisationId } = callback.credit;
        await receiveCredit(services, { organisationId, environment }, rail.name, callback.credit);
      } else {
        const { organisationId, reference } = callback;
        await receiveNews(services, { organisationId, environment }, reference);
      }
    } catch (error) {
      if (!(error instanceof RailCallbackInvalidError)) throw error;
      throw new ApiError('RAIL_CALLBACK_INVALID', {}, { cause: error });
    }
    return { status: 200, data: { received: true } };
  },
});

/** Stores a credit and wakes its flow, in one statement. The same session id again changes nothing. */
async function receiveCredit(
  services: ApiDependencies,
  book: Book,
  rail: string,
  report: InboundCreditReport,
): Promise<void> {
  const { organisationId: _contract, ...facts } = report;
  const owner = await findAccountByNumber(services.sql, book, rail, report.accountNumber);
  const credit: InboundCredit = {
    id: newUuid(),
    version: 1,
    rail,
    ownerKind: owner?.ownerKind ?? null,
    ownerId: owner?.ownerId ?? null,
    status: 'received',
    createdAt: new Date(),
    ...facts,
  };
  const flow = await flowOf(services, book, credit);
  const result = await services.journal.post({ book, rows: { inbound_credits: [credit] }, outbox: [flow] });
  if (result.outcome === 'conflict' && result.constraint !== 'inbound_credit_session_unique') {
    throw new Error(`an inbound credit could not be stored: ${result.constraint}`);
  }
}

/** The flow that a credit belongs to: its payment's, or one of its own. */
async function flowOf(services: ApiDependencies, book: Book, credit: InboundCredit): Promise<FlowOutboxMessage> {
  if (credit.ownerKind !== 'payment' || credit.ownerId === null) return startInboundCredit(book, credit, null);
  const payment = await findPayment(services.sql, book, credit.ownerId);
  if (payment === null) throw new Error('a virtual account belongs to a payment that is not there');
  return startInboundCredit(book, credit, payment);
}

/** Wakes the flow of a bank transfer. News of a reference that is not ours changes nothing. */
async function receiveNews(services: ApiDependencies, book: Book, reference: string): Promise<void> {
  const flow = await flowOfTransfer(services, book, reference);
  if (flow !== null) await services.journal.post({ book, outbox: [flow] });
}

/** The flow of the resource whose public id the rail knows a transfer by. */
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
    const sourced = await findPayoutItem(sql, book, itemId);
    return sourced && wakePayoutItem(book, sourced);
  }
  const caseId = caseOfReference(reference);
  if (caseId !== null) {
    const reviewed = await findReviewCase(sql, book, caseId);
    return reviewed && wakeReviewCase(book, reviewed);
  }
  return null;
}

export const railCallbackRoutes: Route[] = [receive];
