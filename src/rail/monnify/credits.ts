// Credits: the look-up that confirms a callback, and the list from which lost callbacks are made up for.

import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import { mapAtMost } from '../../concurrency/mapAtMost.ts';
import type { Kobo } from '../../money.ts';
import { railUnknownAnswers } from '../../telemetry/metrics.ts';
import type { BankList } from '../bankList.ts';
import type { ProviderClient } from '../client.ts';
import { type RailUnavailableError, unclear } from '../errors.ts';
import type { HttpRequest } from '../http.ts';
import type { BankRail, InboundCreditReport, Period } from '../port.ts';
import { fullAccountNumber } from '../texts.ts';
import { PAYMENT_STATUSES, paymentStatusOf } from './outcomes.ts';
import { type Cursor, cursorOf, cursorText, type Page, readPage } from './pages.ts';
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

export const isWithin = (time: Date, { from, to }: Period): boolean => time >= from && time < to;

/** A credit, and what Monnify keeps of it; null: it does not report. */
type Credit = InboundCreditReport & { charge: Kobo | null };

const chargeOf = ({ amountPaid: paid, settlementAmount: settled }: z.infer<typeof transactionBody>): Kobo | null =>
  settled === null || settled > paid ? null : paid - settled;

const reported = ({ charge: _charge, ...report }: Credit): InboundCreditReport => report;

export function createCredits(client: ProviderClient, banks: BankList) {
  const remembered = new LRUCache<string, Credit>({ max: REMEMBERED_MAX });

  async function lookUp(sessionId: string, signal?: AbortSignal): Promise<Credit | 'pending' | 'failed' | null> {
    const request: HttpRequest = {
      method: 'GET',
      route: '/api/v2/transactions/{reference}',
      params: { reference: sessionId },
    };
    const found = await client.find(request, transactionBody, signal);
    if (found === null) return null;
    if (found.transactionReference !== sessionId || found.currency !== 'NGN') throw unlike();
    const status = paymentStatusOf(found.paymentStatus);
    if (!Object.hasOwn(PAYMENT_STATUSES, found.paymentStatus)) {
      railUnknownAnswers.inc({ rail: 'monnify', kind: 'payment_status' });
    }
    if (status !== 'received') return status;
    if (found.paidOn === null || found.product === null || found.amountPaid <= 0) throw unlike();
    await banks.load().catch(() => {}); // only for the code of the payer's bank
    const credit: Credit = {
      sessionId,
      accountReference: found.product.reference,
      accountNumber: null,
      amount: found.amountPaid,
      charge: chargeOf(found),
      senderName: found.accountDetails?.accountName ?? null,
      senderAccountNumber: fullAccountNumber(found.accountDetails?.accountNumber),
      senderBankCode: banks.codeOf(found.accountDetails?.bankCode ?? null),
      receivedAt: found.paidOn,
    };
    remembered.set(sessionId, credit);
    return credit;
  }

  const unlike = (): RailUnavailableError =>
    unclear('monnify', 'the response is about another transaction, or incomplete', { ofOneAccount: true });

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
    const nameOf = ({ transactionReference }: TransactionRow): string => transactionReference;
    const { rows, next } = await readPage(client, request, transactionsPage, at, nameOf, signal);
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

  const calls: Pick<BankRail, 'findInboundCredit' | 'listInboundCredits'> = {
    async findInboundCredit({ sessionId }, signal) {
      const found = await lookUp(sessionId, signal);
      return found !== null && typeof found === 'object' ? { ...reported(found), recalledAt: null } : found;
    },

    async listInboundCredits({ cursor, ...period }, signal) {
      const { rows, next } = await readRows(period, cursorOf(cursor, 'credits'), signal);
      const credits = await reportsOf(rows.filter(isTransfer), period, signal);
      credits.sort((one, other) => one.receivedAt.getTime() - other.receivedAt.getTime());
      return { credits: credits.map(reported), nextCursor: next && cursorText(next) };
    },
  };
  return { calls, readRows, reportsOf };
}

/** Whether it was paid by a bank transfer, and so into an account number. */
export const isTransfer = ({ paymentMethod }: TransactionRow): boolean =>
  paymentMethod === null || paymentMethod === 'ACCOUNT_TRANSFER';
