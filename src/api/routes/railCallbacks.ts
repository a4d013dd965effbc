// Callbacks from rails. A callback is authenticated over its raw bytes and wakes its flow through the outbox; a credit
// is stored under the rail's session id, so repeats have no effect. The flow queries the rail before any money moves.
import { z } from 'zod';
import { readDatabaseTime } from '../../database/pool.ts';
import { parseId, type Uuid } from '../../ids.ts';
import type { Book, Environment } from '../../money.ts';
import { RailCallbackInvalidError } from '../../rail/errors.ts';
import type { BankRail, CallbackRequest, CreditSender, RailCallback, RailNotice } from '../../rail/port.ts';
import { wakeTransfer } from '../../resources/bankTransfers/wake.ts';
import { wakeTransfers } from '../../resources/flows.ts';
import { receiveCredit, receiveRecallOf } from '../../resources/inboundCredits/receive.ts';
import { enqueue } from '../../resources/outbox.ts';
import { saveProviderMessage } from '../../resources/rails/providerMessages.ts';
import { openReversalCase } from '../../resources/recalls/movements.ts';
import { railNotices } from '../../telemetry/metrics.ts';
import { receipt } from '../contract/answers.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiError } from '../errors.ts';
import { route } from '../route.ts';

/** A provider lists every transaction of a settlement in one body. */
const BODY_BYTES_MAX = 1024 * 1024;

const NO_SENDER: CreditSender = { senderName: null, senderAccountNumber: null, senderBankCode: null };

/** The notices that say that the balance of a contract has changed. */
const OF_BALANCE: readonly RailNotice[] = ['settled', 'low_balance'];

export const receiveRailCallback = route({
  operationId: 'receiveRailCallback',
  success: { status: 200, data: receipt },
  errors: ['ROUTE_NOT_FOUND', 'RAIL_CALLBACK_INVALID'],
  endpoint: 'POST /rails/:rail/callbacks/:contract',
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
      if (callback.sessionId !== null && (await receiveRecallOf(dependencies, book, rail, callback.sessionId))) return;
      // Money that the rail took back, but no credit of ours.
      if (callback.unmatched !== undefined)
        await dependencies.journal.post(openReversalCase(book, rail, callback.unmatched));
      break;
    case 'transfer_update':
      await wakeTransfer(dependencies.sql, book, callback.reference);
      break;
    case 'notice': {
      const { notice, reference, providerMessage } = callback;
      railNotices.inc({ rail, notice });
      // For operators, whom customers ask for their payment.
      if (reference !== null && parseId('payment', reference) !== null) {
        const message = providerMessage ? `${notice}: ${providerMessage}` : notice;
        await saveProviderMessage(dependencies.sql, book, reference, message);
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
