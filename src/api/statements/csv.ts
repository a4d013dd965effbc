// The statement of a month as CSV, for spreadsheets and accounting software.
import { csvText } from '../lists/csv.ts';
import type { StatementRow, Unit } from './rows.ts';

const UNIT_NAMES: Record<Unit, string> = { naira: 'NGN', kobo: 'kobo' };

const headingsIn = (unit: string): Record<keyof StatementRow, string> => ({
  date: 'Date',
  type: 'Type',
  description: 'Description',
  reference: 'Reference',
  counterparty: 'Counterparty',
  account: 'Account',
  moneyOut: `Money out (${unit})`,
  moneyIn: `Money in (${unit})`,
  balance: `Balance (${unit})`,
  id: 'Transaction',
});

/** The texts of a file: its header, then its rows page by page. */
export async function* statementCsv(pages: AsyncIterable<StatementRow[]>, unit: Unit): AsyncGenerator<string> {
  const headings = headingsIn(UNIT_NAMES[unit]);
  yield csvText(Object.values(headings), [], true);
  for await (const rows of pages) yield csvText(Object.keys(headings), rows);
}
