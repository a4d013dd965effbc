// Nomba's one list of transactions: the credits, the transfers and the statement are read from it.
import type { BankList } from '../bankList.ts';
import type { ProviderClient } from '../client.ts';
import { unclear } from '../errors.ts';
import type { HttpRequest } from '../http.ts';
import type { BankRail, InboundCreditRecord, PageRequest, StatementLine, UnreadRow } from '../port.ts';
import { type ListedRow, ofPeriod, readRows } from '../rows.ts';
import { fullAccountNumber } from '../texts.ts';
import { isStatus, paymentStatusOf, transferStatusOf } from './outcomes.ts';
import {
  type ListedTransaction,
  listedTransaction,
  type Transaction,
  timeOf,
  transaction,
  transactionsData,
  transactionsPage,
} from './wire.ts';

/** The most that is documented. */
const PAGE_SIZE = '50';
const NAMES = { ids: ['id'], times: ['timeCreated'] };

/** A transfer of an account number, in either direction. */
const isOfAccount = ({ type }: ListedTransaction): boolean => type === 'vact_transfer';

/** Null: it does not say, or in a word that may mean either. */
function directionOf({ entryType }: ListedTransaction): 'in' | 'out' | null {
  if (entryType === 'CREDIT') return 'in';
  return entryType === 'DEBIT' ? 'out' : null;
}

/** The interbank session id identifies a credit, in callbacks too. */
const sessionOf = ({ sessionId, paymentVendorReference }: ListedTransaction): string | null =>
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
    const { results, cursor: next } = await client.read(request, transactionsPage, signal);
    const listed = readRows('nomba', results, listedTransaction, NAMES, timeOf);
    const rows = ofPeriod(listed, ({ timeCreated }) => timeCreated, { from, to });
    const atOf = ({ row }: (typeof rows)[number]): number => row?.timeCreated.getTime() ?? 0;
    rows.sort((one, other) => atOf(one) - atOf(other));
    return { rows, nextCursor: results.length === 0 ? null : next || null };
  }

  /** The credit of a row; null: the row lacks what a credit has. */
  async function recordOf(row: ListedTransaction): Promise<InboundCreditRecord | null> {
    const sessionId = sessionOf(row);
    if (sessionId === null || row.amount === null || row.amount <= 0) return null;
    await banks.load().catch(() => {}); // only for the code of the payer's bank
    return {
      sessionId,
      accountReference: null,
      accountNumber: fullAccountNumber(row.recipientAccountNumber),
      amount: row.amount,
      senderName: row.senderName,
      senderAccountNumber: fullAccountNumber(row.accountNumber),
      senderBankCode: banks.codeOf(row.bankCode),
      senderSessionId: sessionId,
      receivedAt: row.timeCreated,
      recalledAt: paymentStatusOf(row.status) === 'recalled' ? row.timeCreated : null,
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
      // The documented requery of a credit has no direction, the list has one.
      const isCredit = isOfAccount(row) && row.entryType === undefined;
      const direction = row.type === 'transfer' ? 'out' : isCredit ? 'in' : directionOf(row);
      if (sessionOf(row) !== sessionId || !(isOfAccount(row) || row.type === 'transfer') || direction === null)
        throw unclear('nomba', 'the requery is about another transaction', { ofOneAccount: true });
      if (direction === 'out') return null;
      const status = paymentStatusOf(row.status) ?? 'pending';
      if (status === 'pending' || status === 'failed') return status;
      const record = await recordOf(row);
      if (record === null) throw unclear('nomba', 'a credit lacks its amount', { ofOneAccount: true });
      return record;
    },

    /** Rows that cannot be read are set aside by the statement. */
    async listInboundCredits(request, signal) {
      const { rows, nextCursor } = await page(request, signal);
      const incoming = rows.flatMap(({ row }) => (row !== null && isOfAccount(row) ? [row] : []));
      const came = incoming.filter((row) => directionOf(row) === 'in' && isMoney(row));
      const records = await Promise.all(came.map(recordOf));
      return { credits: records.filter((record) => record !== null), nextCursor };
    },

    async statement(request, signal) {
      const { rows, nextCursor } = await page(request, signal);
      const lines: StatementLine[] = [];
      const unread: UnreadRow[] = [];
      for (const listed of rows) {
        const read = linesOf(listed);
        if (read === null) unread.push(listed.unread());
        else lines.push(...read);
      }
      return { lines, unread, nextCursor, closingBalance: null };
    },
  };
  return { calls, findTransfer };
}

/** Whether the status of a collection says that money came, also if it left again. */
const isMoney = ({ status }: ListedTransaction): boolean =>
  ['received', 'recalled'].includes(paymentStatusOf(status) ?? '');

/** The lines of a row; null: it cannot be read, or has a word that is not documented. */
function linesOf({ row }: ListedRow<ListedTransaction>): StatementLine[] | null {
  if (row === null) return null;
  const direction = directionOf(row);
  const { amount, timeCreated: at, id } = row;
  const isCollection = isOfAccount(row) && direction === 'in';
  const isKnown = isCollection ? paymentStatusOf(row.status) !== undefined : isStatus(row.status);
  if (!isKnown || (direction === null && row.type !== 'transfer')) return null;
  const status = isCollection ? paymentStatusOf(row.status) : transferStatusOf(row.status);
  if (status === 'pending' || status === 'failed' || status === 'processing') return [];
  if (amount === null || amount <= 0) return null;
  const line = { amount, charge: 0, at, row: id };
  const charge = row.fixedCharge ?? 0;
  if (isCollection) {
    const reference = sessionOf(row) ?? id;
    const credit: StatementLine = { ...line, kind: 'credit', reference, charge };
    if (status !== 'recalled') return [credit];
    return [credit, { ...credit, kind: 'recalled', charge: 0 - charge }];
  }
  // Neither ours: for a person to look at.
  if (row.type !== 'transfer') {
    const kinds: StatementLine['kind'][] = direction === 'in' ? ['other_in', 'other_out'] : ['other_out', 'other_in'];
    return kinds.slice(0, status === 'returned' ? 2 : 1).map((kind) => ({ ...line, kind, reference: id }));
  }
  // A transfer that was refunded left and came back with its charge: the list has it once.
  const reference = row.merchantTxRef ?? id;
  if (status === 'completed') return [{ ...line, kind: 'sent', reference, charge }];
  return [
    { ...line, kind: 'sent', reference, charge },
    { ...line, kind: 'returned', reference, charge: 0 - charge },
  ];
}
