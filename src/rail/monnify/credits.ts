// Credits: the look-up that confirms a callback, and the list from which lost callbacks are made up for.

import { LRUCache } from 'lru-cache';
import { railUnknownAnswers } from '../../telemetry/metrics.ts';
import type { BankList } from '../bankList.ts';
import type { ProviderClient } from '../client.ts';
import { RailUnavailableError } from '../errors.ts';
import type { HttpRequest } from '../http.ts';
import type { CreditPage, InboundCreditRecord, InboundCreditReport } from '../port.ts';
import { fullAccountNumber } from '../texts.ts';
import { callOutcome, PAYMENT_STATUSES, paymentStatusOf } from './outcomes.ts';
import { type Cursor, cursorOf, cursorText, mapAtMost, type Page, readPage } from './pages.ts';
import { type TransactionRow, transactionBody, transactionsPage } from './wire.ts';

/** The longest life of an account number for one payment. */
export const ONE_OFF_MAX_SECONDS = 24 * 3_600;
/**
 * Monnify does not say whether its list is bounded by when a transaction was created, which for an invoice is when that
 * was created, or by when it was paid. So the list is read from that much earlier, and sorted out by when it was paid.
 */
const CREATED_BEFORE_MS = ONE_OFF_MAX_SECONDS * 1_000 + 2 * 3_600_000;
const PAGE_SIZE = 100;
const LOOK_UPS_AT_ONCE = 10;
/** Credits that were looked up: a poll lists those of the last hour again. */
const REMEMBERED_MAX = 5_000;

export interface Period {
  from: Date;
  to: Date;
}

export const isWithin = (time: Date, { from, to }: Period): boolean => time >= from && time < to;

/** What Monnify keeps of a credit; null: it does not report. */
export const chargeOf = (paid: number, settled: number | null): number | null =>
  settled === null || settled > paid ? null : paid - settled;

export function createCredits(client: ProviderClient, banks: BankList) {
  const remembered = new LRUCache<string, InboundCreditReport>({ max: REMEMBERED_MAX });

  async function lookUp(
    sessionId: string,
    signal?: AbortSignal,
  ): Promise<InboundCreditReport | 'pending' | 'failed' | null> {
    const request: HttpRequest = {
      method: 'GET',
      route: '/api/v2/transactions/{reference}',
      params: { reference: sessionId },
    };
    const response = await client.call(request, signal);
    const outcome = callOutcome(response);
    if (outcome.kind === 'absent') return null;
    if (outcome.kind !== 'ok') throw client.failure(request, response, outcome);
    const found = client.parse(request, response, transactionBody);
    if (found.transactionReference !== sessionId || found.currency !== 'NGN') throw unlike(request);
    const status = paymentStatusOf(found.paymentStatus);
    if (!Object.hasOwn(PAYMENT_STATUSES, found.paymentStatus)) {
      railUnknownAnswers.inc({ rail: 'monnify', kind: 'payment_status' });
    }
    if (status !== 'received') return status;
    if (found.paidOn === null || found.product === null || found.amountPaid <= 0) throw unlike(request);
    await banks.load().catch(() => {}); // only for the code of the payer's bank
    const report: InboundCreditReport = {
      sessionId,
      accountReference: found.product.reference,
      accountNumber: null,
      amount: found.amountPaid,
      charge: chargeOf(found.amountPaid, found.settlementAmount),
      senderName: found.accountDetails?.accountName ?? null,
      senderAccountNumber: fullAccountNumber(found.accountDetails?.accountNumber),
      senderBankCode: banks.codeOf(found.accountDetails?.bankCode ?? null),
      receivedAt: found.paidOn,
    };
    remembered.set(sessionId, report);
    return report;
  }

  const unlike = ({ method, route }: HttpRequest): RailUnavailableError =>
    new RailUnavailableError(`monnify: ${method} ${route}: the response is about another transaction, or incomplete`, {
      ofOneAccount: true,
    });

  /** A page of the transactions paid in the period, whatever was paid with. */
  async function readRows(period: Period, at: Cursor, signal?: AbortSignal): Promise<Page<TransactionRow>> {
    const request: HttpRequest = {
      method: 'GET',
      route: '/api/v1/transactions/search',
      query: {
        page: String(at.page),
        size: String(PAGE_SIZE),
        from: String(period.from.getTime() - CREATED_BEFORE_MS),
        to: String(period.to.getTime()),
        paymentStatus: 'PAID',
      },
    };
    const { rows, next } = await readPage(
      client,
      request,
      transactionsPage,
      at,
      ({ transactionReference }) => transactionReference,
      signal,
    );
    const paid = rows.filter(
      ({ paymentStatus, completedOn }) =>
        paymentStatusOf(paymentStatus) === 'received' && (completedOn === null || isWithin(completedOn, period)),
    );
    return { rows: paid, next };
  }

  /** The credits of these rows, as the look-up has them. */
  const reportsOf = async (rows: readonly TransactionRow[], period: Period, signal?: AbortSignal) => {
    const reports = await mapAtMost(LOOK_UPS_AT_ONCE, rows, async ({ transactionReference }) => {
      return remembered.get(transactionReference) ?? (await lookUp(transactionReference, signal));
    });
    return reports
      .filter((report) => report !== null && typeof report === 'object')
      .filter(({ receivedAt }) => isWithin(receivedAt, period));
  };

  return {
    readRows,
    reportsOf,

    async find(sessionId: string, signal?: AbortSignal): Promise<InboundCreditRecord | 'pending' | 'failed' | null> {
      const found = await lookUp(sessionId, signal);
      return found !== null && typeof found === 'object' ? { ...found, recalledAt: null } : found;
    },

    async list(period: Period, cursor: string | null, signal?: AbortSignal): Promise<CreditPage> {
      const { rows, next } = await readRows(period, cursorOf(cursor, 'credits'), signal);
      const credits = await reportsOf(rows.filter(isTransfer), period, signal);
      credits.sort((one, other) => one.receivedAt.getTime() - other.receivedAt.getTime());
      return { credits, nextCursor: next && cursorText(next) };
    },
  };
}

/** Whether it was paid by a bank transfer, and so into an account number. */
export const isTransfer = ({ paymentMethod }: TransactionRow): boolean =>
  paymentMethod === null || paymentMethod === 'ACCOUNT_TRANSFER';
