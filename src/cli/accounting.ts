// `ledger trial-balance | account | income | close-period | sweep-fees`: the reports of a book for accountants, its
// period close, and the sweep of what it earned.
import { InvalidArgumentError, Option } from 'commander';
import type { Sql } from '../database/pool.ts';
import { publicId } from '../ids.ts';
import { closePeriod, type PeriodClosing } from '../ledger/closing.ts';
import { Journal } from '../ledger/journal.ts';
import {
  type AccountBalance,
  addIncome,
  type Entry,
  type Income,
  NO_INCOME,
  reportAccount,
  reportIncome,
  trialBalance,
} from '../ledger/reports.ts';
import { type Book, CURRENCY, type Kobo, nairaText } from '../money.ts';
import { type SweepOutcome, sweepFees } from '../resources/feeSweeps/sweep.ts';
import {
  type Day,
  dayAfter,
  dayOf,
  dayStart,
  isMonth,
  type Month,
  monthAfter,
  monthOf,
  readDay,
  readTime,
} from '../times.ts';
import { type BookOptions, inOrganisation, ofOrganisation } from './books.ts';
import { addCommand, type Command } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { environmentOption, organisationOption, wholeNumber } from './options.ts';
import { type Columns, type Format, printResult, printRows, timeText } from './print.ts';

export type ReportOptions = BookOptions & Format;

const TIME = 'a time (ISO 8601), a day (2026-11-30) or a month (2026-11)';

