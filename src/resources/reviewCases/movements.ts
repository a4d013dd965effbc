// How a review case stands in the books: opened with the suspense posting, then credited, kept, or sent back by way of
// transit. The case of a reconciliation break stands for no money and is settled without a posting.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import { type AccountCode, clearingAccount, IN_TRANSIT_RETURNS, UNCLAIMED, walletAccount } from '../../ledger/chart.ts';
import type { EventRow, Movement, Transaction } from '../../ledger/movement.ts';
import { type Book, CURRENCY } from '../../money.ts';
import type { TransferReport } from '../../rail/port.ts';
import { type FlowOutboxMessage, restarted } from '../../workflows/flows.ts';
import type { InboundCredit } from '../inboundCredits/queries.ts';
import { startReviewCase } from './flow.ts';
import { type ReturnFailure, type ReviewCase, returnReference } from './queries.ts';

export function openReviewCase(
  about: Pick<ReviewCase, 'reason' | 'amount' | 'accountCode' | 'inboundCreditId' | 'paymentId' | 'walletId'>,
): ReviewCase {
  return {
    id: newUuid(),
    version: 1,
    status: 'open',
    rail: null,
    attempts: 0,
    failure: null,
    failureReason: null,
    createdAt: new Date(),
    resolvedAt: null,
    ...about,
  };
}

/** Adds to a movement that opens cases the start of their flows and the events that tell of them. */
export function withCaseFlows(movement: Movement): Movement {
  const cases = (movement.rows?.review_cases ?? []) as readonly ReviewCase[];
  if (cases.length === 0) return movement;
  return {
    ...movement,
    events: [...(movement.events ?? []), ...cases.map((opened) => caseEvent('review_case.opened', opened))],
    outbox: [...(movement.outbox ?? []), ...cases.map((opened) => startReviewCase(movement.book, opened))],
  };
}

/** The money goes into a wallet. The wallet's own rules may refuse it. */
export function creditCase(book: Book, open: ReviewCase, walletId: Uuid): Movement {
  const next: ReviewCase = { ...resolved(open, 'credited'), walletId };
  return {
    book,
    transaction: move(open, `${caseId(open)}/credit`, suspenseOf(open), walletAccount(walletId)),
    rows: { review_cases: [next] },
    events: [caseEvent('review_case.resolved', next)],
  };
}

/** Nobody can say whose it is: it is kept as unclaimed money. */
export function moveCaseToUnclaimed(book: Book, open: ReviewCase): Movement {
  const next = resolved(open, 'unclaimed');
  return {
    book,
    transaction: move(open, `${caseId(open)}/unclaimed`, suspenseOf(open), UNCLAIMED),
    rows: { review_cases: [next] },
    events: [caseEvent('review_case.resolved', next)],
  };
}

/**
 * The money is taken out of suspense, to be sent back by the last reference, or by a fresh one (`attempts` one more). The
 * caller has made sure that the rail is done with the last before it takes a fresh one.
 */
export function holdReturn(book: Book, open: ReviewCase, rail: string, attempts: number): Movement {
  const next: ReviewCase = { ...open, version: open.version + 1, status: 'returning', rail, attempts };
  return {
    book,
    transaction: move(open, `${caseId(open)}/hold/${open.version}`, suspenseOf(open), IN_TRANSIT_RETURNS),
    rows: { review_cases: [next] },
  };
}

/** The rail paid it out to where it came from. */
export function completeReturn(book: Book, sending: ReviewCase): Movement {
  const next: ReviewCase = { ...resolved(sending, 'returned_to_sender'), failure: null, failureReason: null };
  const key = `${returnReference(sending)}/completion`;
  return {
    book,
    transaction: move(sending, key, IN_TRANSIT_RETURNS, clearingAccount(railOf(sending))),
    rows: { review_cases: [next] },
    events: [caseEvent('review_case.resolved', next)],
  };
}

/** It could not be sent, or came back: it is in suspense again, and the case is open and says why. */
export function returnToSuspense(
  book: Book,
  row: ReviewCase,
  failure: ReturnFailure,
  report: TransferReport,
): Movement {
  const from = row.status === 'returned_to_sender' ? clearingAccount(railOf(row)) : IN_TRANSIT_RETURNS;
  const next: ReviewCase = {
    ...row,
    version: row.version + 1,
    status: 'open',
    failure,
    failureReason: report.reason,
    resolvedAt: null,
  };
  return {
    book,
    transaction: move(row, `${returnReference(row)}/return/${row.version}`, from, suspenseOf(row)),
    rows: { review_cases: [next] },
    events: [caseEvent('review_case.opened', next)],
  };
}

/**
 * Nothing is open any more about a case that holds no money. Of a break no integrator is told, because it was never about theirs;
 * of a credit that was not confirmed they were told.
 */
export function closeCase(book: Book, open: ReviewCase): Movement {
  const next = resolved(open, 'closed');
  const events = open.reason === 'reconciliation_break' ? [] : [caseEvent('review_case.resolved', next)];
  return { book, rows: { review_cases: [next] }, events };
}

/** The rail confirms a credit that was set aside: it is received again, told to its flow, and its case is settled. */
export function receiveAfterAll(
  book: Book,
  open: ReviewCase,
  credit: InboundCredit,
  flow: FlowOutboxMessage,
): Movement {
  const settled = closeCase(book, open);
  return {
    ...settled,
    rows: { ...settled.rows, inbound_credits: [{ ...credit, version: credit.version + 1, status: 'received' }] },
    outbox: [restarted(flow)],
  };
}

const caseId = ({ id }: ReviewCase): string => publicId('reviewCase', id);

function suspenseOf(row: ReviewCase): AccountCode {
  if (row.accountCode === null) throw new Error(`review case ${row.id} holds no money`);
  return row.accountCode;
}

function railOf(row: ReviewCase): string {
  if (row.rail === null) throw new Error(`review case ${row.id} was not given to a rail`);
  return row.rail;
}

function resolved(row: ReviewCase, status: 'credited' | 'unclaimed' | 'returned_to_sender' | 'closed'): ReviewCase {
  return { ...row, version: row.version + 1, status, resolvedAt: new Date() };
}

/** `key`: whose step it is, the case’s or a transfer’s, and which. */
function move(row: ReviewCase, key: string, debit: AccountCode, credit: AccountCode): Transaction {
  return {
    id: newUuid(),
    key,
    kind: `review_${key.split('/')[1]}`,
    resource: caseId(row),
    effectiveAt: new Date(),
    rules: 'enforced',
    postings: [{ debit, credit, amount: row.amount }],
  };
}

function caseEvent(type: 'review_case.opened' | 'review_case.resolved', row: ReviewCase): EventRow {
  return {
    id: newUuid(),
    type,
    resource: publicId('reviewCase', row.id),
    data: {
      id: publicId('reviewCase', row.id),
      reason: row.reason,
      status: row.status,
      amount: row.amount,
      currency: CURRENCY,
      paymentId: row.paymentId === null ? null : publicId('payment', row.paymentId),
      walletId: row.walletId === null ? null : publicId('wallet', row.walletId),
    },
    createdAt: new Date(),
  };
}
