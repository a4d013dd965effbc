// Monnify has no one statement: its lines are composed of the collections, which are not settled yet, and of the rows
// of the wallet that pays out. First all collections of the period, then all rows of the wallet.
import { LRUCache } from 'lru-cache';
import { mapAtMost } from '../../concurrency/mapAtMost.ts';
import { unclear } from '../errors.ts';
import type { BankRail, Period, StatementLine, StatementPage, TransferReport } from '../port.ts';
import { type createCredits, isTransfer } from './credits.ts';
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
    const known = remembered.get(reference) ?? (await findTransfer(reference, signal));
    if (known !== null && known.status !== 'processing') remembered.set(reference, known);
    return known;
  }

  async function collections(period: Period, at: Cursor, signal?: AbortSignal): Promise<StatementPage> {
    const { rows, next } = await credits.readRows(period, at, signal);
    const lines = await mapAtMost(QUERIES_AT_ONCE, rows, async (row): Promise<StatementLine> => {
      const line = collectionLine(row);
      if (line !== null) return line;
      const [credit] = await credits.reportsOf([row], period, signal);
      if (credit === undefined || credit.charge === null) {
        throw unclear('monnify', 'a collection has no exact amount or charge');
      }
      const { sessionId: reference, amount, charge, receivedAt: at } = credit;
      return { kind: 'credit', reference, amount, charge, at };
    });
    return { lines, nextCursor: cursorText(next ?? startOf('wallet')), closingBalance: null };
  }

  async function payouts(period: Period, at: Cursor, signal?: AbortSignal): Promise<StatementPage> {
    const page = await wallet.readRows(period, at, signal);
    const rows = page.rows.filter(({ status }) => status === 'COMPLETED');
    const transfers = await mapAtMost(QUERIES_AT_ONCE, rows, (row) => transferOf(row, signal));
    const lines = rows.map((row, index) => walletLine(row, transfers[index] ?? null));
    return { lines, nextCursor: page.next && cursorText(page.next), closingBalance: null };
  }

  return async ({ cursor, ...period }, signal) => {
    const at = cursorOf(cursor, 'credits');
    const page = await (at.list === 'credits' ? collections : payouts)(period, at, signal);
    page.lines.sort((one, other) => one.at.getTime() - other.at.getTime());
    return page;
  };
}

/**
 * Null: it must be looked up. Money that was not paid into an account number, such as by card, is not ours to place.
 */
function collectionLine(row: TransactionRow): StatementLine | null {
  const { transactionReference: reference, amountPaid, fee, completedOn } = row;
  const amount = amountPaid ?? row.amount;
  if (amount === null || fee === null || completedOn === null) {
    if (isTransfer(row)) return null;
    throw unclear('monnify', 'a collection has no exact amount or charge');
  }
  return { kind: isTransfer(row) ? 'credit' : 'other_in', reference, amount, charge: fee, at: completedOn };
}

/**
 * A row of the wallet. It is not documented whether the row of a transfer has its charge in the amount or whether that
 * is a row of its own, so the amounts decide. What is neither is `other_in` or `other_out`, for a person to look at.
 */
function walletLine(row: WalletRow, transfer: TransferReport | null): StatementLine {
  const { walletTransactionReference: reference, amount, transactionDate: at, narration } = row;
  const isCredit = row.transactionType === 'CREDIT';
  const own = (kind: StatementLine['kind']): StatementLine => ({ kind, reference, amount, charge: 0, at });
  if (transfer !== null && transfer.amount !== null) {
    const { charge } = transfer;
    if (amount === transfer.amount) return { ...own(isCredit ? 'returned' : 'sent'), reference: transfer.reference };
    if (!isCredit && charge !== null && amount === transfer.amount + charge) {
      return { ...own('sent'), reference: transfer.reference, amount: transfer.amount, charge };
    }
    if (!isCredit && amount === charge) return own('charge');
    return own(isCredit ? 'other_in' : 'other_out');
  }
  if (!isCredit) return own('other_out');
  const about = `${reference} ${narration ?? ''}`;
  if (/settlement/i.test(about)) return own('settlement');
  return own(/\bMFY-WT\b/.test(about) ? 'funding' : 'other_in');
}
