// Stores a credit that a rail reports: by a callback, in its list of credits or on its statement. It is stored under
// the rail's session id, so repeats have no effect; its flow reads the rail's record before any money moves.
import type { Sql } from '../../database/pool.ts';
import { newUuid } from '../../ids.ts';
import type { Journal } from '../../ledger/journal.ts';
import type { Book } from '../../money.ts';
import type { InboundCreditRecord, InboundCreditReport } from '../../rail/port.ts';
import type { FlowOutboxMessage } from '../../workflows/flows.ts';
import { SIGNALLED_MAX } from '../../workflows/payment/decide.ts';
import { nextVersion } from '../bookTable.ts';
import { startInboundCredit } from '../flows.ts';
import { findPayment } from '../payments/queries.ts';
import { receiveRecall } from '../recalls/movements.ts';
import { receiveAfterAll } from '../reviewCases/movements.ts';
import { findUnconfirmedCase } from '../reviewCases/queries.ts';
import { findAccountOfCredit } from '../wallets/virtualAccounts.ts';
import { confirmedBy } from './confirm.ts';
import { findCreditOfSession, type InboundCredit, listReceivedCredits } from './queries.ts';

interface Dependencies {
  sql: Sql;
  journal: Journal;
}

/**
 * Stores a credit and starts or wakes its flow, in one statement. If the payment's flow is busy with many credits, it
 * reads this one by itself. False: it was stored before, and nothing changes. `report`: what a callback said, or what
 * the rail's books say.
 */
export async function receiveCredit(
  { sql, journal }: Dependencies,
  book: Book,
  rail: string,
  report: InboundCreditReport,
): Promise<boolean> {
  const owner = await findAccountOfCredit(sql, book, rail, report);
  const credit: InboundCredit = {
    id: newUuid(),
    version: 1,
    rail,
    ownerKind: owner?.ownerKind ?? null,
    ownerId: owner?.ownerId ?? null,
    status: 'received',
    createdAt: new Date(),
    recall: null,
    recalledFrom: null,
    recalledTaken: null,
    recalledHeld: 0,
    senderSessionId: null,
    ...report,
  };
  const flow = await flowOf(sql, book, credit);
  const outbox = flow === null ? [] : [flow];
  const result = await journal.post({ book, rows: { inbound_credits: [credit] }, outbox });
  if (result.outcome === 'conflict' && result.constraint !== 'inbound_credit_session_unique') {
    throw new Error(`an inbound credit could not be stored: ${result.constraint}`);
  }
  if (result.outcome !== 'posted') await keepSender({ sql, journal }, book, rail, report);
  return result.outcome === 'posted';
}

/** What is reported of the sender is kept, whichever report has it, also if the credit is posted by then. */
async function keepSender(
  { sql, journal }: Dependencies,
  book: Book,
  rail: string,
  { sessionId, senderSessionId, senderName, senderAccountNumber, senderBankCode }: InboundCreditReport,
): Promise<void> {
  for (;;) {
    const isNamed = senderSessionId || senderAccountNumber;
    const stored = isNamed ? await findCreditOfSession(sql, book, rail, sessionId) : null;
    if (stored === null) return;
    const hasSession = !senderSessionId || stored.senderSessionId !== null;
    const hasSender = senderAccountNumber === null || stored.senderAccountNumber !== null;
    if (hasSession && hasSender) return;
    const next = nextVersion(stored, {
      ...(!hasSession && { senderSessionId }),
      ...(!hasSender && { senderName, senderAccountNumber, senderBankCode }), // together: they are of one report
    });
    // A conflict: the credit is being applied at this moment. Read it again.
    if ((await journal.post({ book, rows: { inbound_credits: [next] } })).outcome === 'posted') return;
  }
}

/**
 * Stores a credit of the rail's own books. One that was set aside, because the rail had not confirmed it, is received
 * after all, unless its case was closed; one that the rail took back is recalled, also if it was not known before.
 * False: all that is known already.
 */
export async function importCredit(
  dependencies: Dependencies,
  book: Book,
  rail: string,
  { recalledAt, ...record }: InboundCreditRecord,
): Promise<boolean> {
  if (recalledAt !== null) {
    if (await receiveRecallOf(dependencies, book, rail, record.sessionId)) return false;
    const isNew = await receiveCredit(dependencies, book, rail, record);
    await receiveRecallOf(dependencies, book, rail, record.sessionId);
    return isNew;
  }
  if (await receiveCredit(dependencies, book, rail, record)) return true;
  const { sql, journal } = dependencies;
  const stored = await findCreditOfSession(sql, book, rail, record.sessionId);
  const open = stored?.status === 'set_aside' ? await findUnconfirmedCase(sql, book, stored.id) : null;
  if (stored === null || open === null) return false;
  const credit = await confirmedBy(sql, book, stored, record);
  // A conflict: an operator is deciding about it at this moment.
  const movement = receiveAfterAll(book, open, credit, await flowOf(sql, book, credit));
  return (await journal.post(movement)).outcome === 'posted';
}

/** Stores a recall and starts its flow. A repeat changes nothing. False: there is no such credit. */
export async function receiveRecallOf(
  { sql, journal }: Dependencies,
  book: Book,
  rail: string,
  sessionId: string,
): Promise<boolean> {
  for (;;) {
    const credit = await findCreditOfSession(sql, book, rail, sessionId);
    if (credit === null || credit.recall !== null) return credit !== null;
    // A conflict: the credit is being applied at this moment. Read it again.
    if ((await journal.post(receiveRecall(book, credit))).outcome === 'posted') return true;
  }
}

/** The message that starts or wakes the flow of a credit: its payment's flow, or a flow of its own. Null: none. */
export async function flowOf(sql: Sql, book: Book, credit: InboundCredit): Promise<FlowOutboxMessage | null> {
  if (credit.ownerKind !== 'payment' || credit.ownerId === null) return startInboundCredit(book, credit, null);
  const [payment, received] = await Promise.all([
    findPayment(sql, book, credit.ownerId),
    listReceivedCredits(sql, book, credit.ownerId, { after: null, limit: SIGNALLED_MAX }),
  ]);
  if (payment === null) throw new Error('a virtual account belongs to a payment that does not exist');
  if (received.length === SIGNALLED_MAX) return null;
  return startInboundCredit(book, credit, payment);
}
