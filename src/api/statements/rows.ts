// The statement of a wallet for a month, as people read it: the opening balance, every entry oldest first with the
// balance after it, and the closing balance with the totals. Pure; csv.ts and pdf.ts write the rows.
import { type Kobo, nairaText } from '../../money.ts';
import type { StatementLine } from '../../resources/wallets/statement.ts';
import { LAGOS_OFFSET_MS, type Month } from '../../times.ts';
import type { FileFormat } from '../route.ts';
import { lineId } from '../views.ts';

export const UNITS = ['naira', 'kobo'] as const;
export type Unit = (typeof UNITS)[number];

export interface Statement {
  /** The public id. */
  walletId: string;
  /** The customer, as the wallet names it. */
  owner: string;
  month: Month;
  openingBalance: Kobo;
  /** Null: of a month that is over. */
  until: Date | null;
  unit: Unit;
  format: FileFormat;
  /** Oldest first. */
  pages: AsyncIterable<readonly StatementLine[]>;
}

/** All of it is text, and empty where there is none. */
const EMPTY = {
  /** By the clock of Nigeria; of balances empty. */
  date: '',
  type: '',
  description: '',
  reference: '',
  counterparty: '',
  /** With words around the number: a spreadsheet would take the zeros in front of a bare number. */
  account: '',
  moneyOut: '',
  moneyIn: '',
  balance: '',
  /** Of the ledger's transaction. */
  id: '',
};
export type StatementRow = typeof EMPTY;

/** Such as `2026-11-30 23:59:59`. */
const lagosTime = (time: Date): string =>
  new Date(time.getTime() + LAGOS_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');

/** Naira as `25,000.00` for people, else without separators, which spreadsheets read as a number. */
const amountText = (amount: Kobo, { unit, format }: Pick<Statement, 'unit' | 'format'>): string =>
  unit === 'kobo' ? String(amount) : nairaText(amount).replaceAll(format === 'csv' ? /[₦,]/g : '₦', '');

/** The rows of a statement, page by page: the balances are sums of what is above them, whatever is posted meanwhile. */
export async function* statementRows(statement: Statement): AsyncGenerator<StatementRow[]> {
  const { openingBalance, until, pages } = statement;
  const text = (amount: Kobo): string => amountText(amount, statement);
  const sums = { moneyOut: 0, moneyIn: 0 };
  const balance = (): string => text(openingBalance + sums.moneyIn - sums.moneyOut);
  yield [{ ...EMPTY, type: 'Opening balance', balance: balance() }];
  for await (const page of pages) {
    yield page.map((line) => {
      const moved = line.direction === 'credit' ? 'moneyIn' : 'moneyOut';
      sums[moved] += line.amount;
      return { ...EMPTY, ...describe(line), [moved]: text(line.amount), balance: balance() };
    });
  }
  const type = until === null ? 'Closing balance' : `Balance at ${lagosTime(until)}`;
  yield [{ ...EMPTY, type, moneyOut: text(sums.moneyOut), moneyIn: text(sums.moneyIn), balance: balance() }];
}

function describe(line: StatementLine) {
  const { createdAt, kind, component, description, reference, counterparty } = line;
  const words = kind.replaceAll('_', ' ').replace(/^./, (initial) => initial.toUpperCase());
  const { accountNumber = null, bankCode = null } = counterparty ?? {};
  return {
    id: lineId(line),
    date: lagosTime(createdAt),
    type: component === 'fee' ? `${words} (fee)` : words,
    description: description ?? '',
    reference: reference ?? '',
    counterparty: counterparty?.name ?? '',
    account: accountNumber === null ? '' : `${accountNumber}${bankCode === null ? '' : ` at bank ${bankCode}`}`,
  };
}