export function addAccountingCommands(group: Command): void {
  addReport(group, 'trial-balance', 'show the balance of every account at a time')
    .example('ledger trial-balance --at 2026-11 --environment live --format csv')
    .option('--at <time>', `${TIME}, of which the end counts (default: now)`, timeRange)
    .action(async (options: ReportOptions & { at?: TimeRange }) => {
      const to = options.at?.to ?? new Date(Date.now() + 1);
      const { book, found } = await readBook(options, (sql, of) => trialBalance(sql, of, to));
      const accounts = found.map(({ account, balance }) => ({ account, ...sidesOf(balance) }));
      const sum = { debit: total(accounts, 'debit'), credit: total(accounts, 'credit') };
      printRows(
        options,
        [...accounts, { account: 'Total', ...sum }],
        ['account', inNaira({ Debit: 'debit', Credit: 'credit' })],
        '',
        { ...bookOf(book), before: to, currency: CURRENCY, accounts, total: sum },
      );
    });

  addReport(
    group,
    'account <code>',
    'show the entries of an account in a period, with its opening, running and closing balance',
  )
    .example('ledger account income:fees --from 2026-11 --to 2026-11 --environment live')
    .option('--from <time>', `${TIME}, of which the start counts (default: this month)`, timeRange)
    .option('--to <time>', `${TIME}, of which the end counts (default: now)`, timeRange)
    .action(async (code: string, options: ReportOptions & { from?: TimeRange; to?: TimeRange }) => {
      const now = new Date();
      const period = {
        from: options.from?.from ?? dayStart(`${monthOf(now)}-01`),
        to: options.to?.to ?? new Date(now.getTime() + 1),
      };
      const { book, found } = await readBook(options, (sql, of) => reportAccount(sql, of, code, period));
      if (found === null) {
        throw new CommandError(
          `There is no account ${code} in this book. List its accounts: npm run cli -- ledger trial-balance`,
        );
      }
      const { amountOwed, opening, entries, closing } = found;
      const rows: AccountRow[] = [
        { name: 'Opening', balance: opening },
        ...entries,
        { name: 'Closing', balance: closing },
        ...(amountOwed === null ? [] : [{ name: 'Owes now', balance: amountOwed }]),
      ];
      printRows(options, rows, ACCOUNT_COLUMNS, '', {
        ...bookOf(book),
        account: code,
        from: period.from,
        before: period.to,
        currency: CURRENCY,
        ...(amountOwed !== null && { amountOwed }),
        opening,
        entries: entries.map(({ number, transactionId, ...entry }) => ({
          entry: number,
          transaction: publicId('transaction', transactionId),
          ...entry,
        })),
        closing,
      });
    });

  addReport(
    group,
    'income',
    'show what was earned on each day and in each month: income, cost of rails, losses, tax, net',
  )
    .example('ledger income --from 2026-11 --to 2026-11 --environment live --format csv')
    .option('--from <time>', `${TIME}, of which the first day counts (default: this month)`, timeRange)
    .option('--to <time>', `${TIME}, of which the last day counts (default: today)`, timeRange)
    .action(async (options: ReportOptions & { from?: TimeRange; to?: TimeRange }) => {
      const now = new Date();
      const period = {
        from: options.from === undefined ? `${monthOf(now)}-01` : dayOf(options.from.from),
        to: dayOf(options.to === undefined ? now : new Date(options.to.to.getTime() - 1)),
      };
      const { book, found: days } = await readBook(options, (sql, of) => reportIncome(sql, of, period));
      const months = byMonth(days);
      const sum = incomeOf(days);
      const rows = [
        ...months.flatMap(({ month, ...income }) => [
          ...days.filter(({ day }) => day.startsWith(month)).map(({ day, ...of }) => ({ period: day, ...of })),
          { period: month, ...income },
        ]),
        { period: 'Total', ...sum },
      ];
      const amounts = {
        Income: 'income',
        'Cost of rails': 'railCosts',
        Losses: 'losses',
        Tax: 'tax',
        Net: 'net',
      } as const;
      const value = { ...bookOf(book), ...period, currency: CURRENCY, days, months, total: sum };
      printRows(options, rows, ['period', inNaira(amounts)], '', value);
    });

  addBookCommand(
    group,
    'close-period <month>',
    'close a month: nothing is dated into it any more, and its reports never change',
  )
    .example('ledger close-period 2026-11 --environment live')
    .action(async (month: string, options: BookOptions) => {
      if (!isMonth(month)) throw new CommandError(`${month} is not a month. Write it as 2026-11.`, EXIT.usage);
      const { environment } = options;
      const { outcome, nextPeriod } = await inOrganisation(
        'ledger close-period',
        options,
        (sql, organisationId, { proof }) => closePeriod(sql, { organisationId, environment }, month, proof),
      );
      if (outcome !== 'closed' && outcome !== 'unchanged')
        throw new CommandError(NOT_CLOSED[outcome](month, nextPeriod));
      const changed = outcome === 'closed';
      const line = `The period ${month} ${changed ? 'is' : 'was already'} closed.`;
      printResult(options, { period: month, environment, changed }, line);
    });

  addBookCommand(
    group,
    'sweep-fees',
    'move net income to the settlement wallet: income less cost of rails, losses, tax and debts; a key is swept once',
  )
    .example('ledger sweep-fees --environment live --key november')
    .option(
      '--amount <kobo>',
      'the amount in kobo (default: all of the net income)',
      wholeNumber(SWEPT_MAX, ' of kobo'),
    )
    .option('--key <text>', 'a name for the sweep (default: the date, so a repeat on the same day sweeps nothing)')
    .action(async (options: BookOptions & { amount?: Kobo; key?: string }) => {
      const { key = dayOf(new Date()), amount } = options;
      const { environment } = options;
      const outcome = await inOrganisation('ledger sweep-fees', options, (sql, organisationId, { proof }) =>
        sweepFees(sql, new Journal(sql), { organisationId, environment }, { key, amount, proof }),
      );
      if (!('sweep' in outcome)) throw new CommandError(whyNotSwept(outcome));
      const { sweep } = outcome;
      const changed = outcome.outcome === 'swept';
      const [id, wallet] = [publicId('feeSweep', sweep.id), publicId('wallet', sweep.walletId)];
      printResult(
        options,
        { id, key, walletId: wallet, amount: sweep.amount, changed },
        changed
          ? `Swept ${nairaText(sweep.amount)} to the settlement wallet ${wallet} (${id}).`
          : `${nairaText(sweep.amount)} was already swept with the key ${key}. To sweep more, give another --key.`,
      );
    });
}

const addBookCommand = (group: Command, usage: string, description: string): Command =>
  addCommand(group, usage, description)
    .addOption(organisationOption('the book'))
    .addOption(environmentOption().makeOptionMandatory());

export const addReport = (group: Command, usage: string, description: string): Command =>
  addBookCommand(group, usage, description).addOption(
    new Option('--format <name>', 'the form of the report').choices(['table', 'csv', 'json']).default('table'),
  );

