// `reconciliation …`: compare the rails' statements, or one in a file, with the ledger now, and show the breaks.
import { readFileSync } from 'node:fs';
import { Option } from 'commander';
import { readDatabaseTime } from '../database/pool.ts';
import { publicId } from '../ids.ts';
import { Journal } from '../ledger/journal.ts';
import { PROVIDERS } from '../rail/providers.ts';
import { CSV_HEADER } from '../reconciliation/files/csv.ts';
import { FORMATS, readStatementFile, type StatementFormat } from '../reconciliation/files/read.ts';
import { type StatementFile, StatementFileError } from '../reconciliation/files/statement.ts';
import { listBreaks } from '../reconciliation/queries.ts';
import { type ImportedStatement, reconcileImported } from '../reconciliation/reconcile.ts';
import type { Reconciled } from '../workflows/maintenance/messages.ts';
import { type BookOptions, inOrganisation } from './books.ts';
import { addCommand, type Command, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import {
  addPeriod,
  environmentOption,
  matching,
  organisationOption,
  type Period,
  periodOf,
  text,
  time,
  wholeNumber,
} from './options.ts';
import { printLeftOut, printResult, printRows, timeText } from './print.ts';
import { readSettings } from './settings.ts';
import { runMaintenance } from './temporal.ts';

const SEE_BREAKS = 'List the breaks: npm run cli -- reconciliation show';
const BREAKS_DEFAULT = 30;
/** The worker compares a rail with an API; lines of a file would be booked again, because they have other names. */
const NAME = new RegExp(`^(?!(${PROVIDERS.map(({ name }) => name).join('|')})$)[a-z0-9_]{1,40}$`);
const RAIL_NAME = matching(NAME, 'It must be lower-case letters, digits or _, and a bank without an API.');

export function addReconciliationCommands(program: Command): void {
  const group = program.command('reconciliation').description("compare the rails' statements with the ledger");

  addPeriod(
    addCommand(
      group,
      'run',
      'run a reconciliation now, on a worker: of each book from where it is reconciled to until now, or of a period; exits 1 when there are breaks, or a bank fails',
    ).example('reconciliation run --from 2026-01-01 --to 2026-01-02'),
  ).action(async (options: Period & { json?: true }) => {
    const input = periodOf(options);
    const reconciled = await runMaintenance<Reconciled>('reconciliation', input);
    if (reconciled.breaks + reconciled.failed > 0) process.exitCode = EXIT.failed;
    const { breaks, opened, books, lines, failed } = reconciled;
    printResult(
      options,
      { ...input, ...reconciled },
      `${breaks} breaks in ${books} books and ${lines} lines; ${opened} new review cases.`,
      failed > 0 && `The bank of ${failed} books failed: the worker's log has the reason. Run it again later.`,
      breaks > 0 && SEE_BREAKS,
    );
  });

  addCommand(
    group,
    'import <file>',
    `compare a book with a statement in a file, for a bank without an API: camt.053, MT940, or CSV with the header \`${CSV_HEADER.join(',')}\` (amounts in kobo; a row of the kind closing_balance for the balance); a wrong file changes nothing; exits 1 when there are breaks`,
  )
    .example('reconciliation import statement.csv --rail providus --environment live')
    .requiredOption('--rail <name>', 'the bank: its clearing account is clearing:<name>', RAIL_NAME)
    .addOption(environmentOption('the book').makeOptionMandatory())
    .addOption(organisationOption('the book'))
    .addOption(new Option('--format <name>', 'default: by the content of the file').choices(FORMATS))
    .option('--account <number>', 'the account, if the file has statements of several', text(100))
    .option('--from <time>', 'start of the statement (default: that of the file, or its first line)', time)
    .option('--to <time>', 'end of the statement (default: the time of its balance, or its last line)', time)
    .action(async (file: string, options: ImportOptions) => {
      const { rail } = options;
      const { result, period } = await inOrganisation(
        'reconciliation import',
        options,
        async (sql, organisationId, { proof }) => {
          const statement = readStatement(file, options);
          const book = { organisationId, environment: options.environment };
          const journal = new Journal(sql);
          const { interest } = readSettings();
          await sql`
            SELECT ledger.audit(${organisationId}, ${book.environment}, ${proof}, 'reconciliation.import', ${rail}, NULL)`;
          const now = (await readDatabaseTime(sql)).getTime();
          const imported = await reconcileImported({ sql, journal, interest }, { book, rail }, statement, now);
          return { result: imported, period: statement.period };
        },
      );
      if (result.breaks > 0) process.exitCode = EXIT.failed;
      const { lines, breaks, opened, waiting, gap } = result;
      printResult(
        options,
        { ...period, ...result },
        `${breaks} breaks in ${lines} lines; ${opened} new review cases.`,
        breaks > 0 && SEE_BREAKS,
        waiting !== null &&
          `Lines from ${timeText(waiting)} on wait for flows in progress: import them again when these have ended.`,
        gap !== null && `Import the statement from ${timeText(gap)} to ${timeText(period.from)} too.`,
      );
    });

  addCommand(group, 'show', 'show the breaks that the last runs have found, newest first')
    .example('reconciliation show --limit 100 --json')
    .option('--limit <number>', 'the maximum number of breaks', wholeNumber(999_999), BREAKS_DEFAULT)
    .action(async (options: { limit: number; json?: true }) => {
      const { breaks, total } = await withDatabase('application', (sql) => listBreaks(sql, options.limit));
      printLeftOut(breaks.length, total, 'the newest', 'See more with --limit.');
      printRows(
        options,
        breaks.map(({ id, organisationId, version: _version, sealedRow: _row, clearedAt: _cleared, ...row }) => ({
          ...row,
          case: publicId('reviewCase', id),
          organisation: publicId('organisation', organisationId),
        })),
        [
          'createdAt',
          'organisation',
          'environment',
          'rail',
          'kind',
          'line',
          'reference',
          'ledgerAmount',
          'statementAmount',
          'at',
          'case',
        ],
        'There is no break. Compare now: npm run cli -- reconciliation run',
      );
    });
}

interface ImportOptions extends BookOptions, Period {
  rail: string;
  format?: StatementFormat;
  account?: string;
}

/** Reads the whole file before anything is changed. */
function readStatement(file: string, options: ImportOptions): ImportedStatement {
  const { lines, from: start, closing } = parseFile(file, options);
  const times = lines.map(({ at }) => at.getTime());
  const first = times.reduce((one, other) => Math.min(one, other), start?.getTime() ?? Infinity);
  const from = options.from ?? new Date(first);
  const to = options.to ?? closing?.at ?? new Date(times.reduce((one, other) => Math.max(one, other), -Infinity) + 1);
  if (!(from < to)) throw new CommandError('The statement has no period. Add --from and --to.');
  if (to.getTime() > Date.now()) throw new CommandError('The statement ends in the future. Correct its time, or --to.');
  const outside = lines.find(({ at }) => at < from || at >= to);
  if (outside !== undefined) {
    throw new CommandError(
      `${file}: the line ${outside.reference} is outside of the statement. Correct --from or --to.`,
    );
  }
  return { period: { from, to }, lines, closingBalance: closing?.balance ?? null };
}

function parseFile(file: string, options: ImportOptions): StatementFile {
  const [format, account] = [options.format ?? null, options.account ?? null];
  try {
    return readStatementFile(readFileSync(file), { format, account, booked: readSettings().lineAccounts });
  } catch (error) {
    const isExpected = error instanceof StatementFileError || (error as { code?: unknown }).code !== undefined;
    if (!isExpected) throw error;
    throw new CommandError(`${file}: ${(error as Error).message}. Nothing was imported.`);
  }
}
