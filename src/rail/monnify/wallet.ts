// The statement of the wallet that transfers are paid from, row by row.
import type { ProviderClient } from '../client.ts';
import type { HttpRequest } from '../http.ts';
import type { Period } from '../port.ts';
import { ofPeriod } from '../rows.ts';
import { type Cursor, type Page, type RowsOf, readPage, startOf } from './pages.ts';
import { type WalletRow, walletRow } from './wire.ts';

const ROWS: RowsOf<WalletRow> = {
  schema: walletRow,
  names: { ids: ['walletTransactionReference'], times: ['transactionDate'] },
};

/** Small, because each row of a transfer is followed by a query of its status. */
const PAGE_SIZE = 50;
/** A search reads nothing but the rows, so its pages are the largest, and as many as one call has time for. */
const SEARCH_PAGE_SIZE = 100;
const SEARCH_PAGES_MAX = 10;
const HOUR_MS = 3_600_000;

export function createWallet(client: ProviderClient, accountNumber: string) {
  async function readRows(
    period: Period,
    at: Cursor,
    signal?: AbortSignal,
    pageSize = PAGE_SIZE,
  ): Promise<Page<WalletRow>> {
    // The time filter counts whole hours, so the query is for whole hours, and the rows are sorted out here.
    const request: HttpRequest = {
      method: 'GET',
      route: '/api/v1/disbursements/wallet/{accountNumber}/statement',
      params: { accountNumber },
      query: {
        startDate: String(Math.floor(period.from.getTime() / HOUR_MS) * HOUR_MS),
        endDate: String(Math.ceil(period.to.getTime() / HOUR_MS) * HOUR_MS),
        enableTimeFilter: 'true',
        pageNo: String(at.page),
        pageSize: String(pageSize),
      },
    };
    const { rows, next } = await readPage(client, request, ROWS, at, pageSize, signal);
    return { rows: ofPeriod(rows, ({ transactionDate }) => transactionDate, period), next };
  }

  /**
   * Whether the wallet paid the transfer in the period. `unknown`: there are more rows than are searched, or rows that
   * cannot be read.
   */
  async function hasPaid(reference: string, period: Period, signal?: AbortSignal): Promise<boolean | 'unknown'> {
    let at: Cursor | null = startOf('wallet');
    let isReadable = true;
    for (let pages = 0; at !== null && pages < SEARCH_PAGES_MAX; pages += 1) {
      const page: Page<WalletRow> = await readRows(period, at, signal, SEARCH_PAGE_SIZE);
      if (page.rows.some(({ row }) => row !== null && referenceOf(row) === reference)) return true;
      isReadable &&= page.rows.every(({ row }) => row !== null);
      at = page.next;
    }
    return at === null && isReadable ? false : 'unknown';
  }

  return { readRows, hasPaid };
}

/** The reference of a transfer, which is the second part of its narration; null for a row of another kind. */
export function referenceOf({ narration }: Pick<WalletRow, 'narration'>): string | null {
  const [own = '', reference = ''] = (narration ?? '').split('/#/').map((part) => part.trim());
  return own.startsWith('MFDS') && reference !== '' ? reference : null;
}