export const readBook = <Found>(options: BookOptions, read: (sql: Sql, book: Book) => Promise<Found>) =>
  ofOrganisation(options, async (sql, organisationId) => {
    const book = { organisationId, environment: options.environment };
    return { book, found: await read(sql, book) };
  });

const incomeOf = (days: readonly Income[]): Income => days.reduce((sum, day) => addIncome(sum, day), NO_INCOME);

function byMonth(days: readonly (Income & { day: Day })[]): (Income & { month: Month })[] {
  const months = Map.groupBy(days, ({ day }) => day.slice(0, 'YYYY-MM'.length));
  return Array.from(months, ([month, ofMonth]) => ({ month, ...incomeOf(ofMonth) }));
}

/** An entry, or a balance with its name. */
type AccountRow = Partial<Entry> & { name?: string; balance: Kobo };

/** Columns of amounts in naira, by the names of their fields. */
const inNaira = <Field extends string>(fields: Readonly<Record<string, Field>>) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      `${name} (${CURRENCY})`,
      (row: Partial<Record<Field, Kobo>>) => (row[field] === undefined ? '' : decimals(row[field])),
    ]),
  );

const ACCOUNT_COLUMNS: Columns<AccountRow> = [
  {
    'Booked (UTC)': ({ name, createdAt = null }) => name ?? timeText(createdAt),
    Entry: ({ number = '' }) => number,
    Kind: ({ kind = '' }) => kind,
    Resource: ({ resource = '' }) => resource,
    'Contra account': ({ contra = '' }) => contra,
    ...inNaira({ Debit: 'debit', Credit: 'credit', Balance: 'balance' }),
    'Happened (UTC)': ({ effectiveAt }) => (effectiveAt === undefined ? '' : timeText(effectiveAt)),
    'Belongs to': ({ belongsTo }) => belongsTo ?? '',
  },
];

/** Why a period was not closed and what to do. */
const NOT_CLOSED: Record<
  Exclude<PeriodClosing['outcome'], 'closed' | 'unchanged'>,
  (month: Month, next: Month | null) => string
> = {
  not_over: (month) => `The period ${month} is not over. Close it when it is.`,
  not_next: (_month, next) =>
    next === null
      ? 'This book has no account yet, so there is no period to close.'
      : `The next period to close is ${next}. Periods are closed in their order: npm run cli -- ledger close-period ${next}`,
  days_open: (month) => `The days of ${month} are not all closed. Run the command again.`,
  days_unproved: (month) => {
    const lastDay = dayOf(new Date(dayStart(`${monthAfter(month)}-01`).getTime() - 1));
    return `Not every day of ${month} is proved or waived. See: npm run cli -- ledger days --day ${month}-01 --to ${lastDay}`;
  },
  unbalanced: (month) =>
    `The balances at the end of ${month} do not sum to zero. Find the cause first: npm run cli -- ledger verify`,
};

/** In kobo: the largest amount with 15 digits. */
const SWEPT_MAX = 999_999_999_999_999;

/** Why nothing was swept and what to do. */
const whyNotSwept = (outcome: Exclude<SweepOutcome, { sweep: unknown }>): string =>
  outcome.outcome === 'too_much'
    ? `The net income that was not swept is ${nairaText(outcome.net)}. Sweep at most that, if it is positive.`
    : `The settlement wallet refused the money (${outcome.code}). See: npm run cli -- organisations list, then wallets show ID`;

/** `from` inclusive, `to` exclusive. */
interface TimeRange {
  from: Date;
  to: Date;
}

/** The range of a time (its millisecond), or of a day or a month in Nigeria. */
function timeRange(text: string): TimeRange {
  if (isMonth(text)) return { from: dayStart(`${text}-01`), to: dayStart(`${monthAfter(text)}-01`) };
  const day = readDay(text);
  if (day !== null) return { from: dayStart(day), to: dayStart(dayAfter(day)) };
  const time = readTime(text, null);
  if (time !== null) return { from: time, to: new Date(time.getTime() + 1) };
  throw new InvalidArgumentError('Write it as 2026-11, 2026-11-30 or 2026-11-30T12:00:00Z.');
}

export const bookOf = ({ organisationId, environment }: Book) => ({
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

/** An amount in naira, with both decimals, for programs. */
export const decimals = (amount: Kobo): string => nairaText(amount).replaceAll(/[₦,]/g, '');
