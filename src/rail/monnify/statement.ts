// Monnify has no one statement: its lines are composed of the collections, which are not settled yet, and of the rows
// of the wallet that pays out. First all collections of the period, then all rows of the wallet.
import { LRUCache } from 'lru-cache';
import { mapAtMost } from '../../concurrency/mapAtMost.ts';
import { nullIfUnclear } from '../errors.ts';
import type { BankRail, Period, StatementLine, StatementPage, TransferReport, UnreadRow } from '../port.ts';
import type { ListedRow } from '../rows.ts';
import { type createCredits, isMoney, isTransfer } from './credits.ts';
import { movedBy, paymentStatusOf } from './outcomes.ts';
import { type Cursor, cursorOf, cursorText, startOf } from './pages.ts';
import { type createWallet, referenceOf } from './wallet.ts';
import type { TransactionRow, WalletRow } from './wire.ts';

const QUERIES_AT_ONCE = 10;
/** Ended transfers, whose amounts and charges do not change. */
const REMEMBERED_MAX = 5_000;

export function createStatement(
  wallet: ReturnType<typeof createWallet>,
  credits: ReturnType<typeof createCredits>,
  findTransfer: (reference: string, signal?: AbortSignal) => Promise<TransferReport | null>,
): BankRail['statement'] {
  const remembered = new LRUCache<string, TransferReport>({ max: REMEMBERED_MAX });

  async function transferOf(row: WalletRow, signal?: AbortSignal): Promise<TransferReport | null> {
    const reference = referenceOf(row);
    if (reference === null) return null;
    const known = remembered.get(reference) ?? (await nullIfUnclear(findTransfer(reference, signal)));
    if (known !== null && known.status !== 'processing') remembered.set(reference, known);
    return known;
  }

  /** The lines of rows, with those that cannot be read set aside: their lines are null. */
  async function pageOf<Row>(
    rows: readonly ListedRow<Row>[],
    linesOf: (row: Row) => Promise<StatementLine[] | null>,
    next: Cursor | null,
  ): Promise<StatementPage> {
    const unread: UnreadRow[] = [];
    const lines = await mapAtMost(QUERIES_AT_ONCE, rows, async (listed) => {
      const read = listed.row === null ? null : await linesOf(listed.row);
      if (read === null) unread.push(listed.unread());
      return read ?? [];
    });
    return { lines: lines.flat(), unread, nextCursor: next && cursorText(next), closingBalance: null };
  }

  async function collections(period: Period, at: Cursor, signal?: AbortSignal): Promise<StatementPage> {
    const { rows, next } = await credits.readRows(period, at, signal);
    const linesOf = async (row: TransactionRow): Promise<StatementLine[] | null> => {
      if (paymentStatusOf(row.paymentStatus) === undefined) return null;
      if (!isMoney(row)) return [];
      const line = collectionLine(row);
      if (line !== null) return line.amount > 0 ? withRecall(line, row) : null;
      const credit = isTransfer(row) ? await credits.creditOf(row, period, signal) : 'unread';
      if (credit === null) return [];
      if (credit === 'unread' || credit.charge === null) return null;
      const { sessionId: reference, amount, charge, receivedAt: at } = credit;
      return withRecall({ kind: 'credit', reference, amount, charge, at, row: reference }, row);
    };
    return await pageOf(rows, linesOf, next ?? startOf('wallet'));
  }

  async function payouts(period: Period, at: Cursor, signal?: AbortSignal): Promise<StatementPage> {
    const { rows, next } = await wallet.readRows(period, at, signal);
    const linesOf = async (row: WalletRow): Promise<StatementLine[] | null> => {
      const isMoved = movedBy(row.status);
      if (isMoved === undefined) return null;
      return isMoved ? [walletLine(row, await transferOf(row, signal))] : [];
    };
    return await pageOf(rows, linesOf, next);
  }

  return async ({ cursor, ...period }, signal) => {
    const at = cursorOf(cursor, 'credits');
    const page = await (at.list === 'credits' ? collections : payouts)(period, at, signal);
    page.lines.sort((one, other) => one.at.getTime() - other.at.getTime());
    return page;
  };
}

/** A collection that was taken back left again, with its charge, which may be posted by now. */
function withRecall(line: StatementLine, { paymentStatus }: TransactionRow): StatementLine[] {
  if (paymentStatusOf(paymentStatus) !== 'recalled') return [line];
  return [line, { ...line, charge: 0 - line.charge, kind: line.kind === 'credit' ? 'recalled' : 'other_out' }];
}

/**
 * Null: it must be looked up. Money that was not paid into an account number, such as by card, is not ours to place.
 */
function collectionLine(row: TransactionRow): StatementLine | null {
  const { transactionReference: reference, amountPaid, fee, completedOn } = row;
  // What was asked for is what was paid, unless the status says otherwise.
  const amount = amountPaid ?? (row.paymentStatus === 'PAID' ? row.amount : null);
  if (amount === null || fee === null || completedOn === null) return null;
  const kind = isTransfer(row) ? 'credit' : 'other_in';
  return { kind, reference, amount, charge: fee, at: completedOn, row: reference };
}

/**
 * A row of the wallet. It is not documented whether the row of a transfer, or of its return, has the charge in the
 * amount or whether that is a row of its own, so the amounts decide. What is neither is `other_in` or `other_out`, for
 * a person to look at.
 */
function walletLine(row: WalletRow, transfer: TransferReport | null): StatementLine {
  const { walletTransactionReference: reference, amount, transactionDate: at, narration } = row;
  const isCredit = row.transactionType === 'CREDIT';
  const own = (kind: StatementLine['kind']): StatementLine => ({
    kind,
    reference,
    amount,
    charge: 0,
    at,
    row: reference,
  });
  if (transfer !== null && transfer.amount !== null) {
    const { charge, amount: sent } = transfer;
    const line = { ...own(isCredit ? 'returned' : 'sent'), reference: transfer.reference, amount: sent };
    if (amount === sent) return line;
    if (charge !== null && amount === sent + charge) return { ...line, charge: isCredit ? -charge : charge };
    if (amount === charge) return own(isCredit ? 'charge_returned' : 'charge');
    return own(isCredit ? 'other_in' : 'other_out');
  }
  // What customers write is in the narration of a transfer.
  if (!isCredit || referenceOf(row) !== null) return own(isCredit ? 'other_in' : 'other_out');
  const about = `${reference} ${narration ?? ''}`;
  if (/settlement/i.test(about)) return own('settlement');
  return own(/\bMFY-WT\b/.test(about) ? 'funding' : 'other_in');
}
