// Callbacks from rails. A callback is authenticated over its raw bytes and wakes its flow through the outbox; a credit
// is stored under the rail's session id, so repeats have no effect. The flow queries the rail before any money moves.
import { z } from 'zod';
import { readDatabaseTime } from '../../database/clock.ts';
import type { Sql } from '../../database/pool.ts';
import { parseId, type Uuid } from '../../ids.ts';
import type { Book, Environment } from '../../money.ts';
import { RailCallbackInvalidError } from '../../rail/errors.ts';
import type { BankRail, CallbackRequest, CreditSender, RailCallback, RailNotice } from '../../rail/port.ts';
import { wakePayoutItem, wakeRefund, wakeReviewCase, wakeTransfers, wakeWithdrawal } from '../../resources/flows.ts';
import { findCreditOfSession } from '../../resources/inboundCredits/queries.ts';
import { receiveCredit } from '../../resources/inboundCredits/receive.ts';
import { enqueue, isUpdateWaiting } from '../../resources/outbox.ts';
import { findPayoutItem } from '../../resources/payouts/queries.ts';
import { saveProviderMessage } from '../../resources/rails/providerMessages.ts';
import { receiveRecall } from '../../resources/recalls/movements.ts';
import { findRefund } from '../../resources/refunds/queries.ts';
import { caseOfReference, findReviewCase } from '../../resources/reviewCases/queries.ts';
import { findWithdrawal } from '../../resources/withdrawals/queries.ts';
import { railNotices } from '../../telemetry/metrics.ts';
import type { FlowOutboxMessage } from '../../workflows/flows.ts';
import { receipt } from '../contract/answers.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiError } from '../errors.ts';
import { type Route, route } from '../route.ts';

/** A provider lists every transaction of a settlement in one body. */
const BODY_BYTES_MAX = 1024 * 1024;

const NO_SENDER: CreditSender = { senderName: null, senderAccountNumber: null, senderBankCode: null };

/** The notices that say that the balance of a contract has changed. */
const OF_BALANCE: readonly RailNotice[] = ['settled', 'low_balance'];

const receive = route({
  operationId: 'receiveRailCallback',
  summary: 'Receive a callback of a bank rail',
  success: { status: 200, data: receipt },
  errors: ['ROUTE_NOT_FOUND', 'RAIL_CALLBACK_INVALID'],
  method: 'post',
  path: '/rails/:rail/callbacks/:contract',
  access: 'none',
  query: z.looseObject({}), // a rail may append parameters of its own to the callback URL
  bodyBytesMax: BODY_BYTES_MAX,
  organisationOf: async (dependencies, environment, params) =>
    (await contractOf(dependencies, environment, params)).organisationId,
  handle: async ({ dependencies, book, environment, params, headers, rawBody }) => {
    const { rail, organisationId } = await contractOf(dependencies, environment, params);
    const callbacks = parseCallback(rail, { organisationId, headers, body: rawBody });
    for (const callback of callbacks) await receiveCallback(dependencies, book, rail.name, callback);
    if (callbacks.some((callback) => callback.kind === 'notice' && OF_BALANCE.includes(callback.notice))) {
      await enqueue(dependencies.sql, book, wakeTransfers(book, await readDatabaseTime(dependencies.sql)));
    }
    return { received: true as const };
  },
});

/** The rail and the organisation of the address of a callback. Throws ROUTE_NOT_FOUND. */
async function contractOf(
  { rails }: ApiDependencies,
  environment: Environment,
  { rail: name = '', contract = '' }: Readonly<Record<string, string>>,
): Promise<{ rail: BankRail; organisationId: Uuid }> {
  const found = await rails.ofCallback(environment, name, contract);
  if (found === null) throw new ApiError('ROUTE_NOT_FOUND', { resource: 'rail', id: name });
  return found;
}

/** Throws RAIL_CALLBACK_INVALID. */
function parseCallback(rail: BankRail, request: CallbackRequest): RailCallback[] {
  try {
    return rail.parseCallback(request);
  } catch (error) {
    if (!(error instanceof RailCallbackInvalidError)) throw error;
    throw new ApiError('RAIL_CALLBACK_INVALID', {}, { cause: error });
  }
}

async function receiveCallback(
  dependencies: ApiDependencies,
  book: Book,
  rail: string,
  callback: RailCallback,
): Promise<void> {
  switch (callback.kind) {
    case 'inbound_credit':
      await receiveCredit(dependencies, book, rail, {
        ...callback.hint,
        ...(callback.sender ?? NO_SENDER),
        sessionId: callback.sessionId,
      });
      break;
    case 'recall':
      await receiveRecallOf(dependencies, book, rail, callback.sessionId);
      break;
    case 'transfer_update':
      await receiveTransferUpdate(dependencies, book, callback.reference);
      break;
    case 'notice': {
      const { notice, reference, providerMessage } = callback;
      railNotices.inc({ rail, notice });
      // For operators, whom customers ask for their payment.
      if (reference !== null && parseId('payment', reference) !== null) {
        await saveProviderMessage(
          dependencies.sql,
          book,
          reference,
          providerMessage ? `${notice}: ${providerMessage}` : notice,
        );
      }
      dependencies.log.info({ ...book, railName: rail, notice, reference }, 'notice from a rail');
      break;
    }
    case 'ignored':
      railNotices.inc({ rail, notice: 'ignored' });
      dependencies.log.info({ ...book, railName: rail, event: callback.event }, 'event from a rail that is not for us');
      break;
  }
}

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
    // A conflict: the credit is being applied at this moment. Read it again.
    if ((await journal.post(receiveRecall(book, credit))).outcome === 'posted') return;
  }
}

/**
 * Wakes the flow of a bank transfer, unless it is about to be woken. An update with an unknown reference is ignored.
 */
async function receiveTransferUpdate(dependencies: ApiDependencies, book: Book, reference: string): Promise<void> {
  const flow = await flowOfTransfer(dependencies, book, reference);
  if (flow === null || (await isUpdateWaiting(dependencies.sql, book, flow))) return;
  await enqueue(dependencies.sql, book, flow);
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
  const wake = async <Row>(
    id: Uuid | null,
    find: (sql: Sql, book: Book, id: Uuid) => Promise<Row | null>,
    message: (book: Book, row: Row) => FlowOutboxMessage,
  ): Promise<FlowOutboxMessage | null> => {
    const row = id === null ? null : await find(sql, book, id);
    return row && message(book, row);
  };
  return (
    (await wake(parseId('withdrawal', reference), findWithdrawal, wakeWithdrawal)) ??
    (await wake(parseId('refund', reference), findRefund, wakeRefund)) ??
    (await wake(parseId('payoutItem', reference), findPayoutItem, wakePayoutItem)) ??
    (await wake(caseOfReference(reference), findReviewCase, wakeReviewCase))
  );
}

export const railCallbackRoutes: Route[] = [receive];
