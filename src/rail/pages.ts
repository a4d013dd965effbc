// The lists of a rail, page by page: a list that repeats a page or does not end is an error of the rail, and a row that
// is on two pages is one row.
import { createHash } from 'node:crypto';
import { unclear } from './errors.ts';
import type { BankRail, InboundCreditRecord, PageRequest, StatementLine, UnreadRow } from './port.ts';

/** Of one list; more than any book has in the periods that are read, and few enough to end within the hour. */
const PAGES_MAX = 5_000;

type ListRequest = Omit<PageRequest, 'cursor'>;

async function* pagesOf<Page extends { nextCursor: string | null }>(
  rail: string,
  read: (cursor: string | null) => Promise<Page>,
): AsyncGenerator<Page> {
  const seen = new Set<string>();
  let cursor: string | null = null;
  do {
    const page = await read(cursor);
    yield page;
    cursor = page.nextCursor;
    const digest = createHash('sha256')
      .update(cursor ?? '')
      .digest('base64');
    if (cursor !== null && seen.has(digest)) throw unclear(rail, 'a list repeats a page');
    if (seen.add(digest).size > PAGES_MAX) throw unclear(rail, 'a list does not end');
  } while (cursor !== null);
}

/** The credits of a period, page by page. */
export async function* creditsOf(
  rail: BankRail,
  request: ListRequest,
  signal?: () => AbortSignal,
): AsyncGenerator<InboundCreditRecord[]> {
  const read = (cursor: string | null) => rail.listInboundCredits({ ...request, cursor }, signal?.());
  for await (const { credits } of pagesOf(rail.name, read)) yield credits;
}

/** The statement of a period. Two rows with one reference are two lines. */
export async function statementOf(
  rail: BankRail,
  request: ListRequest,
  { onPage, signal }: { onPage?: () => void; signal?: () => AbortSignal } = {},
) {
  const read = (cursor: string | null) => rail.statement({ ...request, cursor }, signal?.());
  const lines: StatementLine[] = [];
  const unread = new Map<string, UnreadRow>();
  const rows = new Set<string>();
  let closingBalance: number | null = null;
  for await (const page of pagesOf(rail.name, read)) {
    for (const line of page.lines) {
      const name = `${line.row} ${line.kind} ${line.reference}`;
      if (line.row === undefined || !rows.has(name)) lines.push(line);
      rows.add(name);
    }
    for (const row of page.unread ?? []) unread.set(row.reference, row);
    closingBalance = page.closingBalance;
    onPage?.();
  }
  return { lines, unread: [...unread.values()], closingBalance };
}
