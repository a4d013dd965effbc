// `ledger trial-balance | account | close-period`: the reports of a book for accountants, and its period close.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Sql } from '../database/pool.ts';
import { publicId } from '../ids.ts';
import { closePeriod, type Day, dayStart, type Month, type PeriodClosing } from '../ledger/closing.ts';
import { type AccountBalance, type Entry, reportAccount, trialBalance } from '../ledger/reports.ts';
import { type Book, CURRENCY, type Kobo } from '../money.ts';
import { addBookCommand, type BookOptions, chooseBook, decimals } from './books.ts';
import { withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { addSweepFees } from './feeSweeps.ts';
import { printCsv, printJson, printLine, printTable, timeText } from './print.ts';
import { signIn } from './signIn.ts';

interface ReportOptions extends BookOptions {
  format: 'table' | 'csv' | 'json';
}

const TIME = 'a time (ISO 8601), a day (2026-11-30) or a month (2026-11)';

export function addAccountingCommands(group: Command): void {
  addTrialBalance(group);
  addAccount(group);
  addClosePeriod(group);
  addSweepFees(group);
}

const addReport = (group: Command, usage: string, description: string, example: string): Command =>
  addBookCommand(group, usage, description, example).addOption(
    new Option('--format <name>', 'the form of the report').choices(['table', 'csv', 'json']).default('table'),
  );

const readBook = <Result>(options: BookOptions, read: (sql: Sql, book: Book) => Promise<Result>): Promise<Result> =>
  withDatabase('application', async (sql, settings) => await read(sql, await chooseBook(sql, settings, options)));

function addTrialBalance(group: Command): void {
  addReport(
    group,
    'trial-balance',
    'show the balance of every account at a time',
    'trial-balance --at 2026-11 --environment live --format csv',
  )
    .option('--at <time>', `${TIME}, of which the end counts (default: now)`, timeRange)
    .action(async (options: ReportOptions & { at?: TimeRange }) => {
      const { to } = options.at ?? timeRange(new Date().toISOString());
      const { book, rows } = await readBook(options, async (sql, of) => ({
        book: of,
        rows: await trialBalance(sql, of, to),
      }));
      const lines = rows.map(({ account, balance }) => ({ account, ...sidesOf(balance) }));
      const sum = { debit: total(lines, 'debit'), credit: total(lines, 'credit') };
      report(options, {
        json: { ...bookOf(book), before: to, currency: CURRENCY, accounts: lines, total: sum },
        heading: ['Account', `Debit (${CURRENCY})`, `Credit (${CURRENCY})`],
        rows: [...lines, { account: 'Total', ...sum }].map(({ account, debit, credit }) => [
          account,
          decimals(debit),
          decimals(credit),
        ]),
      });
    });
}

function addAccount(group: Command): void {
  addReport(
    group,
    'account <code>',
    'show the entries of an account in a period, with its opening, running and closing balance',
    'account income:fees --from 2026-11 --to 2026-11 --environment live',
  )
    .option('--from <time>', `${TIME}, of which the start counts (default: this month)`, timeRange)
    .option('--to <time>', `${TIME}, of which the end counts (default: now)`, timeRange)
    .action(async (code: string, options: ReportOptions & { from?: TimeRange; to?: TimeRange }) => {
      const now = new Date().toISOString();
      const period = {
        from: (options.from ?? timeRange(now.slice(0, 'YYYY-MM'.length))).from,
        to: (options.to ?? timeRange(now)).to,
      };
      const { book, account } = await readBook(options, async (sql, of) => ({
        book: of,
        account: await reportAccount(sql, of, code, period),
      }));
      if (account === null) {
        throw new CommandError(
          `There is no account ${code} in this book. List its accounts: npm run cli -- ledger trial-balance`,
        );
      }
      const { opening, entries, closing } = account;
      const balanceRow = (name: string, balance: Kobo) => [name, '', '', '', '', '', '', decimals(balance), '', ''];
      report(options, {
        json: {
          ...bookOf(book),
          account: code,
          from: period.from,
          before: period.to,
          currency: CURRENCY,
          opening,
          entries: entries.map(({ number, transactionId, ...entry }) => ({
            entry: number,
            transaction: publicId('transaction', transactionId),
            ...entry,
          })),
          closing,
        },
        heading: [
          'Booked (UTC)',
          'Entry',
          'Kind',
          'Resource',
          'Contra account',
          `Debit (${CURRENCY})`,
          `Credit (${CURRENCY})`,
          `Balance (${CURRENCY})`,
          'Happened (UTC)',
          'Belongs to',
        ],
        rows: [balanceRow('Opening', opening), ...entries.map(entryRow), balanceRow('Closing', closing)],
      });
    });
}

const entryRow = (entry: Entry): string[] => [
  timeText(entry.createdAt),
  String(entry.number),
  entry.kind,
  entry.resource,
  entry.contra,
  decimals(entry.debit),
  decimals(entry.credit),
  decimals(entry.balance),
  timeText(entry.effectiveAt),
  entry.belongsTo ?? '',
];

function addClosePeriod(group: Command): void {
  addBookCommand(
    group,
    'close-period <month>',
    'close a month: nothing is dated into it any more, and its reports never change',
    'close-period 2026-11 --environment live',
  ).action(async (month: string, options: BookOptions) => {
    if (!MONTH.test(month)) throw new CommandError(`${month} is not a month. Write it as 2026-11.`, EXIT.usage);
    const closing = await withDatabase('application', async (sql, settings) => {
      const operator = await signIn(sql, settings, 'ledger close-period');
      return await closePeriod(sql, await chooseBook(sql, settings, options), month, operator);
    });
    requireClosed(month, closing);
    const changed = closing.outcome === 'closed';
    if (options.json) return printJson({ period: month, environment: options.environment, changed });
    printLine(changed ? `The period ${month} is closed.` : `The period ${month} was already closed.`);
  });
}

/** Throws an error that says why the period was not closed and what to do. */
function requireClosed(month: Month, { outcome, nextPeriod }: PeriodClosing): void {
  switch (outcome) {
    case 'closed':
    case 'unchanged':
      return;
    case 'not_over':
      throw new CommandError(`The period ${month} is not over. Close it when it is.`);
    case 'not_next':
      throw new CommandError(
        nextPeriod === null
          ? 'This book has no account yet, so there is no period to close.'
          : `The next period to close is ${nextPeriod}. Periods are closed in their order: npm run cli -- ledger close-period ${nextPeriod}`,
      );
    case 'days_open':
      throw new CommandError(`The days of ${month} are not all closed. Run the command again.`);
    case 'unbalanced':
      throw new CommandError(
        `The balances at the end of ${month} do not sum to zero. Find the cause first: npm run cli -- ledger verify`,
      );
  }
}

/** `from` inclusive, `to` exclusive. */
interface TimeRange {
  from: Date;
  to: Date;
}

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The range of a time (its millisecond), of a day or of a month. */
function timeRange(text: string): TimeRange {
  if (MONTH.test(text)) return { from: dayStart(`${text}-01`), to: dayStart(dayAfter(text, 1, 0)) };
  const time = new Date(text);
  if (Number.isNaN(time.getTime()) || (DAY.test(text) && !time.toISOString().startsWith(text))) {
    throw new InvalidArgumentError(`Write it as 2026-11, 2026-11-30 or 2026-11-30T12:00:00Z.`);
  }
  if (DAY.test(text)) return { from: dayStart(text), to: dayStart(dayAfter(text, 0, 1)) };
  return { from: time, to: new Date(time.getTime() + 1) };
}

function dayAfter(text: string, months: number, days: number): Day {
  const date = new Date(text);
  date.setUTCMonth(date.getUTCMonth() + months, date.getUTCDate() + days);
  return date.toISOString().slice(0, 'YYYY-MM-DD'.length);
}

const bookOf = ({ organisationId, environment }: Book) => ({
  organisation: publicId('organisation', organisationId),
  environment,
});

/** A balance as its side of a trial balance. */
const sidesOf = (balance: AccountBalance['balance']): Record<'debit' | 'credit', Kobo> => ({
  debit: Math.max(-balance, 0),
  credit: Math.max(balance, 0),
});

const total = (lines: readonly Record<'debit' | 'credit', Kobo>[], side: 'debit' | 'credit'): Kobo =>
  lines.reduce((sum, line) => sum + line[side], 0);

function report(
  { format, json }: ReportOptions,
  { json: value, heading, rows }: { json: object; heading: string[]; rows: string[][] },
): void {
  if (json || format === 'json') printJson(value);
  else if (format === 'csv') printCsv(heading, rows);
  else printTable(heading, rows, '');
}
