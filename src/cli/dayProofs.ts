// `ledger prove | days`: proves the days of a book at its banks, or waives them with a reason, and shows them.
import { InvalidArgumentError } from 'commander';
import type { Sql } from '../database/pool.ts';
import { closeDays } from '../ledger/closing.ts';
import type { Book, Kobo } from '../money.ts';
import { type DayAtBank, listDays, proveDay } from '../reconciliation/dayProofs.ts';
import { type Day, dayOf, readDay } from '../times.ts';
import { addReport, bookOf, decimals, type ReportOptions, readBook } from './accounting.ts';
import { inOrganisation } from './books.ts';
import type { Command } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { text } from './options.ts';
import { type Columns, printRows } from './print.ts';

interface DayOptions extends ReportOptions {
  day: Day;
  to?: Day;
  waive?: string;
}

export function addDayProofCommands(group: Command): void {
  addDays(
    group,
    'prove',
    'prove a day at each bank, once its statement is imported or reconciled; a day with breaks needs the same command of a second operator; exits 1 when a day is not proved',
  )
    .example('ledger prove --day 2026-11-30 --environment live')
    .option('--waive <reason>', 'leave the days without a proof, for this reason', text(500))
    .action(async (options: DayOptions) => {
      const { book, found } = await inOrganisation('ledger prove', options, async (sql, organisationId, { proof }) => {
        const ofDays = { organisationId, environment: options.environment };
        return { book: ofDays, found: await proveDays(sql, ofDays, options, proof) };
      });
      showDays(options, book, found);
      if (found.some(({ preparedBy }) => preparedBy === null)) process.exitCode = EXIT.failed;
    });

  addDays(group, 'days', 'show the days at each bank: proved, waived, without a statement, with breaks')
    .example('ledger days --day 2026-11-01 --to 2026-11-30 --environment live --format csv')
    .action(async (options: DayOptions) => {
      const { book, found } = await readBook(options, (sql, of) => listDays(sql, of, options.day, lastOf(options)));
      showDays(options, book, found.map(asShown));
    });
}

const addDays = (group: Command, usage: string, description: string): Command =>
  addReport(group, usage, description)
    .requiredOption('--day <day>', 'the day, in Nigeria', day)
    .option('--to <day>', 'the last of several days', day);

function day(value: string): Day {
  const read = readDay(value);
  if (read === null) throw new InvalidArgumentError('It must be a day, such as 2026-11-30.');
  return read;
}

const lastOf = ({ day: first, to = first }: DayOptions): Day => to;

type ShownDay = DayAtBank & { state: string };

/** A waiver is for the days that cannot be proved; the others are. */
async function proveDays(sql: Sql, book: Book, options: DayOptions, proof: string): Promise<ShownDay[]> {
  await closeDays(sql, book);
  const proposed = new Set<string>();
  for (const one of await listDays(sql, book, options.day, lastOf(options))) {
    const waiver = isClean(one) ? null : (options.waive ?? null);
    const { outcome, because } = await proveDay(sql, book, one, { proof, waiver });
    if (outcome === 'refused') throw new CommandError(`It is not proven who decides (${because}).`);
    if (outcome === 'proposed') proposed.add(`${one.day} ${one.rail}`);
  }
  return (await listDays(sql, book, options.day, lastOf(options))).map((one) =>
    proposed.has(`${one.day} ${one.rail}`) ? { ...one, state: 'needs a second operator' } : asShown(one),
  );
}

const isClean = ({ bank, breaks }: DayAtBank): boolean => bank !== null && Object.keys(breaks).length === 0;

const asShown = (one: DayAtBank): ShownDay => ({ ...one, state: stateOf(one) });

function stateOf(one: DayAtBank): string {
  if (one.day === dayOf(new Date())) return 'not over';
  if (one.preparedBy !== null) return one.waived === null ? 'proved' : 'waived';
  if (one.bank === null) return 'no statement';
  return isClean(one) ? 'not proved' : 'breaks';
}

const orEmpty = (amount: Kobo | null): string => (amount === null ? '' : decimals(amount));

/** The columns of the report. */
const COLUMNS: Columns<ShownDay> = [
  'day',
  {
    Bank: ({ rail }) => rail,
    State: ({ state }) => state,
    Statement: ({ bank }) => orEmpty(bank),
    Books: ({ books }) => decimals(books),
    'In flight': ({ inFlight }) => orEmpty(inFlight),
    Breaks: ({ breaks }) =>
      Object.entries(breaks)
        .map(([reason, { count, amount }]) => `${count} ${reason} ${decimals(amount)}`)
        .join('; '),
    Customers: ({ customer }) => decimals(customer),
    Statutory: ({ statutory }) => decimals(statutory),
    Own: ({ own }) => decimals(own),
    Receivable: ({ receivable }) => decimals(receivable),
    Headroom: ({ headroom }) => decimals(headroom),
    'Booked later': ({ bookedLater }) => decimals(bookedLater),
    'Prepared by': ({ preparedBy }) => preparedBy ?? '',
    'Reviewed by': ({ reviewedBy }) => reviewedBy ?? '',
    Reason: ({ waived }) => waived ?? '',
  },
];

const showDays = (options: ReportOptions, book: Book, days: readonly ShownDay[]): void =>
  printRows(options, days, COLUMNS, 'This book has no postings at a bank by that day.', { ...bookOf(book), days });
