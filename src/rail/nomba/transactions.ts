// Nomba's one list of transactions: the credits, the transfers and the statement are read from it.
import type { BankList } from '../bankList.ts';
import type { ProviderClient } from '../client.ts';
import { unclear } from '../errors.ts';
import type { HttpRequest } from '../http.ts';
import type { BankRail, InboundCreditReport, PageRequest, StatementLine } from '../port.ts';
import { fullAccountNumber } from '../texts.ts';
import { paymentStatusOf, transferStatusOf } from './outcomes.ts';
import { type Transaction, transaction, transactionsData } from './wire.ts';

const PAGE_SIZE = '100';

/** A transfer of an account number, in either direction. */
const isOfAccount = ({ type }: Transaction): boolean => type === 'vact_transfer';

/**
 * Whether the money of an account number came in. The documented requery has no direction, the list has one; a word
 * that is not documented may mean either.
 */
function isIncoming({ entryType }: Transaction): boolean {
  if (entryType === undefined || entryType === 'CREDIT') return true;
  if (entryType === 'DEBIT') return false;
  throw unclear('nomba', 'a transaction has no known direction', { ofOneAccount: true });
}

const isCollection = (row: Transaction): boolean => isOfAccount(row) && isIncoming(row);

/** The interbank session id identifies a credit, in callbacks too. */
const sessionOf = ({ sessionId, paymentVendorReference }: Transaction): string | null =>
  sessionId ?? paymentVendorReference;

/** `yyyy-MM-ddTHH:mm:ss` in UTC. */
const boundOf = (time: Date): string => time.toISOString().slice(0, 19);

export function createTransactions(client: ProviderClient, banks: BankList) {
  async function page({ from, to, cursor }: PageRequest, signal?: AbortSignal) {
    const request: HttpRequest = {
      method: 'POST',
      route: '/v1/transactions/accounts',
      query: {
        limit: PAGE_SIZE,
        dateFrom: boundOf(from),
        // Whole seconds, and perhaps inclusive: rows are sorted out by their time.
        dateTo: boundOf(new Date(to.getTime() + 999)),
        ...(cursor === null ? {} : { cursor }),
      },
      body: '{}',
    };
    const { results, cursor: next } = await client.read(request, transactionsData, signal);
    const rows = results.filter(({ timeCreated }) => timeCreated >= from && timeCreated < to);
    rows.sort((one, other) => one.timeCreated.getTime() - other.timeCreated.getTime());
    return { rows, nextCursor: next === null || next === '' || results.length === 0 ? null : next };
  }

  async function reportOf(row: Transaction): Promise<InboundCreditReport> {
    const sessionId = sessionOf(row);
    if (sessionId === null || row.amount <= 0) throw unclear('nomba', 'a credit lacks its session or its amount');
    await banks.load().catch(() => {}); // only for the code of the payer's bank
    return {
      sessionId,
      accountReference: null,
      accountNumber: fullAccountNumber(row.recipientAccountNumber),
      amount: row.amount,
      senderName: row.senderName,
      senderAccountNumber: fullAccountNumber(row.accountNumber),
      senderBankCode: banks.codeOf(row.bankCode),
      receivedAt: row.timeCreated,
    };
  }

  /** The transfer with our reference; null: there is none, which is an empty list, or "not found" (404). */
  async function findTransfer(reference: string, signal?: AbortSignal): Promise<Transaction | null> {
    const request: HttpRequest = {
      method: 'POST',
      route: '/v1/transactions/accounts',
      query: { limit: '10' },
      body: JSON.stringify({ merchantTxRef: reference }),
    };
    const { results } = (await client.find(request, transactionsData, signal)) ?? { results: [] };
    // A filter that was ignored would list other transfers.
    const [first, ...more] = results.filter(({ merchantTxRef }) => merchantTxRef === reference);
    if (more.length > 0 || (first === undefined && results.length > 0)) {
      throw unclear('nomba', 'the list of a reference has other transactions', { ofOneAccount: true });
    }
    return first ?? null;
  }

  const calls: Pick<BankRail, 'findInboundCredit' | 'listInboundCredits' | 'statement'> = {
    async findInboundCredit({ sessionId }, signal) {
      const request: HttpRequest = {
        method: 'GET',
        route: '/v1/transactions/requery/{sessionId}',
        params: { sessionId },
      };
      const row = await client.find(request, transaction, signal);
      if (row === null) return null;
      const isOurs = row.type === 'transfer';
      if (sessionOf(row) !== sessionId || !(isOfAccount(row) || isOurs))
        throw unclear('nomba', 'the requery is about another transaction', { ofOneAccount: true });
      if (isOurs || !isIncoming(row)) return null;
      const status = paymentStatusOf(row.status);
      return status === 'received' ? { ...(await reportOf(row)), recalledAt: null } : status;
    },

    async listInboundCredits(request, signal) {
      const { rows, nextCursor } = await page(request, signal);
      const received = rows.filter((row) => isCollection(row) && paymentStatusOf(row.status) === 'received');
      return { credits: await Promise.all(received.map(reportOf)), nextCursor };
    },

    async statement(request, signal) {
      const { rows, nextCursor } = await page(request, signal);
      return { lines: rows.flatMap(linesOf), nextCursor, closingBalance: null };
    },
  };
  return { calls, findTransfer };
}

/** A transfer that was refunded left and came back: the list has it once. */
function linesOf(row: Transaction): StatementLine[] {
  const { amount, fixedCharge, timeCreated: at, id, merchantTxRef } = row;
  if (isOfAccount(row)) {
    if (!isIncoming(row)) return [{ kind: 'other_out', reference: id, amount, charge: 0, at }];
    if (paymentStatusOf(row.status) !== 'received') return [];
    return [{ kind: 'credit', reference: sessionOf(row) ?? id, amount, charge: chargeOf(fixedCharge), at }];
  }
  if (row.type === 'transfer') {
    const status = transferStatusOf(row.status);
    const reference = merchantTxRef ?? id;
    const sent: StatementLine = { kind: 'sent', reference, amount, charge: 0, at };
    if (status === 'completed') return [{ ...sent, charge: chargeOf(fixedCharge) }];
    return status === 'returned' ? [sent, { ...sent, kind: 'returned' }] : [];
  }
  throw unclear('nomba', 'a transaction is of a type whose direction is not documented');
}

function chargeOf(fixedCharge: number | null): number {
  if (fixedCharge !== null) return fixedCharge;
  throw unclear('nomba', 'a transaction has no exact charge');
}
