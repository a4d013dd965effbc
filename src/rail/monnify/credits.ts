// Credits: the look-up that confirms a callback, and the list from which lost callbacks are made up for.
import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import { mapAtMost } from '../../concurrency/mapAtMost.ts';
import type { Kobo } from '../../money.ts';
import { railUnknownAnswers } from '../../telemetry/metrics.ts';
import type { BankList } from '../bankList.ts';
import type { ProviderClient } from '../client.ts';
import { nullIfUnclear, type RailUnavailableError, unclear } from '../errors.ts';
import type { HttpRequest } from '../http.ts';
import type { BankRail, InboundCreditRecord, Period } from '../port.ts';
import { isWithin, ofPeriod } from '../rows.ts';
import { fullAccountNumber } from '../texts.ts';
import { paymentStatusOf } from './outcomes.ts';
import { type Cursor, cursorOf, cursorText, type Page, type RowsOf, readPage } from './pages.ts';
import { type TransactionRow, transactionBody, transactionRow } from './wire.ts';

const ROWS: RowsOf<TransactionRow> = {
  schema: transactionRow,
  names: { ids: ['transactionReference'], times: ['completedOn', 'createdOn'] },
};

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

/** A credit, and what Monnify keeps of it; null: it does not report. */
type Credit = InboundCreditRecord & { charge: Kobo | null };

const chargeOf = ({ amountPaid: paid, settlementAmount: settled }: z.infer<typeof transactionBody>): Kobo | null =>
  settled === null || settled > paid ? null : paid - settled;

const recordOf = ({ charge: _charge, ...record }: Credit): InboundCreditRecord => record;

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
    if (status === undefined) railUnknownAnswers.inc({ rail: 'monnify', kind: 'payment_status' });
    if (status === undefined || status === 'pending') return 'pending';
    if (status === 'failed') return status;
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
      senderSessionId: found.accountDetails?.sessionId ?? null,
      receivedAt: found.paidOn,
      recalledAt: status === 'recalled' ? found.paidOn : null,
    };
    remembered.set(sessionId, credit);
    return credit;
  }

  const unlike = (): RailUnavailableError =>
    unclear('monnify', 'the response is about another transaction, or incomplete', { ofOneAccount: true });

  /** A page of the transactions of the period, whatever was paid with, and whatever became of them. */
  async function readRows(period: Period, at: Cursor, signal?: AbortSignal): Promise<Page<TransactionRow>> {
    const request: HttpRequest = {
      method: 'GET',
      route: '/api/v1/transactions/search',
      query: {
        page: String(at.page),
        size: String(PAGE_SIZE),
        from: String(period.from.getTime() - CREATED_BEFORE_MS),
        to: String(period.to.getTime()),
      },
    };
    const { rows, next } = await readPage(client, request, ROWS, at, PAGE_SIZE, signal);
    return { rows: ofPeriod(rows, ({ completedOn }) => completedOn, period, CREATED_BEFORE_MS), next };
  }

  /**
   * The credit of a row that says that money came, as the look-up has it. `unread`: that is about another one,
   * incomplete, or does not say so. Null: it is not in the period.
   */
  async function creditOf(
    row: TransactionRow,
    period: Period,
    signal?: AbortSignal,
  ): Promise<Credit | 'unread' | null> {
    const { transactionReference, paymentStatus } = row;
    const known = remembered.get(transactionReference);
    const isAsKnown =
      known !== undefined && (known.recalledAt !== null) === (paymentStatusOf(paymentStatus) === 'recalled');
    const found = isAsKnown ? known : await nullIfUnclear(lookUp(transactionReference, signal));
    if (found === null || typeof found === 'string') return 'unread';
    return isWithin(found.receivedAt, period) ? found : null;
  }

  const calls: Pick<BankRail, 'findInboundCredit' | 'listInboundCredits'> = {
    async findInboundCredit({ sessionId }, signal) {
      const found = await lookUp(sessionId, signal);
      return found !== null && typeof found === 'object' ? recordOf(found) : found;
    },

    /** Rows that cannot be read are set aside by the statement. */
    async listInboundCredits({ cursor, ...period }, signal) {
      const { rows, next } = await readRows(period, cursorOf(cursor, 'credits'), signal);
      const came = rows.flatMap(({ row }) => (row !== null && isTransfer(row) && isMoney(row) ? [row] : []));
      const found = await mapAtMost(LOOK_UPS_AT_ONCE, came, (row) => creditOf(row, period, signal));
      const credits = found.filter((credit) => credit !== null && credit !== 'unread');
      credits.sort((one, other) => one.receivedAt.getTime() - other.receivedAt.getTime());
      return { credits: credits.map(recordOf), nextCursor: next && cursorText(next) };
    },
  };
  return { calls, readRows, creditOf };
}

/** Whether it was paid by a bank transfer, and so into an account number. */
export const isTransfer = ({ paymentMethod }: TransactionRow): boolean =>
  paymentMethod === null || paymentMethod === 'ACCOUNT_TRANSFER';

/** Whether its status says that money came, also if it left again. */
export const isMoney = ({ paymentStatus }: TransactionRow): boolean =>
  ['received', 'recalled'].includes(paymentStatusOf(paymentStatus) ?? '');
